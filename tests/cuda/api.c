/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the public API on CUDA streams, without the shim: queues of created and default
 * streams, callbacks that launch, suspension, and idleness that only the device's marks can tell of. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/check.h"
#include "xqueue/interface.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned);
static int (*GetFunction)(P *, P, const char *), (*CtxDestroy)(P), (*CtxCreate)(P *, unsigned, int);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*Registered)(void);
static P g_work;

struct job {
    P stream;
    uint32_t *log;
    uint32_t tag;
};

static void launch(P stream, uint32_t *log, uint32_t tag)
{
    uint64_t ns = 200000;
    void *params[] = {&ns, &log, &tag};

    TRUE(Launch(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == 0);
}

static XResult run(HwQueueHandle hwq, void *data)
{
    struct job *j = data;

    (void)hwq;
    launch(j->stream, j->log, j->tag);
    return kXSchedSuccess;
}

static void becomes_idle(XQueueHandle xq)
{
    XQueueState state = kQueueStateUnknown;

    for (int i = 0; i < 20000 && state != kQueueStateIdle; i++) {
        usleep(1000);
        TRUE(XQueueQuery(xq, &state) == kXSchedSuccess);
    }
    TRUE(state == kQueueStateIdle);
}

static void on_stream(P stream)
{
    static uint32_t log[64];
    struct job jobs[10];
    HwQueueHandle hwq, same;
    HwCommandHandle c;
    XQueueHandle xq;

    memset(log, 0, sizeof(log));
    TRUE(CudaQueueGet(&hwq, stream) == kXSchedErrorNotFound);
    TRUE(CudaQueueCreate(&hwq, stream) == kXSchedSuccess);
    TRUE(CudaQueueCreate(&same, stream) == kXSchedSuccess && same == hwq);
    TRUE(CudaQueueGet(&same, stream) == kXSchedSuccess && same == hwq);
    TRUE(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess);
    for (uint32_t i = 0; i < 5; i++) {
        jobs[i] = (struct job){stream, log, i};
        TRUE(HwCommandCreateCallback(&c, run, &jobs[i]) == kXSchedSuccess);
        TRUE(XQueueSubmit(xq, c) == kXSchedSuccess);
    }
    TRUE(XQueueWaitAll(xq) == kXSchedSuccess);
    TRUE(log[0] == 5);
    TRUE(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess);
    for (uint32_t i = 5; i < 8; i++) {
        jobs[i] = (struct job){stream, log, i};
        TRUE(HwCommandCreateCallback(&c, run, &jobs[i]) == kXSchedSuccess);
        TRUE(XQueueSubmit(xq, c) == kXSchedSuccess);
    }
    usleep(20000);
    TRUE(log[0] == 5);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    becomes_idle(xq);
    TRUE(log[0] == 8);
    for (uint32_t i = 0; i < 8; i++)
        TRUE(log[1 + i] == i);
    TRUE(HwQueueSynchronize(hwq) == kXSchedSuccess);
    TRUE(XQueueDestroy(xq) == kXSchedSuccess);
    TRUE(HwQueueDestroy(hwq) == kXSchedSuccess);
}

/* Queues of one stream come and go while something refers to the last one yet: a mark, the control thread. */
static void made_again(P stream)
{
    HwQueueHandle hwq, before = 0;
    struct xs_queue *q[3];
    XQueueHandle xq;

    for (int i = 0; i < 3; i++) {
        TRUE(CudaQueueCreate(&hwq, stream) == kXSchedSuccess && hwq != before);
        before = hwq;
        TRUE(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess);
        q[i] = xsched_priv_queue_find(kPlatformCUDA, (uintptr_t)stream);
        xsched_priv_queue_hold(q[i]);
        TRUE(XQueueDestroy(xq) == kXSchedSuccess);
        TRUE(HwQueueDestroy(hwq) == kXSchedSuccess);
        TRUE(CudaQueueGet(&hwq, stream) == kXSchedErrorNotFound);
    }
    for (int i = 0; i < 3; i++)
        xsched_priv_queue_let_go(q[i]);
}

int main(void)
{
    HwQueueHandle hwq;
    void *lib;
    P ctx, s;

    TRUE(CudaQueueCreate(NULL, NULL) == kXSchedErrorInvalidValue);
    TRUE(CudaQueueCreate(&hwq, (P)0x1001) == kXSchedErrorInvalidValue);
    TRUE(CudaQueueCreate(&hwq, (P)0x7f0000000010) == kXSchedErrorInvalidValue);
    if (!getenv("XSCHED_CUDA_LIB")) { /* no driver anywhere: an error, once, and no more */
        TRUE(CudaQueueCreate(&hwq, NULL) == kXSchedErrorNotFound);
        TRUE(CudaQueueGet(&hwq, NULL) == kXSchedErrorNotFound);
        printf("done without a driver\n");
        return 0;
    }
    lib = dlopen(getenv("XSCHED_CUDA_LIB"), RTLD_NOW);
    TRUE(lib != NULL);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &Registered, "fake_cuda_registered");
    TRUE(Init(0) == 0 && GetFunction(&g_work, NULL, "work") == 0);
    TRUE(CudaQueueCreate(&hwq, NULL) == kXSchedErrorNotFound); /* no context */
    TRUE(Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0);
    TRUE(StreamCreate(&s, 1) == 0);
    on_stream(s);
    on_stream(NULL);
    on_stream((P)2);
    made_again(s);
    on_stream(s);
    /* where nothing may be written, events take the place of what the device writes */
    TRUE((Registered() > 0) == (!getenv("FAKE_CUDA") || strcmp(getenv("FAKE_CUDA"), "no_writes") == 0));
    printf("done\n");
    return 0;
}
