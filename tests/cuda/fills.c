/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous fills and copies, on the fake driver. With device memory alone they return before they are done: each counts
 * as a command of its default stream and waits while that is suspended. With pinned, managed or pageable memory the call
 * itself waits: it is neither counted nor suspended. */
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "../stream/has_turn.h"
#include "hal/cuda/cuda_abi.h"
#include "queue.h"
#include "xqueue/interface.h"

typedef void *P;
typedef uint64_t U;

#define BYTES 4096
#define AT    2048                /* in pinned memory: what the work waits for; no case writes there */
static U g_device, g_other, g_managed, g_pinned;
static char g_pageable[BYTES];
static P g_ctx;

#define FUNCTIONS(X)                                                                    \
    X(cuInit, (unsigned))                                                               \
    X(cuDevicePrimaryCtxRetain, (P *, int))                                             \
    X(cuCtxSetCurrent, (P))                                                             \
    X(cuModuleGetFunction, (P *, P, const char *))                                      \
    X(cuLaunchKernel, (P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *)) \
    X(cuStreamSynchronize, (P))                                                         \
    X(cuStreamWaitValue64_v2, (P, U, uint64_t, unsigned))                               \
    X(cuMemAlloc_v2, (U *, size_t))                                                     \
    X(cuMemAllocManaged, (U *, size_t, unsigned))                                       \
    X(cuMemAllocHost_v2, (P *, size_t))                                                 \
    X(cuMemsetD8_v2, (U, unsigned char, size_t))                                        \
    X(cuMemsetD8_v2_ptds, (U, unsigned char, size_t))                                   \
    X(cuMemsetD16_v2, (U, unsigned short, size_t))                                      \
    X(cuMemsetD32_v2, (U, unsigned, size_t))                                            \
    X(cuMemsetD2D8_v2, (U, size_t, unsigned char, size_t, size_t))                      \
    X(cuMemsetD8Async, (U, unsigned char, size_t, P))                                   \
    X(cuMemcpy, (U, U, size_t))                                                         \
    X(cuMemcpy_ptds, (U, U, size_t))                                                    \
    X(cuMemcpyDtoD_v2, (U, U, size_t))                                                  \
    X(cuMemcpyDtoD_v2_ptds, (U, U, size_t))                                             \
    X(cuMemcpyPeer, (U, P, U, P, size_t))                                               \
    X(cuMemcpy2D_v2, (const struct xs_cu_copy_2d *))                                    \
    X(cuMemcpy3D_v2, (const struct xs_cu_copy_3d *))                                    \
    X(cuMemcpyAtoA_v2, (P, size_t, P, size_t, size_t))                                  \
    X(cuMemcpyDtoA_v2, (P, size_t, U, size_t))                                          \
    X(cuMemcpyHtoD_v2, (U, const void *, size_t))
#define X(name, types) static int (*name) types;
FUNCTIONS(X)
#undef X
static int (*asked)(void);
static P g_work;

static int copy_2d(unsigned to, unsigned from, U src)
{
    struct xs_cu_copy_2d c = {.src_type = from, .src_device = src, .src_host = (P)(uintptr_t)src, .dst_type = to,
                              .dst_device = g_device, .width_bytes = 64, .height = 1};

    return cuMemcpy2D_v2(&c);
}

static int copy_3d(unsigned to, unsigned from, U src)
{
    struct xs_cu_copy_3d c = {.src_type = from, .src_device = src, .src_host = (P)(uintptr_t)src, .dst_type = to,
                              .dst_device = g_device, .width_bytes = 64, .height = 1, .depth = 1};

    return cuMemcpy3D_v2(&c);
}

#define UNIFIED 4u

/* CASE(name, whether all memory is the device's, whether in the thread's own stream, how often the driver is asked, call) */
#define CASES                                                                                        \
    CASE(memset_d8, true, false, 1, cuMemsetD8_v2(g_device, 1, 64))                                  \
    CASE(memset_d8_of_thread, true, true, 1, cuMemsetD8_v2_ptds(g_device, 1, 64))                    \
    CASE(memset_d16, true, false, 1, cuMemsetD16_v2(g_device, 1, 64))                                \
    CASE(memset_d32, true, false, 1, cuMemsetD32_v2(g_device, 1, 64))                                \
    CASE(memset_2d, true, false, 1, cuMemsetD2D8_v2(g_device, 64, 1, 32, 2))                         \
    CASE(memset_within, true, false, 1, cuMemsetD8_v2(g_device + BYTES - 1, 1, 1))                   \
    CASE(memset_async, true, false, 0, cuMemsetD8Async(g_device, 1, 64, NULL))                       \
    CASE(copy, true, false, 2, cuMemcpyDtoD_v2(g_device, g_other, 64))                               \
    CASE(copy_of_thread, true, true, 2, cuMemcpyDtoD_v2_ptds(g_device, g_other, 64))                 \
    CASE(copy_any, true, false, 2, cuMemcpy(g_device, g_other, 64))                                  \
    CASE(copy_any_of_thread, true, true, 2, cuMemcpy_ptds(g_device, g_other, 64))                    \
    CASE(copy_peer, true, false, 2, cuMemcpyPeer(g_device, g_ctx, g_other, g_ctx, 64))               \
    CASE(copy_2d, true, false, 2, copy_2d(XS_CU_MEMORY_DEVICE, XS_CU_MEMORY_DEVICE, g_other))        \
    CASE(copy_2d_unified, true, false, 2, copy_2d(UNIFIED, UNIFIED, g_other))                        \
    CASE(copy_3d, true, false, 2, copy_3d(UNIFIED, XS_CU_MEMORY_DEVICE, g_other))                    \
    CASE(copy_arrays, true, false, 0, cuMemcpyAtoA_v2(NULL, 0, NULL, 0, 64))                         \
    CASE(copy_to_array, true, false, 1, cuMemcpyDtoA_v2(NULL, 0, g_other, 64))                       \
    CASE(memset_managed, false, false, 1, cuMemsetD8_v2(g_managed, 1, 64))                           \
    CASE(memset_pinned, false, false, 1, cuMemsetD8_v2(g_pinned, 1, 64))                             \
    CASE(copy_managed, false, false, 2, cuMemcpyDtoD_v2(g_device, g_managed, 64))                    \
    CASE(copy_to_pinned, false, false, 1, cuMemcpyDtoD_v2(g_pinned, g_device, 64))                   \
    CASE(copy_any_pageable, false, false, 2, cuMemcpy(g_device, (U)(uintptr_t)g_pageable, 64))       \
    CASE(copy_any_to_pageable, false, false, 1, cuMemcpy((U)(uintptr_t)g_pageable, g_device, 64))    \
    CASE(copy_2d_host, false, false, 1, copy_2d(XS_CU_MEMORY_DEVICE, XS_CU_MEMORY_HOST, (U)(uintptr_t)g_pageable)) \
    CASE(copy_3d_pinned, false, false, 2, copy_3d(UNIFIED, UNIFIED, g_pinned))                       \
    CASE(copy_to_device, false, false, 0, cuMemcpyHtoD_v2(g_device, g_pageable, 64))

static const struct one {
    const char *name;
    bool device, of_thread;
    int asks;
    int (*call)(void);
} g_cases[];

#define CASE(name, device, of_thread, asks, expression) \
    static int call_##name(void)                        \
    {                                                   \
        return expression;                              \
    }
CASES
#undef CASE
static const struct one g_cases[] = {
#define CASE(name, device, of_thread, asks, expression) {#name, device, of_thread, asks, call_##name},
    CASES
#undef CASE
};

static void work(P stream, uint32_t *log)
{
    uint64_t ns = 20000000;
    uint32_t tag = 0;
    void *params[] = {&ns, &log, &tag};

    TRUE(cuLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == 0);
}

/* Behind 20 ms of work: what returns before that is counted, what waits for it is not. The work does not begin before the first
 * kind has returned, however long a busy machine holds this thread up. A call that waits for it ends the test by a signal. */
static void counted_if_it_returns_early(const struct one *c, P stream)
{
    uint32_t log[4] = {0};
    uint64_t before, *go = (uint64_t *)(uintptr_t)(g_pinned + AT);
    int questions;

    __atomic_store_n(go, !c->device, __ATOMIC_RELEASE);
    TRUE(cuStreamWaitValue64_v2(stream, g_pinned + AT, 1, XS_CU_WAIT_GEQ) == 0);
    work(stream, log);
    before = xsched_priv_scheduled_count();
    questions = asked();
    alarm(20);
    TRUE(c->call() == 0);
    alarm(0);
    TRUE((__atomic_load_n(&log[0], __ATOMIC_ACQUIRE) == 0) == c->device);
    TRUE(xsched_priv_scheduled_count() == before + c->device);
    TRUE(asked() == questions + c->asks);
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    TRUE(cuStreamSynchronize(stream) == 0);
}

static void *call_suspended(void *unused)
{
    const struct one *c = g_turn.what;
    P stream = (P)(uintptr_t)(c->of_thread ? 2 : 1);

    (void)unused;
    TRUE(cuCtxSetCurrent(g_ctx) == 0);
    counted_if_it_returns_early(c, stream);
    turn_ready(queue_of(stream));
    TRUE(c->call() == 0);
    turn_back();
    return NULL;
}

static void one(const struct one *c)
{
    printf("%s\n", c->name);
    has_turn(call_suspended, c, c->device);
    TRUE(cuStreamSynchronize(NULL) == 0);
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    P pinned;

    TRUE(lib != NULL && fake != NULL);
#define X(name, types) get(lib, &name, #name);
    FUNCTIONS(X)
#undef X
    get(fake, &asked, "fake_cuda_pointers_asked");
    TRUE(cuInit(0) == 0 && cuModuleGetFunction(&g_work, NULL, "work") == 0);
    TRUE(cuDevicePrimaryCtxRetain(&g_ctx, 0) == 0 && cuCtxSetCurrent(g_ctx) == 0);
    TRUE(cuMemAlloc_v2(&g_device, BYTES) == 0 && cuMemAlloc_v2(&g_other, BYTES) == 0);
    TRUE(cuMemAllocManaged(&g_managed, BYTES, 1) == 0 && cuMemAllocHost_v2(&pinned, BYTES) == 0);
    g_pinned = (U)(uintptr_t)pinned;
    for (size_t i = 0; i < sizeof(g_cases) / sizeof(g_cases[0]); i++)
        one(&g_cases[i]);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
