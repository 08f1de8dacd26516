/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim whose streams are scheduled one by one by a policy in the process: inherit
 * [CASE]. Each case has a stream that is held for the sake of a more important and busy one, lets something
 * important wait for it in one of the ways that CUDA has, and sees its gate open, stay open while the busy
 * stream completes command after command, and close again when what was waited for is complete. What is on
 * the held stream was put there before anything else ran, so that this thread never waits at a gate itself.
 * inherit wrong: nobody is told what waits for what, and the gate must not stay open. */
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
#ifdef HIP
#define PLATFORM     kPlatformHIP
#define NAME(cu, hip) hip
#else
#define PLATFORM     kPlatformCUDA
#define NAME(cu, hip) cu
#endif
#include "xqueue/queue.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrentOf)(P), (*Sync)(P), (*CtxSync)(void), (*Destroy)(P);
static int (*GetFunction)(P *, P, const char *), (*Create)(P *, unsigned, int);
static int (*WaitValueOf)(P, uint64_t, uint32_t, unsigned, uint32_t);
#ifndef HIP
static int (*CtxCreate)(P *, unsigned, int);
#endif
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*EventCreate)(P *, unsigned), (*Record)(P, P), (*WaitEvent)(P, P, unsigned), (*EventSync)(P), (*EventQuery)(P);
static int (*Query)(P), (*Alloc)(uint64_t *, size_t), (*Free)(uint64_t), (*HtoD)(uint64_t, const void *, size_t, int);
static P g_ctx, g_work;
static P g_top;
static bool g_wrong;
static volatile uint32_t g_run, g_rests, g_flag, g_flag2, g_done;

/* HIP has a current device, and here it is number 0. */
static int SetCurrent(P ctx)
{
    (void)ctx;
    return SetCurrentOf(NAME(ctx, NULL));
}

/* CUDA's has no mask, and does not look where it would be. */
static int WaitValue(P stream, uint64_t at, uint32_t value, unsigned flags)
{
    return WaitValueOf(stream, at, value, flags, UINT32_MAX);
}

static void work(P stream, uint64_t us)
{
    uint64_t ns = us * 1000;
    uint32_t *none = NULL, tag = 0;
    void *params[] = {&ns, &none, &tag};

    TRUE(Launch(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == 0);
}

/* While g_run: always at work, in a context of its own, since a call such as cuMemFree keeps all of its context from
 * the driver while it waits. g_rests tells that it has nothing on the device. */
static void *busy(void *unused)
{
    P ctx, stream;

    (void)unused;
    TRUE(NAME(CtxCreate(&ctx, 0, 0), SetCurrent(ctx = NULL)) == 0 && Create(&stream, 1, 0) == 0);
    g_top = stream;
    for (;;) {
        while (g_run == 1) {
            work(stream, 1000); /* waits for room before the driver most of that time */
            g_rests = 0;
        }
        TRUE(Sync(stream) == 0);
        g_rests = 1;
        if (g_run == 2)
            return NULL;
        usleep(500);
    }
}

static struct xs_queue *queue(P stream)
{
    return xsched_priv_queue_find(PLATFORM, (uintptr_t)stream);
}

static bool closed(P stream)
{
    struct xs_queue *q = queue(stream);

    return q && atomic_load(&atomic_load(&q->sc)->permitted) < atomic_load(&q->cc->entered) + 1;
}

static uint64_t done_by_top(void)
{
    struct xs_queue *q = queue(g_top);

    return q ? XS_MAX(atomic_load(&q->cc->completed), atomic_load(&q->cc->marked)) : 0;
}

/* Not for the moment in which everything else happens to be idle: the busy stream goes on meanwhile, and the
 * held one is not held even once. */
static bool stays_open(P stream)
{
    uint64_t held = atomic_load(&atomic_load(&queue(stream)->sc)->suspensions), from = done_by_top();

    while (done_by_top() < from + 20) {
        if (closed(stream))
            return false;
        usleep(500);
    }
    return !closed(stream) && atomic_load(&atomic_load(&queue(stream)->sc)->suspensions) == held;
}

static void open_as_long_as_waited_for(P stream)
{
    uint64_t from = done_by_top();

    if (!g_wrong)
        UNTIL(stays_open(stream));
    while (g_wrong && done_by_top() < from + 150) {
        TRUE(!stays_open(stream));
        usleep(500);
    }
}

struct scene {
    P low, high, event;
    const char *how;
};

/* Something on the important stream, so that this thread is as important, then a wait in one of the ways. */
static void *waits(void *opaque)
{
    struct scene *s = opaque;
    uint64_t p;
    char byte = 0;

    TRUE(SetCurrent(g_ctx) == 0);
    work(s->high, 10);
    TRUE(Alloc(&p, 64) == 0);
    if (strcmp(s->how, "event_synchronize") == 0) {
        TRUE(EventSync(s->event) == 0);
    } else if (strcmp(s->how, "stream_synchronize") == 0) {
        TRUE(Sync(s->low) == 0);
    } else if (strcmp(s->how, "context_synchronize") == 0) {
        TRUE(CtxSync() == 0);
    } else if (strcmp(s->how, "event_query") == 0) {
        while (EventQuery(s->event) == XS_CU_NOT_READY)
            usleep(500);
    } else if (strcmp(s->how, "stream_query") == 0) {
        while (Query(s->low) == XS_CU_NOT_READY)
            usleep(500);
    } else if (strcmp(s->how, "free") == 0) {
        TRUE(Free(p) == 0);
    } else if (strcmp(s->how, "copy") == 0) {
        TRUE(HtoD(p, &byte, 1, 1) == 0); /* to the device, which CUDA's need not be told */
    }
    g_done = 1;
    return NULL;
}

static void one(const char *how)
{
    bool by_thread = strstr(how, "device") == NULL;
    struct scene s = {.how = how};
    P middle = NULL, other_event = NULL;
    pthread_t t;

    g_flag = g_flag2 = g_done = g_run = 0;
    UNTIL(g_rests);
    /* blocking streams where the default stream is to wait for them */
    TRUE(Create(&s.low, strstr(how, "legacy") || !strcmp(how, "copy") || !strcmp(how, "free") ? 0 : 1, 1) == 0);
    TRUE(Create(&s.high, 1, 0) == 0);
    TRUE(Create(&middle, 1, 1) == 0);
    TRUE(EventCreate(&s.event, 2) == 0 && EventCreate(&other_event, 2) == 0);
    TRUE(WaitValue(s.low, (uintptr_t)&g_flag, 1, 0) == 0);
    work(s.low, 10);
    TRUE(Record(s.event, s.low) == 0);
    TRUE(WaitValue(s.low, (uintptr_t)&g_flag2, 1, 0) == 0); /* and after the event, more work of its own */
    if (strcmp(how, "device_chain") == 0) { /* high waits for middle, which waits for low */
        TRUE(WaitEvent(middle, s.event, 0) == 0);
        TRUE(WaitValue(middle, (uintptr_t)&g_flag, 1, 0) == 0);
        TRUE(Record(other_event, middle) == 0);
    }
    g_run = 1;
    if (g_wrong)
        atomic_store(&xsched_priv_intra, 0);
    UNTIL(closed(s.low));
    if (by_thread) {
        TRUE(pthread_create(&t, NULL, waits, &s) == 0);
    } else if (strcmp(how, "device_event") == 0) {
        TRUE(WaitEvent(s.high, s.event, 0) == 0);
        work(s.high, 10);
    } else if (strcmp(how, "device_chain") == 0) {
        UNTIL(closed(middle));
        TRUE(WaitEvent(s.high, other_event, 0) == 0);
        work(s.high, 10);
        open_as_long_as_waited_for(middle);
    } else if (strcmp(how, "device_legacy") == 0) {
        work(NULL, 10);
    }
    open_as_long_as_waited_for(s.low);
    printf("%s: %s", how, g_wrong ? "held" : "open");
    g_flag = 1;
    if (by_thread && strncmp(how, "event", 5)) { /* these wait for all of the stream */
        g_flag2 = 1;
        UNTIL(g_done);
        TRUE(pthread_join(t, NULL) == 0);
    } else {
        if (by_thread) {
            UNTIL(g_done);
            TRUE(pthread_join(t, NULL) == 0);
        }
        if (strcmp(how, "device_legacy")) {
            UNTIL(closed(s.low)); /* it still has work of its own */
            printf(", closed");
        }
        g_flag2 = 1;
    }
    printf("\n");
    fflush(stdout);
    g_run = 0;
    TRUE(CtxSync() == 0); /* a stream that stands still would stand in the next case's way */
    TRUE(Destroy(s.low) == 0 && Destroy(s.high) == 0 && Destroy(middle) == 0);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"device_event", "device_chain", "device_legacy", "event_synchronize",
                                      "stream_synchronize", "event_query", "stream_query", "free", "copy"};
    void *lib = dlopen(NAME("libcuda.so.1", "libamdhip64.so.6"), RTLD_NOW), *mod = NULL;
    int (*load)(P *, const void *);
    pthread_t t;

    /* Commands of several streams side by side: a device that took the more important ones first would come to the
     * held stream only when the busy one happens to run dry, however open the gate is. */
    TRUE(lib != NULL && setenv("FAKE_CUDA_WIDE", "1", 1) == 0);
    get(lib, &Init, NAME("cuInit", "hipInit")), get(lib, &SetCurrentOf, NAME("cuCtxSetCurrent", "hipSetDevice"));
    get(lib, &Retain, NAME("cuDevicePrimaryCtxRetain", "hipInit"));
#ifndef HIP
    get(lib, &CtxCreate, "cuCtxCreate_v2");
#endif
    get(lib, &load, NAME("cuModuleLoadData", "hipModuleLoadData"));
    get(lib, &Create, NAME("cuStreamCreateWithPriority", "hipStreamCreateWithPriority"));
    get(lib, &GetFunction, NAME("cuModuleGetFunction", "hipModuleGetFunction"));
    get(lib, &Launch, NAME("cuLaunchKernel", "hipModuleLaunchKernel"));
    get(lib, &Sync, NAME("cuStreamSynchronize", "hipStreamSynchronize"));
    get(lib, &CtxSync, NAME("cuCtxSynchronize", "hipDeviceSynchronize"));
    get(lib, &Destroy, NAME("cuStreamDestroy_v2", "hipStreamDestroy"));
    get(lib, &WaitValueOf, NAME("cuStreamWaitValue32_v2", "hipStreamWaitValue32"));
    get(lib, &EventCreate, NAME("cuEventCreate", "hipEventCreateWithFlags"));
    get(lib, &Record, NAME("cuEventRecord", "hipEventRecord"));
    get(lib, &WaitEvent, NAME("cuStreamWaitEvent", "hipStreamWaitEvent"));
    get(lib, &EventSync, NAME("cuEventSynchronize", "hipEventSynchronize"));
    get(lib, &EventQuery, NAME("cuEventQuery", "hipEventQuery")), get(lib, &Query, NAME("cuStreamQuery", "hipStreamQuery"));
    get(lib, &Alloc, NAME("cuMemAlloc_v2", "hipMalloc")), get(lib, &Free, NAME("cuMemFree_v2", "hipFree"));
    get(lib, &HtoD, NAME("cuMemcpyHtoD_v2", "hipMemcpy"));
    TRUE(Init(0) == 0 && NAME(Retain(&g_ctx, 0), 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(load(&mod, "code") == 0 && GetFunction(&g_work, mod, "work") == 0);
    TRUE(pthread_create(&t, NULL, busy, NULL) == 0);
    g_wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
    for (size_t i = 0; i < XS_ARRAY_LEN(all); i++)
        if (g_wrong ? strcmp("stream_synchronize", all[i]) : argc < 2 || strcmp(argv[1], all[i]) == 0)
            one(all[i]); /* waiting for a stream needs no such knowledge */
    g_run = 2;
    TRUE(pthread_join(t, NULL) == 0);
    printf("end\n");
    return 0;
}
