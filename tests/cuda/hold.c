/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim that holds one of its streams through the public API: hold. 20,000 launches of another
 * thread wait for that stream outside the driver, while launches of every form on other streams go on; nothing is lost
 * or reordered afterwards; a stream that is destroyed lets its waiting thread go. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../stream/check.h"
#include "hal/cuda/cuda_abi.h"
#include "queue.h"
#include "xqueue/interface.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*GetFunction)(P *, P, const char *), (*Destroy)(P), (*GraphLaunch)(P, P), (*Instantiate)(P *, P, uint64_t);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*Cooperative)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *);
static int (*Ex)(const struct xs_cu_launch_config *, P, P *, P *), (*Begin)(P, int), (*End)(P, P *);
static P g_ctx, g_work;

#define MANY 20000u
static uint32_t g_log[MANY + 16], g_other[64];
static volatile uint32_t g_launched;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint32_t count(const uint32_t *log)
{
    return __atomic_load_n(&log[0], __ATOMIC_ACQUIRE);
}

static int launch(int form, P stream, uint32_t *log, uint32_t tag)
{
    struct xs_cu_launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, stream, NULL, 0};
    uint64_t ns = 0;
    void *params[] = {&ns, &log, &tag};

    if (form == 1)
        return Ex(&config, g_work, params, NULL);
    if (form == 2)
        return Cooperative(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params);
    return Launch(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* The program destroys a queue that it was given while something refers to it yet; the next command gives it
 * another. */
static void given_again(void)
{
    HwQueueHandle hwq, next;
    struct xs_queue *q;
    XQueueHandle xq;
    P s;

    TRUE(StreamCreate(&s, 1) == 0 && launch(0, s, g_other, 0) == 0);
    TRUE(CudaQueueGet(&hwq, s) == kXSchedSuccess && XQueueGet(&xq, hwq) == kXSchedSuccess);
    q = xsched_priv_queue_find(kPlatformCUDA, (uintptr_t)s);
    xsched_priv_queue_hold(q);
    TRUE(XQueueDestroy(xq) == kXSchedSuccess);
    TRUE(launch(0, s, g_other, 0) == 0 && XQueueGet(&xq, hwq) != kXSchedSuccess); /* as it wanted */
    TRUE(HwQueueDestroy(hwq) == kXSchedSuccess);
    TRUE(launch(0, s, g_other, 0) == 0);
    TRUE(CudaQueueGet(&next, s) == kXSchedSuccess && next != hwq && XQueueGet(&xq, next) == kXSchedSuccess);
    xsched_priv_queue_let_go(q);
    TRUE(launch(0, s, g_other, 0) == 0 && Sync(s) == 0 && Destroy(s) == 0);
}

static void *fill(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    for (uint32_t i = 1; i < MANY; i++) {
        TRUE(launch(0, stream, g_log, i) == 0);
        g_launched = i;
    }
    return NULL;
}

static void *one_more(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    launch(0, stream, g_other, 99); /* the stream is destroyed meanwhile: any answer, but an answer */
    return NULL;
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    P held, free_stream, captured, graph, exec;
    XQueueHandle xq;
    pthread_t t;
    double began;

    TRUE(lib != NULL);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Ex, "cuLaunchKernelEx"), get(lib, &Sync, "cuStreamSynchronize");
    get(lib, &Cooperative, "cuLaunchCooperativeKernel"), get(lib, &Destroy, "cuStreamDestroy_v2");
    get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &GraphLaunch, "cuGraphLaunch"), get(lib, &Instantiate, "cuGraphInstantiateWithFlags");
    TRUE(Init(0) == 0 && GetFunction(&g_work, NULL, "work") == 0);
    TRUE(Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(StreamCreate(&held, 1) == 0 && StreamCreate(&free_stream, 1) == 0 && StreamCreate(&captured, 1) == 0);
    TRUE(launch(0, held, g_log, 0) == 0);
    TRUE(Sync(held) == 0);
    xq = queue_of(held);

    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
    TRUE(pthread_create(&t, NULL, fill, held) == 0);
    usleep(50000);
    began = now_ms();
    for (uint32_t i = 0; i < 30; i++)
        TRUE(launch((int)i % 3, free_stream, g_other, i) == 0);
    TRUE(Begin(captured, 2) == 0);
    TRUE(launch(0, captured, g_other, 30) == 0); /* not run now */
    TRUE(End(captured, &graph) == 0 && Instantiate(&exec, graph, 0) == 0);
    TRUE(Sync(free_stream) == 0);
    TRUE(GraphLaunch(exec, captured) == 0 && Sync(captured) == 0);
    printf("others: %u\n", count(g_other));
    for (uint32_t i = 0; i < 31; i++)
        TRUE(g_other[1 + i] == i);
    TRUE(now_ms() - began < 5000);
    TRUE(g_launched == 0 && count(g_log) == 1); /* held outside the driver */
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    TRUE(pthread_join(t, NULL) == 0);
    TRUE(Sync(held) == 0);
    printf("held: %u\n", count(g_log));
    for (uint32_t i = 0; i < MANY; i++)
        TRUE(g_log[1 + i] == i);

    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
    TRUE(pthread_create(&t, NULL, one_more, held) == 0);
    usleep(20000);
    TRUE(Destroy(held) == 0);
    TRUE(pthread_join(t, NULL) == 0);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedErrorNotFound);
    given_again();
    printf("done\n");
    return 0;
}
