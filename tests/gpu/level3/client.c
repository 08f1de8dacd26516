/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows nothing of a scheduler: `client low T_MS SECONDS` launches kernels of T_MS;
 * `client high N` runs N jobs of about 1.2 ms, 6 to 11 ms apart; `client calibrate` says how many
 * rounds of its kernel one millisecond is, which the others take as a last argument, so that all do
 * the same work. Prints one JSON object; ends with 1 when a result is wrong. */
#include <cuda.h>

#include "kernels.inc"            /* made by build.sh: k_cubin */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS  (132 * 8)
#define THREADS 256
#define DEPTH_MOST 1024
#define CHECK(call)                                                          \
    do {                                                                     \
        CUresult r_ = (call);                                                \
        if (r_ != CUDA_SUCCESS) {                                            \
            fprintf(stderr, "client: %s: %d\n", #call, (int)r_);             \
            _exit(3);                                                        \
        }                                                                    \
    } while (0)

static CUfunction s_burn;
static CUstream s_stream;
static CUdeviceptr s_sum, s_started_dev;
static volatile uint32_t *s_started;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void burn(unsigned blocks, uint64_t rounds, uint32_t stamp)
{
    CUdeviceptr started = stamp ? s_started_dev : 0, none = 0;
    void *args[] = {&rounds, &started, &stamp, &none, &s_sum};

    CHECK(cuLaunchKernel(s_burn, blocks, 1, 1, THREADS, 1, 1, 0, s_stream, args, NULL));
}

static uint64_t sum(void)
{
    uint64_t v;

    CHECK(cuStreamSynchronize(s_stream));
    CHECK(cuMemcpyDtoH(&v, s_sum, 8));
    return v;
}

static void start(void)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    void *p;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, k_cubin));
    CHECK(cuModuleGetFunction(&s_burn, module, "burn"));
    CHECK(cuStreamCreate(&s_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&s_sum, 8));
    CHECK(cuMemsetD32(s_sum, 0, 2));
    CHECK(cuMemHostAlloc(&p, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&s_started_dev, p, 0));
    s_started = p;
    *s_started = 0;
    burn(BLOCKS, 10, 0);
    CHECK(cuStreamSynchronize(s_stream));
}

static int calibrate(void)
{
    double best = 1e18;

    for (int i = 0; i < 20; i++) {
        double t0 = now_us(), t;

        burn(BLOCKS, 20000, 0);
        CHECK(cuStreamSynchronize(s_stream));
        t = now_us() - t0;
        best = t < best ? t : best;
    }
    printf("{\"rounds_per_ms\":%.3f}\n", 20000 / best * 1000);
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void show(const char *name, double *v, int n)
{
    printf("\"%s\":[", name);
    for (int i = 0; i < n; i++)
        printf("%s%.1f", i ? "," : "", v[i]);
    qsort(v, (size_t)n, sizeof(*v), compare);
    printf("],\"%s_p50\":%.1f,\"%s_p99\":%.1f,\"%s_max\":%.1f,", name, v[n / 2], name, v[(int)(0.99 * n)], name,
           n ? v[n - 1] : 0);
}

static volatile sig_atomic_t s_stop;
static void stop(int sig)
{
    (void)sig;
    s_stop = 1;
}

static int low(double t_ms, double seconds, double per_ms)
{
    uint64_t rounds = (uint64_t)(per_ms * t_ms) + 1, before = sum(), one, n = 0;
    CUevent events[DEPTH_MOST];
    unsigned depth = getenv("DEPTH") ? (unsigned)atoi(getenv("DEPTH")) : 2; /* kernels in flight, as far as it may */
    double began;

    depth = depth < 1 ? 1 : depth > DEPTH_MOST ? DEPTH_MOST : depth;

    burn(BLOCKS, rounds, 0);
    one = sum() - before;
    for (unsigned i = 0; i < depth; i++)
        CHECK(cuEventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
    before = sum();
    fprintf(stderr, "ready\n");
    began = now_us();
    while (!s_stop && now_us() - began < seconds * 1e6) {
        if (n >= depth)
            CHECK(cuEventSynchronize(events[n % depth]));
        burn(BLOCKS, rounds, 0);
        CHECK(cuEventRecord(events[n % depth], s_stream));
        n++;
    }
    before = sum() - before;
    printf("{\"side\":\"low\",\"t_ms\":%.1f,\"kernels\":%llu,\"seconds\":%.3f,\"wrong\":%d}\n", t_ms,
           (unsigned long long)n, (now_us() - began) / 1e6, before != n * one);
    return before != n * one;
}

static int high(int n, double per_ms)
{
    uint64_t rounds = (uint64_t)(per_ms * 0.115 * 2) + 1, before = sum(), one;
    size_t room = n > 0 ? (size_t)n : 1; /* the first is read also where there is none */
    double *first = calloc(room, sizeof(double)), *job = calloc(room, sizeof(double));
    int wrong = 0, done = 0;

    burn(BLOCKS / 2, rounds, 0);
    one = (sum() - before) * 10;
    fprintf(stderr, "ready\n");
    for (int i = -10; i < n && !s_stop; i++) {
        double t0, t1 = 0;

        before = sum();
        usleep(6000 + (useconds_t)(rand() % 5000));
        t0 = now_us();
        for (int k = 0; k < 10; k++) { /* a launch may wait, so the start is looked for between them */
            burn(BLOCKS / 2, rounds, k ? 0 : (uint32_t)(i + 11));
            if (t1 == 0 && *s_started == (uint32_t)(i + 11))
                t1 = now_us();
        }
        while (*s_started != (uint32_t)(i + 11) && now_us() - t0 < 5e6)
            ;
        t1 = t1 != 0 ? t1 : now_us();
        CHECK(cuStreamSynchronize(s_stream));
        if (i >= 0) {
            first[i] = t1 - t0;
            job[i] = now_us() - t0;
            done = i + 1;
        }
        wrong += sum() - before != one;
    }
    printf("{\"side\":\"high\",\"n\":%d,", done);
    show("start", first, done);
    show("job", job, done);
    printf("\"wrong\":%d}\n", wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "calibrate") && argc < 4))
        return 2;
    signal(SIGTERM, stop);
    start();
    if (!strcmp(argv[1], "calibrate"))
        return calibrate();
    if (!strcmp(argv[1], "low"))
        return low(atof(argv[2]), atof(argv[3]), argc > 4 ? atof(argv[4]) : 1);
    return high(atoi(argv[2]), atof(argv[3]));
}
