/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of samples.py's `ordered`, an ordinary HIP program:
 *
 *   order calibrate US       prints how many turns a kernel makes in so many microseconds
 *   order low TURNS          kernels without end from several threads, each with a stream, until its
 *                            input ends; prints how many a second
 *   order high TURNS KERNELS REQUESTS   requests of so many kernels; prints the latency of each, in ms */
#include <hip/hip_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        hipError_t check_r = (call);                                                              \
        if (check_r != hipSuccess) {                                                              \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(check_r));                       \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

enum { N = 64, THREADS = 3, AHEAD = 32 };
using steady = std::chrono::steady_clock;

__global__ void work(float *x, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];

    for (int k = 0; k < turns; k++)
        v = v * 0.999f + 0.001f;
    x[i] = v;
}

static double ms_since(steady::time_point begin)
{
    return std::chrono::duration<double, std::milli>(steady::now() - begin).count();
}

struct side {
    float *x;
    hipStream_t stream;
};

static side begin_side()
{
    float start[N];
    side s;

    for (int i = 0; i < N; i++)
        start[i] = (float)i;
    CHECK(hipMalloc(&s.x, sizeof(start)));
    CHECK(hipMemcpy(s.x, start, sizeof(start), hipMemcpyHostToDevice));
    CHECK(hipStreamCreate(&s.stream));
    return s;
}

/* Each element is on its way from its number to 1. */
static bool end_side(side s)
{
    bool right = true;
    float end[N];

    CHECK(hipMemcpy(end, s.x, sizeof(end), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        right = right && end[i] >= (i < 1 ? 0 : 1) - 0.01f && end[i] <= (i > 1 ? i : 1) + 0.01f;
    CHECK(hipStreamDestroy(s.stream));
    CHECK(hipFree(s.x));
    return right;
}

static void request(side s, int kernels, int turns)
{
    for (int k = 0; k < kernels; k++)
        hipLaunchKernelGGL(work, dim3(1), dim3(N), 0, s.stream, s.x, turns);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(s.stream));
}

static void calibrate(side s, double us)
{
    int turns = 1000;

    for (;;) {
        double best = 1e9;

        for (int n = 0; n < 20; n++) {
            auto begin = steady::now();
            double ms;

            request(s, 1, turns);
            ms = ms_since(begin);
            best = ms < best ? ms : best;
        }
        if (best * 1e3 > us * 0.95 && best * 1e3 < us * 1.05)
            break;
        turns = (int)(turns * (us / 1e3) / best) + 1;
    }
    printf("%d\n", turns);
}

static std::atomic<bool> g_stop, g_wrong;
static std::atomic<long> g_done;

static void low_thread(int turns)
{
    side s = begin_side();

    for (; !g_stop; g_done += AHEAD)
        request(s, AHEAD, turns);
    g_wrong = g_wrong || !end_side(s);
}

static void low(int turns)
{
    auto begin = steady::now();
    std::vector<std::thread> threads;

    for (int i = 0; i < THREADS; i++)
        threads.emplace_back(low_thread, turns);
    printf("running\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    g_stop = true;
    for (auto &t : threads)
        t.join();
    printf("%.1f\n", (double)g_done / ms_since(begin) * 1e3);
}

static void high(side s, int turns, int kernels, int requests)
{
    for (int r = 0; r < requests; r++) {
        auto begin = steady::now();

        request(s, kernels, turns);
        printf("%.4f\n", ms_since(begin));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

int main(int argc, char **argv)
{
    const char *role = argc > 1 ? argv[1] : "";
    int turns = argc > 2 ? atoi(argv[2]) : 0;
    side s = begin_side();

    request(s, 4, 10); /* the first compiles */
    if (strcmp(role, "calibrate") == 0)
        calibrate(s, turns);
    else if (strcmp(role, "low") == 0)
        low(turns);
    else if (strcmp(role, "high") == 0 && argc > 4)
        high(s, turns, atoi(argv[3]), atoi(argv[4]));
    else
        return 2;
    return end_side(s) && !g_wrong ? 0 : 1;
}
