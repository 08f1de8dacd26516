/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim with XSCHED_SWAP: its memory goes out and comes back, and it notices nothing. The first
 * argument names the case. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../stream/check.h"
#include "../stream/past.h"
#include "hal/cuda/swap/swap.h"
#include "queue.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

#define MIB   ((size_t)1 << 20)
#define SOON  (5000 * XS_NS_PER_MS)
#define LAUNCH void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **

#define API                                                                                       \
    X(cuInit, (unsigned))                                                                         \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, int))                                               \
    X(cuCtxDestroy_v2, (CUcontext))                                                               \
    X(cuCtxSetCurrent, (CUcontext))                                                               \
    X(cuCtxSynchronize, (void))                                                                   \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, int))                                               \
    X(cuDevicePrimaryCtxReset_v2, (int))                                                          \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))                         \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                     \
    X(cuMemAllocPitch_v2, (CUdeviceptr *, size_t *, size_t, size_t, unsigned))                    \
    X(cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))                                       \
    X(cuMemFree_v2, (CUdeviceptr))                                                                \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                                                      \
    X(cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))                            \
    X(cuMemRetainAllocationHandle, (uint64_t *, void *))                                          \
    X(cuPointerGetAttribute, (void *, int, CUdeviceptr))                                          \
    X(cuPointerGetAttributes, (unsigned, const int *, void **, CUdeviceptr))                      \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                                        \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                             \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                       \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                         \
    X(cuModuleGetFunction, (void **, void *, const char *))                                       \
    X(cuLaunchKernel, (LAUNCH))                                                                   \
    X(cuStreamCreate, (CUstream *, unsigned))                                                     \
    X(cuStreamSynchronize, (CUstream))                                                            \
    X(cuStreamQuery, (CUstream))                                                                  \
    X(cuStreamBeginCapture_v2, (CUstream, int))                                                   \
    X(cuStreamEndCapture, (CUstream, CUgraph *))                                                  \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, uint64_t))                            \
    X(cuGraphLaunch, (CUgraphExec, CUstream))

#define X(symbol, types) static CUresult (*symbol) types, (*own_##symbol) types;
API
#undef X
static void (*fake_memory)(int, size_t *, unsigned *, unsigned *);
static uint64_t (*fake_fail)(const char *, unsigned, int);
static CUcontext g_ctx;
static struct xs_swap_report g_report;

static unsigned handles(void)
{
    unsigned handle, mapping;
    size_t bytes;

    fake_memory(0, &bytes, &handle, &mapping);
    TRUE(handle == mapping);
    return handle;
}

static size_t used(void)
{
    unsigned handle, mapping;
    size_t bytes;

    fake_memory(0, &bytes, &handle, &mapping);
    return bytes;
}

static int out(void)
{
    return xsched_priv_cuda_swap_out(SOON, &g_report);
}

static int in(void)
{
    return xsched_priv_cuda_swap_in(SOON, &g_report);
}

/* In, while others leave the device. */
static int follow(uint64_t limit_ns)
{
    return xsched_priv_cuda_swap_follow(limit_ns, &g_report);
}

/* Words that depend on the place and on a seed. */
static void write_bytes(CUdeviceptr at, size_t bytes, uint64_t seed)
{
    uint64_t *host = malloc(bytes);

    for (size_t i = 0; i < bytes / 8; i++)
        host[i] = i * 0x9e3779b97f4a7c15ull + seed;
    TRUE(cuMemcpyHtoD_v2(at, host, bytes) == 0);
    free(host);
}

static bool has_bytes(CUdeviceptr at, size_t bytes, uint64_t seed)
{
    uint64_t *host = malloc(bytes);
    bool right = cuMemcpyDtoH_v2(host, at, bytes) == 0;

    for (size_t i = 0; i < bytes / 8 && right; i++)
        right = host[i] == i * 0x9e3779b97f4a7c15ull + seed;
    free(host);
    return right;
}

static void add_one(CUdeviceptr at, CUstream s)
{
    void *add, *params[] = {&at};

    TRUE(cuModuleGetFunction(&add, NULL, "add") == 0);
    TRUE(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
}

static uint64_t word_at(CUdeviceptr at)
{
    uint64_t word = 0;

    TRUE(cuMemcpyDtoH_v2(&word, at, sizeof(word)) == 0);
    return word;
}

/* ---- served memory looks like the driver's ---- */

static void served(void)
{
    CUdeviceptr p, q, base, small;
    size_t bytes = 0, pitch = 0, before, total, now;
    void *owner = NULL, *values[2];
    const int what[] = {1, 12};
    uint64_t handle, calls;
    CUresult (*asked)(CUdeviceptr *, size_t);

    TRUE(cuGetProcAddress_v2("cuMemAlloc", (void **)(void *)&asked, 3020, 0, NULL) == 0 && asked == cuMemAlloc_v2);
    TRUE(cuMemGetInfo_v2(&before, &total) == 0);
    TRUE(cuMemAlloc_v2(&small, 2 * MIB - 1) == 0 && handles() == 0);
    TRUE(cuMemAlloc_v2(&p, 3 * MIB) == 0 && handles() == 1 && p % (2 * MIB) == 0);
    TRUE(cuMemAlloc_v2(&q, 130 * MIB) == 0 && handles() == 4); /* 64, 64, 2 */
    TRUE(cuMemGetInfo_v2(&now, &total) == 0 && before - now == 136 * MIB - 1);
    TRUE(cuPointerGetAttribute(&owner, 1, p + 5) == 0 && owner == g_ctx);
    TRUE(cuPointerGetAttribute(&bytes, 12, p) == 0 && bytes == 3 * MIB);
    TRUE(cuPointerGetAttribute(&bytes, 18, q + 70 * MIB) == 0 && bytes == 130 * MIB);
    TRUE(cuPointerGetAttribute(&base, 19, q + 70 * MIB) == 0 && base == q);
    values[0] = &owner, values[1] = &bytes, owner = NULL;
    TRUE(cuPointerGetAttributes(2, what, values, q + 1) == 0 && owner == g_ctx && bytes == 130 * MIB);
    TRUE(cuMemGetAddressRange_v2(&base, &bytes, q + 70 * MIB) == 0 && base == q && bytes == 130 * MIB);
    TRUE(cuMemGetAddressRange_v2(NULL, &bytes, p) == 0 && bytes == 3 * MIB);
    TRUE(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)p) == XS_CU_INVALID_VALUE);
    TRUE(cuMemFree_v2(p + 4096) == XS_CU_INVALID_VALUE);
    write_bytes(q, 130 * MIB, 3);
    TRUE(has_bytes(q, 130 * MIB, 3));
    /* what is freed is used again, without a call to the driver that takes memory or gives it back */
    calls = fake_fail("", 0, 0);
    TRUE(cuMemFree_v2(q) == 0);
    TRUE(cuMemGetInfo_v2(&now, &total) == 0 && before - now == 6 * MIB - 1); /* it counts as free */
    TRUE(cuMemAlloc_v2(&base, 129 * MIB) == 0 && base == q);
    TRUE(cuMemFree_v2(base) == 0 && fake_fail("", 0, 0) == calls);
    TRUE(cuMemFree_v2(q) == XS_CU_INVALID_VALUE); /* twice */
    TRUE(cuMemAllocPitch_v2(&q, &pitch, 1000, 4096, 4) == 0 && pitch == 1024 && handles() == 5);
    TRUE(cuMemAllocPitch_v2(&base, &pitch, 1000, 4096, 3) != 0); /* no such element */
    TRUE(cuMemAllocPitch_v2(&base, &pitch, 100, 16, 4) == 0 && handles() == 5 && cuMemFree_v2(base) == 0);
    TRUE(cuMemFree_v2(q) == 0 && cuMemFree_v2(p) == 0 && cuMemFree_v2(small) == 0);
    /* kept memory is there for whoever needs it: 512 MiB in all */
    TRUE(cuMemAlloc_v2(&p, 500 * MIB) == 0 && cuMemAlloc_v2(&q, 500 * MIB) == XS_CU_OUT_OF_MEMORY);
    TRUE(cuMemFree_v2(p) == 0 && cuMemAlloc_v2(&small, MIB) == 0);
    TRUE(used() == 501 * MIB);
    TRUE(own_cuMemAlloc_v2(&q, 12 * MIB) == XS_CU_OUT_OF_MEMORY); /* past us it is not */
    TRUE(cuMemAllocManaged(&q, MIB, 1) == 0 && cuMemFree_v2(q) == 0);
    for (int i = 0; i < 20; i++)
        TRUE(cuMemAlloc_v2(&q, MIB) == 0);
    TRUE(handles() == 0);
}

/* ---- memory goes, and comes back ---- */

static _Atomic int g_reads;

static void *read_later(void *at)
{
    TRUE(cuCtxSetCurrent(g_ctx) == 0);
    TRUE(has_bytes((CUdeviceptr)(uintptr_t)at, 130 * MIB, 9));
    atomic_fetch_add(&g_reads, 1);
    return NULL;
}

static void back_and_forth(void)
{
    CUdeviceptr p, q, other;
    pthread_t readers[4];
    CUgraphExec exec;
    CUgraph graph;
    CUstream s;
    size_t n;

    TRUE(cuStreamCreate(&s, 1) == 0);
    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && cuMemAlloc_v2(&q, 130 * MIB) == 0);
    TRUE(cuMemsetD8_v2(p, 0, 4 * MIB) == 0);
    write_bytes(q, 130 * MIB, 9);
    TRUE(cuStreamBeginCapture_v2(s, 2) == 0); /* a graph of before */
    add_one(p + 8, s);
    TRUE(cuStreamEndCapture(s, &graph) == 0 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 10; i++)
            add_one(p, s);
        n = used();
        TRUE(out() == 0 && g_report.bytes == 134 * MIB && g_report.blocks == 4);
        TRUE(handles() == 0 && n - used() == 134 * MIB);
        TRUE(out() == -EALREADY);
        for (int i = 0; i < 4; i++)
            TRUE(pthread_create(&readers[i], NULL, read_later, (void *)(uintptr_t)q) == 0);
        TRUE(own_cuMemAlloc_v2(&other, 134 * MIB) == 0); /* somebody else has the memory meanwhile */
        TRUE(own_cuMemsetD8_v2(other, 0xee, 134 * MIB) == 0 && own_cuMemFree_v2(other) == 0);
        usleep(20000);
        TRUE(atomic_load(&g_reads) == 4 * (round - 1)); /* they wait */
        TRUE(in() == 0 && g_report.bytes == 134 * MIB && handles() == 4);
        TRUE(in() == -EALREADY);
        for (int i = 0; i < 4; i++)
            pthread_join(readers[i], NULL);
        TRUE(cuGraphLaunch(exec, s) == 0 && cuStreamSynchronize(s) == 0);
        TRUE(word_at(p) == 10u * (unsigned)round && word_at(p + 8) == (unsigned)round);
    }
}

/* What waits while memory is out, and what does not. */
static void *launch_later(void *at)
{
    CUgraphExec exec;
    CUgraph graph;
    CUstream s;

    TRUE(cuCtxSetCurrent(g_ctx) == 0 && cuStreamCreate(&s, 1) == 0);
    TRUE(cuStreamBeginCapture_v2(s, 2) == 0);
    TRUE(cuMemcpyDtoDAsync_v2((CUdeviceptr)(uintptr_t)at + MIB, (CUdeviceptr)(uintptr_t)at, 4096, s) == 0);
    TRUE(cuStreamEndCapture(s, &graph) == 0);
    TRUE(cuGraphInstantiateWithFlags(&exec, graph, 0) == 0); /* wrong for ever, if its memory is out */
    TRUE(cuGraphLaunch(exec, s) == 0 && cuStreamSynchronize(s) == 0);
    atomic_fetch_add(&g_reads, 1);
    return NULL;
}

static void while_out(void)
{
    CUdeviceptr p, q, small;
    CUcontext second;
    pthread_t t;
    CUstream s;
    size_t free_bytes, total, before;
    int status;
    pid_t child;

    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && cuMemAlloc_v2(&q, 6 * MIB) == 0 && cuMemAlloc_v2(&small, 4096) == 0);
    TRUE(cuStreamCreate(&s, 1) == 0);
    write_bytes(p, 4 * MIB, 1);
    TRUE(cuCtxCreate_v2(&second, 0, 0) == 0);
    TRUE(cuMemAlloc_v2(&q, 8 * MIB) == 0); /* of the second context */
    write_bytes(q, 8 * MIB, 2);
    TRUE(out() == 0 && g_report.bytes == 18 * MIB && handles() == 0);
    TRUE(cuMemGetInfo_v2(&free_bytes, &total) == 0);
    TRUE(cuStreamQuery(s) == 0 && cuStreamSynchronize(s) == 0 && cuCtxSynchronize() == 0);
    child = fork(); /* a child has no device, and waits for nothing */
    if (child == 0) {
        alarm(20);
        cuMemsetD8_v2(p, 1, 16);
        _exit(xsched_priv_cuda_swap_in(SOON, &g_report) == -EPERM ? 0 : 1);
    }
    TRUE(waitpid(child, &status, 0) == child && status == 0);
    TRUE(pthread_create(&t, NULL, launch_later, (void *)(uintptr_t)p) == 0);
    before = used();
    TRUE(cuCtxDestroy_v2(second) == 0); /* with its memory, which is out */
    TRUE(cuCtxSetCurrent(g_ctx) == 0);
    TRUE(cuMemFree_v2(small) == 0 && used() == before - 4096);
    usleep(20000);
    TRUE(atomic_load(&g_reads) == 0);
    TRUE(in() == 0 && g_report.bytes == 10 * MIB);
    pthread_join(t, NULL);
    TRUE(has_bytes(p, MIB, 1) && has_bytes(p + MIB, 4096, 1));
    TRUE(cuMemFree_v2(q) == XS_CU_INVALID_VALUE);
    /* freed while out: other bytes are not disturbed, the address is used again */
    TRUE(cuMemAlloc_v2(&q, 70 * MIB) == 0);
    write_bytes(q, 70 * MIB, 5);
    TRUE(out() == 0 && cuMemFree_v2(p) == 0 && cuMemFree_v2(p) == XS_CU_INVALID_VALUE);
    TRUE(in() == 0 && g_report.bytes == 76 * MIB && has_bytes(q, 70 * MIB, 5));
    TRUE(cuMemAlloc_v2(&small, 4 * MIB) == 0 && small == p);
    TRUE(out() == 0);
    TRUE(cuDevicePrimaryCtxReset_v2(0) == 0); /* out, and ended */
    TRUE(in() == 0 && g_report.bytes == 0 && handles() == 0);
    TRUE(cuDevicePrimaryCtxRetain(&g_ctx, 0) == 0 && cuCtxSetCurrent(g_ctx) == 0);
    TRUE(cuMemAlloc_v2(&q, 6 * MIB) == 0);
    TRUE(out() == 0);
    exit(0); /* out, and at its end */
}

/* A context without memory of its own, whose kernel uses another's. */
static void other_context(void)
{
    uint64_t ns = 100 * XS_NS_PER_MS;
    CUdeviceptr p, count, stop;
    void *kernel, *params[] = {&ns, &count, &stop};
    CUcontext second;
    CUstream s;

    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && cuMemsetD8_v2(p, 0, 4 * MIB) == 0 && cuCtxSynchronize() == 0);
    TRUE(cuCtxCreate_v2(&second, 0, 0) == 0 && cuStreamCreate(&s, 1) == 0);
    count = p, stop = p + 8;
    TRUE(cuModuleGetFunction(&kernel, NULL, "count") == 0);
    for (int round = 1; round <= 3; round++) {
        TRUE(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0); /* adds 1 for each ms */
        add_one(p + 16, s);
        TRUE(out() == 0 && cuStreamQuery(s) == 0 && in() == 0);
        TRUE(cuStreamSynchronize(s) == 0);
        TRUE(word_at(p) == 100u * (unsigned)round && word_at(p + 16) == (unsigned)round);
    }
    TRUE(cuCtxDestroy_v2(second) == 0 && cuCtxSetCurrent(g_ctx) == 0);
    TRUE(out() == 0 && in() == 0 && word_at(p) == 300);
}

/* The time for which a call waits for memory is no time of its command. */
static CUstream g_stream;
static unsigned g_blocks; /* of the kernel: with another number it is another one, of which nobody knows the time */

static void add_blocks(CUdeviceptr at)
{
    void *add, *params[] = {&at};

    TRUE(cuModuleGetFunction(&add, NULL, "add") == 0);
    TRUE(cuLaunchKernel(add, g_blocks, 1, 1, 1, 1, 1, 0, g_stream, params, NULL) == 0);
}

static void *add_later(void *at)
{
    TRUE(cuCtxSetCurrent(g_ctx) == 0);
    add_blocks((CUdeviceptr)(uintptr_t)at);
    return NULL;
}

static void estimates(void)
{
    struct xs_client_cell *cell;
    CUdeviceptr p;
    pthread_t t;

    g_blocks = 1;
    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && cuStreamCreate(&g_stream, 1) == 0);
    add_blocks(p);
    TRUE(cuStreamSynchronize(g_stream) == 0);
    cell = xsched_priv_queue_find(kPlatformCUDA, (uintptr_t)g_stream)->cc;
    for (int round = 0; round < 5; round++) {
        uint64_t before;

        g_blocks++;
        TRUE(out() == 0 && pthread_create(&t, NULL, add_later, (void *)(uintptr_t)p) == 0);
        usleep(200000);
        TRUE(in() == 0);
        pthread_join(t, NULL);
        TRUE(cuStreamSynchronize(g_stream) == 0);
        before = atomic_load(&cell->est_entered_ns);
        add_blocks(p);
        printf("%llu us\n", (unsigned long long)(atomic_load(&cell->est_entered_ns) - before) / 1000);
        TRUE(atomic_load(&cell->est_entered_ns) - before < 100 * XS_NS_PER_MS);
        TRUE(cuStreamSynchronize(g_stream) == 0);
    }
}

/* ---- what is in the way ---- */

static void *capture(void *stream)
{
    CUgraph graph;

    TRUE(cuCtxSetCurrent(g_ctx) == 0);
    TRUE(cuStreamBeginCapture_v2(stream, 2) == 0);
    atomic_store(&g_reads, 1);
    usleep(100000);
    TRUE(cuStreamEndCapture(stream, &graph) == 0);
    return NULL;
}

static void in_the_way(void)
{
    CUdeviceptr p, taken, small;
    uint64_t ns = 3600 * XS_NS_PER_S, *flags;
    void *count, *params[3];
    pthread_t t;
    CUstream s;
    size_t left, total;
    int r;

    TRUE(cuMemAlloc_v2(&p, 100 * MIB) == 0 && cuMemAlloc_v2(&small, MIB) == 0 && cuStreamCreate(&s, 1) == 0);
    flags = (void *)(uintptr_t)small; /* the fake's small memory is the host's */
    flags[0] = flags[1] = 0;
    write_bytes(p, 100 * MIB, 7);
    /* a kernel that does not end: the program goes on */
    TRUE(cuModuleGetFunction(&count, NULL, "count") == 0);
    params[0] = &ns, params[1] = &small, small += 8, params[2] = &(CUdeviceptr){small};
    params[1] = &(CUdeviceptr){small - 8};
    TRUE(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
    TRUE(xsched_priv_cuda_swap_out(100 * XS_NS_PER_MS, &g_report) == -ETIMEDOUT);
    TRUE(strcmp(g_report.why, "a command of the program does not end") == 0 && handles() == 2);
    TRUE(has_bytes(p, MIB, 7));
    TRUE(xsched_priv_cuda_swap_out(100 * XS_NS_PER_MS, &g_report) == -EBUSY); /* the mover is in the driver still */
    __atomic_store_n(&flags[1], 1, __ATOMIC_SEQ_CST);
    TRUE(cuStreamSynchronize(s) == 0);
    while ((r = out()) == -EBUSY)
        usleep(1000);
    TRUE(r == 0 && in() == 0);
    /* a capture is waited for, as long as that lasts */
    TRUE(pthread_create(&t, NULL, capture, s) == 0);
    while (!atomic_load(&g_reads))
        usleep(100);
    TRUE(xsched_priv_cuda_swap_out(10 * XS_NS_PER_MS, &g_report) == -ETIMEDOUT);
    TRUE(strcmp(g_report.why, "a stream captures") == 0);
    TRUE(out() == 0);
    pthread_join(t, NULL);
    /* the device has no room: out and whole, until it has */
    TRUE(own_cuMemGetInfo_v2(&left, &total) == 0 && own_cuMemAlloc_v2(&taken, left - 50 * MIB) == 0);
    TRUE(in() == -ENOMEM && handles() == 0);
    TRUE(in() == -ENOMEM && own_cuMemFree_v2(taken) == 0);
    TRUE(in() == 0 && has_bytes(p, 100 * MIB, 7));
}

#define RANGES 40u
#define TAKEN  8u

static CUdeviceptr g_taken[TAKEN];

/* Another program, which leaves the device piece by piece, but keeps some. */
static void *leave(void *keeps)
{
    TRUE(own_cuCtxSetCurrent(g_ctx) == 0);
    for (unsigned i = 0; i < TAKEN - (unsigned)(uintptr_t)keeps; i++) {
        usleep(10000);
        TRUE(own_cuMemFree_v2(g_taken[i]) == 0);
    }
    return NULL;
}

static void as_room_comes(void)
{
    CUdeviceptr p[RANGES], rest;
    size_t left, total;
    pthread_t t;

    for (unsigned i = 0; i < RANGES; i++) {
        TRUE(cuMemAlloc_v2(&p[i], 4 * MIB) == 0);
        write_bytes(p[i], 4 * MIB, i);
    }
    for (uintptr_t keeps = 0; keeps <= 2; keeps += 2) {
        TRUE(out() == 0 && own_cuMemGetInfo_v2(&left, &total) == 0);
        TRUE(own_cuMemAlloc_v2(&rest, left - 170 * MIB) == 0); /* 160 are needed */
        for (unsigned i = 0; i < TAKEN; i++)
            TRUE(own_cuMemAlloc_v2(&g_taken[i], 20 * MIB) == 0);
        TRUE(in() == -ENOMEM && g_report.lacks == 152 * MIB && handles() == 0);
        TRUE(pthread_create(&t, NULL, leave, (void *)keeps) == 0);
        if (keeps == 0) {
            TRUE(follow(SOON) == 0);
            TRUE(g_report.room_ns > 30 * XS_NS_PER_MS && g_report.bytes == 160 * MIB && handles() == RANGES);
        } else { /* the rest does not come: nothing has changed */
            TRUE(follow(XS_NS_PER_S) == -ENOMEM && handles() == 0);
            TRUE(g_report.lacks >= 30 * MIB && g_report.lacks <= 40 * MIB);
        }
        pthread_join(t, NULL);
        for (unsigned i = TAKEN - (unsigned)keeps; i < TAKEN; i++)
            TRUE(own_cuMemFree_v2(g_taken[i]) == 0);
        TRUE(own_cuMemFree_v2(rest) == 0 && (keeps == 0 || in() == 0));
        for (unsigned i = 0; i < RANGES; i++)
            TRUE(has_bytes(p[i], 4 * MIB, i));
    }
}

/* Work behind a closed gate never ends by itself: the gate opens, and nothing is behind it while memory is out. */
static void gates(void)
{
    uint64_t ns = 20 * XS_NS_PER_MS;
    void *spin, *params[] = {&ns};
    unsigned held = 0, sum = 0;
    XQueueHandle xq;
    CUdeviceptr p;
    CUstream s;

    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && cuStreamCreate(&s, 1) == 0);
    TRUE(cuMemsetD8_v2(p, 0, 4 * MIB) == 0 && cuCtxSynchronize() == 0);
    TRUE(cuModuleGetFunction(&spin, NULL, "spin") == 0);
    add_one(p, s);
    sum++;
    TRUE(cuStreamSynchronize(s) == 0);
    xq = queue_of(s);
    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess); /* from here on it has gates */
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    for (int i = 0; i < 20; i++, sum++) { /* until its kernel is timed */
        add_one(p, s);
        TRUE(cuStreamSynchronize(s) == 0);
    }
    for (int round = 0; round < 10; round++) {
        TRUE(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
        for (int i = 0; i < 5; i++, sum++)
            add_one(p, s);
        TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
        usleep(50000);
        held += cuStreamQuery(s) == XS_CU_NOT_READY;
        TRUE(out() == 0 && handles() == 0);
        TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess); /* whatever opens meanwhile */
        TRUE(in() == 0 && word_at(p) == sum);
    }
    TRUE(held > 5);
}

/* ---- each call fails once ---- */

enum fault_at { AT_OUT, AT_IN, AT_FOLLOW, FAULT_PLACES };

/* Out and in again, where the nth call of ours fails in one of them. @return how many there were in that one */
static uint64_t round_with_fault(unsigned nth, int error, enum fault_at at)
{
    bool at_out = at == AT_OUT;
    uint64_t calls = 0;
    int r = 0;

    if (at_out)
        calls = fake_fail("", nth, error);
    r = out();
    if (at_out)
        calls = fake_fail("", 0, 0) - calls;
    TRUE(r == 0 || r == -EIO);
    if (r == -EIO && xsched_priv_cuda_swap_pause.state == XS_SWAP_ALL_IN)
        return calls;
    if (!at_out)
        calls = fake_fail("", nth, error);
    r = at == AT_FOLLOW ? follow(SOON) : in();
    if (!at_out)
        calls = fake_fail("", 0, 0) - calls;
    TRUE(r == 0 || r == -EIO || r == -ENOMEM);
    if (r != 0)
        TRUE(xsched_priv_cuda_swap_pause.state == XS_SWAP_TOUCHES_WAIT && in() == 0);
    return calls;
}

static void faults(void)
{
    static const char *const functions[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease"};
    static const size_t k_bytes[] = {66 * MIB, 2 * MIB, 4 * MIB};
    static const int errors[] = {XS_CU_OUT_OF_MEMORY, XS_CU_INVALID_VALUE, 999};
    CUdeviceptr p[3];
    unsigned tried = 0;

    for (unsigned i = 0; i < 3; i++) {
        TRUE(cuMemAlloc_v2(&p[i], k_bytes[i]) == 0);
        write_bytes(p[i], k_bytes[i], i);
    }
    /* every call of ours, one after another, until a move has not so many */
    for (unsigned at = 0; at < FAULT_PLACES; at++)
        for (unsigned nth = 1, more = 1; more; nth++) {
            more = 0;
            for (unsigned e = 0; e < XS_ARRAY_LEN(errors); e++, tried++) {
                uint64_t calls = round_with_fault(nth, errors[e], (enum fault_at)at);

                more |= calls >= nth;
                for (unsigned i = 0; i < 3; i++)
                    TRUE(has_bytes(p[i], k_bytes[i], i));
            }
        }
    printf("%u faults\n", tried);
    TRUE(tried > 100);
    /* allocations, too: an error, or memory, and nothing is lost */
    for (unsigned f = 0; f < XS_ARRAY_LEN(functions); f++)
        for (unsigned nth = 1; nth <= 3; nth++) {
            CUdeviceptr q;
            int r;

            fake_fail(functions[f], nth, errors[nth % XS_ARRAY_LEN(errors)]);
            r = cuMemAlloc_v2(&q, (66 + 2 * nth) * MIB);
            if (r == 0) {
                fake_fail(functions[f], 0, 0);
                write_bytes(q, 4 * MIB, f);
                TRUE(has_bytes(q, 4 * MIB, f));
                fake_fail(functions[f], nth, 999);
                cuMemFree_v2(q);
            }
            fake_fail(functions[f], 0, 0);
        }
    for (unsigned i = 0; i < 3; i++)
        TRUE(has_bytes(p[i], k_bytes[i], i) && cuMemFree_v2(p[i]) == 0);
}

/* ---- threads that allocate, copy and compute, and swaps in between ---- */

static _Atomic bool g_end;
static _Atomic unsigned g_rounds;

static void *worker(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    CUstream s;

    TRUE(cuCtxSetCurrent(g_ctx) == 0 && cuStreamCreate(&s, 1) == 0);
    while (!atomic_load(&g_end)) {
        size_t bytes = (2 + seed % 5) * MIB;
        CUdeviceptr p;

        seed = seed * 1103515245u + 12345u;
        TRUE(cuMemAlloc_v2(&p, bytes) == 0);
        write_bytes(p, bytes / 4, seed);
        TRUE(cuMemcpyDtoDAsync_v2(p + bytes / 2, p, bytes / 4, s) == 0);
        TRUE(cuStreamSynchronize(s) == 0);
        TRUE(has_bytes(p + bytes / 2, bytes / 4, seed));
        TRUE(cuMemsetD8_v2(p, 0, 16) == 0 && cuCtxSynchronize() == 0);
        for (unsigned i = 0; i < 20; i++)
            add_one(p, s);
        TRUE(cuStreamSynchronize(s) == 0 && word_at(p) == 20);
        TRUE(cuMemFree_v2(p) == 0);
        atomic_fetch_add(&g_rounds, 1);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    unsigned swaps = 0;

    for (uintptr_t i = 0; i < 4; i++)
        TRUE(pthread_create(&t[i], NULL, worker, (void *)(i + 1)) == 0);
    for (; swaps < 60; swaps++) {
        int r = out();

        TRUE(r == 0);
        usleep(1000 * (swaps % 3));
        TRUE(in() == 0);
        usleep(2000);
    }
    atomic_store(&g_end, true);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    TRUE(atomic_load(&g_rounds) > 20);
}

/* A function that no row of ours is: its calls would touch what is not there. */
static void unseen(void)
{
    CUdeviceptr p;
    void *newer;

    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && out() == 0 && in() == 0);
    TRUE(cuGetProcAddress_v2("cuLaunchKernel", &newer, 99000, 0, NULL) == 0 && newer);
    TRUE(out() == -ENOTSUP && handles() == 1);
}

static void off(void)
{
    CUdeviceptr p;

    TRUE(cuMemAlloc_v2(&p, 4 * MIB) == 0 && handles() == 0 && cuMemFree_v2(p) == 0);
    TRUE(out() == -ENOTSUP);
}

static const struct {
    const char *name;
    void (*run)(void);
} k_cases[] = {{"served", served}, {"back", back_and_forth}, {"out", while_out}, {"context", other_context},
               {"estimate", estimates}, {"way", in_the_way}, {"room", as_room_comes}, {"gates", gates},
               {"faults", faults}, {"threads", threads}, {"unseen", unseen}, {"off", off}};

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);

    TRUE(lib && fake && argc > 1);
#define X(symbol, types) get(lib, &symbol, #symbol), *(void **)(void *)&own_##symbol = past_dlsym(fake, #symbol);
    API
#undef X
    *(void **)(void *)&fake_memory = past_dlsym(fake, "fake_cuda_memory");
    *(void **)(void *)&fake_fail = past_dlsym(fake, "fake_cuda_fail_call");
    TRUE(fake_memory && fake_fail);
    TRUE(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&g_ctx, 0) == 0 && cuCtxSetCurrent(g_ctx) == 0);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_cases); i++)
        if (strcmp(k_cases[i].name, argv[1]) == 0) {
            k_cases[i].run();
            puts("done");
            return 0;
        }
    return 2;
}
