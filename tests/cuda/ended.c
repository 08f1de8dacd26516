/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of what ends, at level 2. ended streams: streams that the program destroys without having waited for them
 * leave nothing behind. ended queue: XQueueDestroy lets go on what stands in the stream, although the scheduler prefers
 * another stream, and does so first after the destruction began. ended context: one that is detached ends with the last
 * of its uses, and not before. ended capture: one ends with the stream at which it was begun, and with no other. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../stream/check.h"
#include "queue.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*GetFunction)(P *, P, const char *), (*Destroy)(P);
static int (*Begin)(P, int), (*EventCreate)(P *, unsigned), (*Record)(P, P), (*WaitEvent)(P, P, unsigned);
static int (*CtxCreate)(P *, unsigned, int), (*Attach)(P *, unsigned), (*Detach)(P);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static P g_ctx, g_work;

#define WINDOW  100
#define WINDOWS 10
#define FEW     10                /* of a window: storage whose mark is reached a little later */
#define MS      1000000ull
static uint32_t g_log[(WINDOWS + 1) * WINDOW + 64];
static _Atomic int g_aligned;
static _Atomic bool g_ended, g_gave_up;

/* Ours is the only code here that asks for whole cache lines: the storage of a queue. */
__attribute__((visibility("default"))) int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
    atomic_fetch_add(&g_aligned, 1);
    *ret = memalign(alignment, bytes);
    return *ret ? 0 : ENOMEM;
}

static void launch(P stream, unsigned blocks, uint64_t ns)
{
    uint32_t *log = g_log, tag = 0;
    void *params[] = {&ns, &log, &tag};

    TRUE(Launch(g_work, blocks, 1, 1, 1, 1, 1, 0, stream, params, NULL) == 0);
}

static uint32_t done(void)
{
    return __atomic_load_n(&g_log[0], __ATOMIC_ACQUIRE);
}

/* The kernel was timed before, so it has a gate and no mark. */
static void use_one(void)
{
    uint32_t before = done();
    P s;

    TRUE(StreamCreate(&s, 1) == 0);
    launch(s, 1, 1000);
    UNTIL(done() != before);
    TRUE(Destroy(s) == 0);
}

static void streams(void)
{
    int windows = 0, made;

    do {
        made = atomic_load(&g_aligned);
        for (int i = 0; i < WINDOW; i++)
            use_one();
        made = atomic_load(&g_aligned) - made;
        printf("%d streams, storage for %d queues\n", WINDOW, made);
    } while (made > FEW && ++windows < WINDOWS);
    TRUE(windows < WINDOWS);
    TRUE(atomic_load(&g_aligned) > 0);
}

/* Until the other queue is destroyed, or for five seconds. */
static void *keep_busy(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    usleep(30000);
    for (int i = 0; i < 1250 && !g_ended; i++) {
        launch(stream, 2, 2 * MS);
        launch(stream, 2, 2 * MS);
    }
    g_gave_up = !g_ended;
    TRUE(Sync(stream) == 0);
    return NULL;
}

static void queue(P low)
{
    XQueueHandle xq;
    pthread_t t;
    P urgent;

    TRUE(StreamCreate(&urgent, 1) == 0);
    for (int i = 0; i < 10; i++) { /* until all kernels are timed */
        launch(urgent, 2, 2 * MS);
        launch(low, 3, 20 * MS);
        TRUE(Sync(urgent) == 0 && Sync(low) == 0);
    }
    xq = queue_with_priority(low, 0);
    queue_with_priority(urgent, 5);
    usleep(100000);
    TRUE(pthread_create(&t, NULL, keep_busy, urgent) == 0);
    for (int i = 0; i < 5; i++)
        launch(low, 3, 20 * MS);
    TRUE(XQueueDestroy(xq) == kXSchedSuccess);
    g_ended = true;
    TRUE(pthread_join(t, NULL) == 0);
    TRUE(!g_gave_up);
}

static void context(void *lib)
{
    HwQueueHandle before, after = 0;
    P ctx, again, s;

    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &Attach, "cuCtxAttach"), get(lib, &Detach, "cuCtxDetach");
    TRUE(CtxCreate(&ctx, 0, 0) == 0 && StreamCreate(&s, 1) == 0);
    launch(s, 1, 1000);
    TRUE(CudaQueueGet(&before, s) == kXSchedSuccess);
    TRUE(Attach(&again, 0) == 0 && again == ctx);
    TRUE(Detach(ctx) == 0);
    TRUE(CudaQueueGet(&after, s) == kXSchedSuccess && after == before);
    launch(s, 1, 1000);
    TRUE(Sync(s) == 0);
    TRUE(Detach(ctx) == 0);
    TRUE(CudaQueueGet(&after, s) == kXSchedErrorNotFound);
}

static void capture(void *lib)
{
    const _Atomic int32_t *captures = dlsym(RTLD_DEFAULT, "xsched_priv_cuda_captures");
    P origin, joined, other, event;

    get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &EventCreate, "cuEventCreate");
    get(lib, &Record, "cuEventRecord"), get(lib, &WaitEvent, "cuStreamWaitEvent");
    TRUE(captures && atomic_load(captures) == 0);
    TRUE(StreamCreate(&origin, 1) == 0 && StreamCreate(&joined, 1) == 0 && StreamCreate(&other, 1) == 0);
    TRUE(EventCreate(&event, 2) == 0);
    TRUE(Begin(origin, 2) == 0);
    TRUE(Begin(origin, 2) != 0); /* is already */
    TRUE(atomic_load(captures) == 1);
    TRUE(Record(event, origin) == 0 && WaitEvent(joined, event, 0) == 0);
    TRUE(Destroy(joined) == 0 && Destroy(other) == 0);
    TRUE(atomic_load(captures) == 1);
    TRUE(Destroy(origin) == 0);
    TRUE(atomic_load(captures) == 0);
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    P low;

    TRUE(lib != NULL && argc > 1);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize");
    get(lib, &Destroy, "cuStreamDestroy_v2");
    TRUE(Init(0) == 0 && Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(GetFunction(&g_work, NULL, "work") == 0 && StreamCreate(&low, 1) == 0);
    for (int i = 0; i < 20; i++) {
        launch(low, 1, 1000);
        TRUE(Sync(low) == 0);
    }
    if (strcmp(argv[1], "streams") == 0)
        streams();
    else if (strcmp(argv[1], "context") == 0)
        context(lib);
    else if (strcmp(argv[1], "capture") == 0)
        capture(lib);
    else
        queue(low);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
