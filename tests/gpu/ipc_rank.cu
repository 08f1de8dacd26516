/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce of our own between two processes, over memory that they open of each other, in a kernel that no library has:
 *
 *   ipc_rank rank FOLDER 0|1 DEVICE      some work and then an all-reduce, again and again, until FOLDER/control says so
 *   ipc_rank urgent DEVICES BURST_US PAUSE_US   work on the first so many devices, and pauses, until its input ends
 *
 * A line of JSON when ready, and one at the end: how long it was inside the kernel at most (by the device's clock), and
 * whether the sums are right. The kernel gives up after LIMIT_NS, so that no device spins for ever. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <algorithm>
#include <chrono>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda_runtime.h>

#define COUNT    (1u << 16)
#define WORKS    4
#define CHECKED  4
#define LIMIT_NS 15000000000ull

#define MUST(call)                                                                                \
    do {                                                                                          \
        cudaError_t r_ = (call);                                                                  \
        if (r_ != cudaSuccess) {                                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r_));                   \
            _exit(1);                                                                             \
        }                                                                                         \
    } while (0)

struct control {
    volatile uint32_t opened[2], done[2], step[2];
    volatile uint32_t stop_at; /* 0: not yet */
};

struct told {
    unsigned long long longest_ns;
    uint32_t gave_up;
};

static __device__ unsigned long long now_ns()
{
    unsigned long long t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

static __device__ void wait_for(volatile uint32_t *flag, uint32_t value, struct told *told)
{
    unsigned long long began = now_ns();

    while (*flag < value) {
        if (now_ns() - began > LIMIT_NS) {
            told->gave_up = 1;
            break;
        }
    }
    told->longest_ns = max(told->longest_ns, now_ns() - began);
    __threadfence_system();
}

/* One block. flags: mine are written by the other one. */
extern "C" __global__ void swap_and_add(const uint32_t *mine, const uint32_t *theirs, uint32_t *sum, uint32_t *my_flags,
                                        uint32_t *their_flags, uint32_t step, struct told *told)
{
    if (threadIdx.x == 0) {
        __threadfence_system();
        *(volatile uint32_t *)&their_flags[0] = step;
        wait_for(&my_flags[0], step, told);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < COUNT; i += blockDim.x)
        sum[i] = mine[i] + __ldcv(&theirs[i]);
    __syncthreads();
    if (threadIdx.x == 0) { /* who is left may overwrite what the other one still reads */
        __threadfence_system();
        *(volatile uint32_t *)&their_flags[1] = step;
        wait_for(&my_flags[1], step, told);
    }
}

extern "C" __global__ void mix(uint32_t *mine, const uint32_t *sum, uint32_t salt)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < COUNT; i += gridDim.x * blockDim.x)
        mine[i] = sum[i] * 1664525u + salt;
}

extern "C" __global__ void grind(float *to, int rounds)
{
    float x = threadIdx.x;

    for (int i = 0; i < rounds; i++)
        x = x * 1.000001f + 0.5f;
    to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static double ms_since(std::chrono::steady_clock::time_point t)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
}

/* @return false: the other one did not come in 60 s */
template <typename T> static bool soon(T ready)
{
    for (auto began = std::chrono::steady_clock::now(); ms_since(began) < 60000; usleep(1000))
        if (ready())
            return true;
    return false;
}

static void put(const char *path, const void *data, size_t size)
{
    char made[512];
    FILE *f;

    snprintf(made, sizeof(made), "%s.made", path);
    f = fopen(made, "w");
    if (!f || fwrite(data, size, 1, f) != 1 || fclose(f) || rename(made, path))
        _exit(1);
}

static bool get(const char *path, void *data, size_t size)
{
    FILE *f = fopen(path, "r");
    bool ok = f && fread(data, size, 1, f) == 1;

    if (f)
        fclose(f);
    return ok;
}

static struct control *map_control(const char *folder)
{
    char path[512];
    int fd;
    void *map;

    snprintf(path, sizeof(path), "%s/control", folder);
    fd = open(path, O_RDWR);
    map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        _exit(1);
    return (struct control *)map;
}

/* The other one's memory. */
static uint32_t *swap_handles(const char *folder, int rank, uint32_t *mine)
{
    cudaIpcMemHandle_t handle, other;
    char path[1024];
    void *theirs;

    MUST(cudaIpcGetMemHandle(&handle, mine));
    snprintf(path, sizeof(path), "%s/handle.%d", folder, rank);
    put(path, &handle, sizeof(handle));
    snprintf(path, sizeof(path), "%s/handle.%d", folder, 1 - rank);
    if (!soon([&] { return get(path, &other, sizeof(other)); }))
        _exit(1);
    MUST(cudaIpcOpenMemHandle(&theirs, other, cudaIpcMemLazyEnablePeerAccess));
    return (uint32_t *)theirs;
}

/* What the first elements are after so many steps. */
static bool is_right(const uint32_t *sum, uint32_t steps)
{
    for (uint32_t i = 0; i < CHECKED; i++) {
        uint32_t v[2] = {i, i + 1000}, s = 0;

        for (uint32_t step = 1; step <= steps; step++) {
            s = v[0] + v[1];
            for (uint32_t r = 0; r < 2; r++)
                v[r] = s * 1664525u + r + step;
        }
        if (sum[i] != s)
            return false;
    }
    return true;
}

static int run_rank(const char *folder, int rank, int device)
{
    struct control *c = map_control(folder);
    std::vector<uint32_t> first(COUNT);
    uint32_t *mine, *theirs, *sum, step = 0, checked[CHECKED];
    struct told *told, last;
    double submit_ms = 0;
    cudaStream_t s;
    float *to;

    MUST(cudaSetDevice(device));
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaMalloc(&mine, (COUNT + 64) * sizeof(*mine)));
    MUST(cudaMalloc(&sum, COUNT * sizeof(*sum)));
    MUST(cudaMalloc(&told, sizeof(*told)));
    MUST(cudaMalloc(&to, 16 * 256 * sizeof(*to)));
    for (uint32_t i = 0; i < COUNT; i++)
        first[i] = i + 1000u * (uint32_t)rank;
    MUST(cudaMemset(mine + COUNT, 0, 64 * sizeof(*mine)));
    MUST(cudaMemset(told, 0, sizeof(*told)));
    MUST(cudaMemcpy(mine, first.data(), COUNT * sizeof(*mine), cudaMemcpyHostToDevice));
    MUST(cudaDeviceSynchronize());
    theirs = swap_handles(folder, rank, mine);
    c->opened[rank] = 1;
    if (!soon([&] { return c->opened[1 - rank] != 0; }))
        _exit(1);
    printf("{\"ready\": true}\n");
    fflush(stdout);
    while (!c->stop_at || step < c->stop_at) {
        auto began = std::chrono::steady_clock::now();

        step++;
        for (int i = 0; i < WORKS + 2 * rank; i++) /* one comes first and waits for the other */
            grind<<<16, 256, 0, s>>>(to, 8000);
        swap_and_add<<<1, 256, 0, s>>>(mine, theirs, sum, mine + COUNT, theirs + COUNT, step, told);
        mix<<<32, 256, 0, s>>>(mine, sum, (uint32_t)rank + step);
        submit_ms = std::max(submit_ms, ms_since(began));
        if (step % 32 == 0)
            MUST(cudaStreamSynchronize(s));
        c->step[rank] = step;
    }
    MUST(cudaStreamSynchronize(s));
    MUST(cudaMemcpy(&last, told, sizeof(last), cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(checked, sum, sizeof(checked), cudaMemcpyDeviceToHost));
    c->done[rank] = 1;
    (void)soon([&] { return c->done[1 - rank] != 0; });
    printf("{\"steps\": %u, \"inside_ms\": %.3f, \"gave_up\": %s, \"right\": %s, \"submit_ms\": %.3f}\n", step,
           (double)last.longest_ns / 1e6, last.gave_up ? "true" : "false", is_right(checked, step) ? "true" : "false",
           submit_ms);
    fflush(stdout);
    _exit(0);
}

static bool input_ended()
{
    struct pollfd p = {0, POLLIN, 0};
    char c;

    return poll(&p, 1, 0) > 0 && read(0, &c, 1) <= 0;
}

static int run_urgent(int devices, double burst_us, unsigned pause_us)
{
    std::vector<cudaStream_t> s((size_t)devices);
    std::vector<float *> to((size_t)devices);
    std::vector<double> took;

    for (int d = 0; d < devices; d++) {
        MUST(cudaSetDevice(d));
        MUST(cudaStreamCreateWithFlags(&s[d], cudaStreamNonBlocking));
        MUST(cudaMalloc(&to[d], 16 * 256 * sizeof(float)));
        grind<<<16, 256, 0, s[d]>>>(to[d], 8000);
        MUST(cudaStreamSynchronize(s[d]));
    }
    printf("{\"ready\": true}\n");
    fflush(stdout);
    while (!input_ended()) {
        auto began = std::chrono::steady_clock::now();

        while (ms_since(began) * 1e3 < burst_us) {
            for (int d = 0; d < devices; d++) {
                MUST(cudaSetDevice(d));
                for (int i = 0; i < 8; i++)
                    grind<<<16, 256, 0, s[d]>>>(to[d], 8000);
            }
            for (int d = 0; d < devices; d++)
                MUST(cudaStreamSynchronize(s[d]));
        }
        took.push_back(ms_since(began));
        usleep(pause_us);
    }
    std::sort(took.begin(), took.end());
    printf("{\"bursts\": %zu, \"p50_ms\": %.3f, \"max_ms\": %.3f}\n", took.size(), took.empty() ? 0 : took[took.size() / 2],
           took.empty() ? 0 : took.back());
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "rank") == 0)
        return run_rank(argv[2], atoi(argv[3]), atoi(argv[4]));
    if (argc == 5 && strcmp(argv[1], "urgent") == 0)
        return run_urgent(atoi(argv[2]), atof(argv[3]), (unsigned)atoi(argv[4]));
    fprintf(stderr, "ipc_rank rank FOLDER 0|1 DEVICE | urgent DEVICES BURST_US PAUSE_US\n");
    return 64;
}
