/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: calls that wait for whatever a context has, while work of it stands behind closed gates: inside. They
 * return, what stood there is done, what comes later is held. Runs on a real driver too. Exit code 3: one did not return. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/check.h"
#include "hal/cuda/cuda_abi.h"
#include "ptx.h"
#include "queue.h"
#include "xsched/cuda/hal.h"
#include "xsched/xsched.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*GetFunction)(P *, P, const char *), (*Alloc)(uint64_t *, size_t), (*Free)(uint64_t), (*Load)(P *, const void *);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*LoadLibrary)(P *, const void *, P, P, unsigned, P, P, unsigned), (*UnloadLibrary)(P);
static int (*GetModule)(P *, P), (*GetKernel)(P *, P, const char *), (*KernelFunction)(P *, P), (*LoadFunction)(P);
static int (*CtxCreate)(P *, unsigned, int), (*CtxDestroy)(P), (*Release)(int);
static int (*Register)(void *, size_t, unsigned), (*Unregister)(void *);
static int (*Begin)(P, int), (*End)(P, P *), (*Occupancy)(int *, P, int, size_t), (*SetCache)(P, int, int);
static int (*SetAttribute)(int, int, P, int), (*ParamInfo)(P, size_t, size_t *, size_t *), (*CloseMemory)(uint64_t);
static P g_ctx, g_work;
static const char *volatile g_doing;
static volatile unsigned g_step;

static uint32_t g_log[100352] __attribute__((aligned(4096))), g_other[1024] __attribute__((aligned(4096)));
static char g_page[8192] __attribute__((aligned(4096)));

static uint32_t count(const uint32_t *log)
{
    return __atomic_load_n(&log[0], __ATOMIC_ACQUIRE);
}

static int launch(P stream, uint64_t ns, uint32_t *log)
{
    uint32_t tag = 0;
    void *params[] = {&ns, &log, &tag};

    return Launch(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static void *watch(void *unused)
{
    unsigned seen = 0;

    (void)unused;
    for (int quiet = 0; quiet < 60; usleep(100000)) {
        quiet = g_step == seen ? quiet + 1 : 0;
        seen = g_step;
    }
    printf("does not return: %s\n", g_doing);
    fflush(stdout);
    _Exit(3);
}

static void doing(const char *what)
{
    g_doing = what;
    g_step++;
}

static volatile bool g_stop;

static void *on_another(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    while (!g_stop && count(g_other) < 900) {
        TRUE(launch(stream, 0, g_other) == 0);
        usleep(500);
    }
    return NULL;
}

static void *on_the_held(void *stream)
{
    TRUE(SetCurrent(g_ctx) == 0);
    while (!g_stop && count(g_log) < 90000)
        TRUE(launch(stream, 1000, g_log) == 0);
    return NULL;
}

/* Something that runs, and a few commands behind gates that are closed before it ends; again where this thread had to
 * wait for its turn on the processor so long that they were not. */
static uint32_t behind_gates(P held, XQueueHandle xq)
{
    for (int tries = 0; tries < 20; tries++) {
        uint32_t before = count(g_log);

        TRUE(launch(held, 30000000, g_log) == 0);
        for (int i = 0; i < 5; i++)
            TRUE(launch(held, 0, g_log) == 0);
        TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
        if (count(g_log) == before)
            return before + 6;
        TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
        TRUE(Sync(held) == 0);
    }
    TRUE(!"the gates are never closed in time");
    return 0;
}

static P g_library, g_kernel, g_module, g_function;

static int ask_module(void)
{
    return GetModule(&g_module, g_library);
}

static int ask_function(void)
{
    return KernelFunction(&g_function, g_kernel);
}

static int ask_load(void)
{
    return LoadFunction(g_function);
}

/* What a call does to what stands behind gates. It may return before that is done; on a real driver others wait then. */
static void asked(P held, P other, XQueueHandle xq, const char *what, int (*ask)(void), bool goes_on)
{
    uint32_t all = behind_gates(held, xq);

    doing(what);
    TRUE(ask() == 0);
    TRUE(launch(other, 0, g_other) == 0 && Sync(other) == 0);
    if (!goes_on)
        usleep(100000);
    while (goes_on && count(g_log) < all)
        usleep(1000);
    printf("%s: returned, what stood there is %s\n", g_doing, count(g_log) < all ? "held" : "done");
    TRUE(goes_on || count(g_log) < all);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    TRUE(Sync(held) == 0);
}

static P g_other_stream, g_captured, g_graph;

static int launch_kernel(void)
{
    return Launch(g_kernel, 1, 1, 1, 1, 1, 1, 0, g_other_stream, NULL, NULL);
}

static int capture_kernel(void)
{
    return Launch(g_kernel, 1, 1, 1, 1, 1, 1, 0, g_captured, NULL, NULL);
}

static int ask_occupancy(void)
{
    int n;

    return Occupancy(&n, g_kernel, 64, 0);
}

static int ask_occupancy_of_function(void)
{
    int n;

    return Occupancy(&n, g_function, 64, 0);
}

static int set_attribute(void)
{
    return SetAttribute(8, 1024, g_kernel, 0); /* dynamic shared memory */
}

static int set_cache(void)
{
    return SetCache(g_kernel, 2, 0);
}

static int ask_parameter(void)
{
    size_t offset, bytes;

    ParamInfo(g_kernel, 0, &offset, &bytes); /* it has none */
    return 0;
}

static int close_memory(void)
{
    CloseMemory(0);
    return 0;
}

/* A kernel of a library of which nothing is loaded, whose handle may have been that of another one. */
static void new_kernel(void)
{
    TRUE(LoadLibrary(&g_library, k_ptx, NULL, NULL, 0, NULL, NULL, 0) == 0);
    TRUE(GetKernel(&g_kernel, g_library, "nop") == 0);
}

/* Whatever first needs a kernel's code loads it. What is known to be loaded leaves alone what stands behind gates. */
static void loads_lazily(P held, P other, XQueueHandle xq)
{
    static const struct {
        const char *what, *again;
        int (*ask)(void);
    } cases[] = {
        {"cuLaunchKernel", "cuLaunchKernel again", launch_kernel},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "the same again", ask_occupancy},
        {"cuKernelSetAttribute", "the same again", set_attribute},
        {"cuKernelSetCacheConfig", "the same again", set_cache},
    };

    g_other_stream = other;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        new_kernel();
        asked(held, other, xq, cases[i].what, cases[i].ask, true);
        if (i == 0)
            TRUE(launch_kernel() == 0 && Sync(other) == 0); /* timed by now */
        asked(held, other, xq, cases[i].again, cases[i].ask, false);
        doing("cuLibraryUnload");
        TRUE(UnloadLibrary(g_library) == 0);
    }
    new_kernel();
    asked(held, other, xq, "cuKernelGetParamInfo", ask_parameter, true);
    TRUE(StreamCreate(&g_captured, 1) == 0);
    TRUE(UnloadLibrary(g_library) == 0);
    new_kernel();
    TRUE(Begin(g_captured, 2) == 0);
    asked(held, other, xq, "cuLaunchKernel that is captured", capture_kernel, true);
    asked(held, other, xq, "the same again", capture_kernel, false);
    TRUE(End(g_captured, &g_graph) == 0);
    TRUE(KernelFunction(&g_function, g_kernel) == 0);
    asked(held, other, xq, "the occupancy of a function", ask_occupancy_of_function, false);
    asked(held, other, xq, "cuIpcCloseMemHandle", close_memory, true);
    doing("cuLibraryUnload");
    TRUE(UnloadLibrary(g_library) == 0);
}

/* What loads only the first time: then what stood behind gates goes on, when asked again it stays. */
static void asked_twice(P held, P other, XQueueHandle xq)
{
    P another;

    TRUE(LoadLibrary(&g_library, k_ptx, NULL, NULL, 0, NULL, NULL, 0) == 0);
    TRUE(GetKernel(&g_kernel, g_library, "nop") == 0);
    asked(held, other, xq, "cuLibraryGetModule", ask_module, true);
    asked(held, other, xq, "cuLibraryGetModule again", ask_module, false);
    asked(held, other, xq, "cuKernelGetFunction", ask_function, true);
    asked(held, other, xq, "cuKernelGetFunction again", ask_function, false);
    asked(held, other, xq, "cuFuncLoad", ask_load, false); /* it was loaded as it was given */
    asked(held, other, xq, "cuFuncLoad again", ask_load, false);
    /* a context that comes next may have the handle of one that ended: nothing counts as loaded */
    TRUE(CtxCreate(&another, 0, 0) == 0 && CtxDestroy(another) == 0 && SetCurrent(g_ctx) == 0);
    asked(held, other, xq, "cuKernelGetFunction after a context ended", ask_function, true);
    TRUE(Retain(&another, 0) == 0 && Release(0) == 0);
    asked(held, other, xq, "cuKernelGetFunction after a release", ask_function, true);
    doing("cuLibraryUnload");
    TRUE(UnloadLibrary(g_library) == 0);
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    P held, other, module;
    pthread_t watcher, t, u;
    XQueueHandle xq;
    uint64_t memory;
    uint32_t all, late;

    TRUE(lib != NULL);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize"), get(lib, &Alloc, "cuMemAlloc_v2");
    get(lib, &Free, "cuMemFree_v2"), get(lib, &Load, "cuModuleLoadData");
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &Release, "cuDevicePrimaryCtxRelease_v2");
    get(lib, &LoadLibrary, "cuLibraryLoadData"), get(lib, &UnloadLibrary, "cuLibraryUnload");
    get(lib, &GetModule, "cuLibraryGetModule"), get(lib, &GetKernel, "cuLibraryGetKernel");
    get(lib, &KernelFunction, "cuKernelGetFunction"), get(lib, &LoadFunction, "cuFuncLoad");
    get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &Occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor"), get(lib, &SetCache, "cuKernelSetCacheConfig");
    get(lib, &SetAttribute, "cuKernelSetAttribute"), get(lib, &ParamInfo, "cuKernelGetParamInfo");
    get(lib, &CloseMemory, "cuIpcCloseMemHandle");
    get(lib, &Register, "cuMemHostRegister_v2"), get(lib, &Unregister, "cuMemHostUnregister");
    TRUE(Init(0) == 0 && Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(Load(&module, k_ptx) == 0 && GetFunction(&g_work, module, "work") == 0);
    /* a real device sees the host's memory where it is registered; there at the same address */
    TRUE(Register(g_log, sizeof(g_log), 2) == 0 && Register(g_other, sizeof(g_other), 2) == 0);
    TRUE(StreamCreate(&held, 1) == 0 && StreamCreate(&other, 1) == 0);
    TRUE(pthread_create(&watcher, NULL, watch, NULL) == 0);
    TRUE(launch(held, 0, g_log) == 0 && launch(other, 0, g_other) == 0 && Sync(held) == 0 && Sync(other) == 0);
    xq = queue_of(held);
    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess); /* from here on it may be held */
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    for (int i = 0; i < 20; i++) /* until its kernel is timed */
        TRUE(launch(held, 0, g_log) == 0 && Sync(held) == 0);

    /* what stands behind gates stays there when nobody waits for it in this way */
    all = behind_gates(held, xq);
    usleep(150000);
    printf("behind gates: %s\n", count(g_log) < all ? "held" : "gone on");
    TRUE(count(g_log) < all);
    for (int what = 0; what < 3; what++) {
        if (what)
            all = behind_gates(held, xq);
        TRUE(Alloc(&memory, 64) == 0 && Register(g_page, 4096, 2) == 0);
        g_stop = false;
        TRUE(pthread_create(&t, NULL, on_another, other) == 0);
        TRUE(pthread_create(&u, NULL, on_the_held, held) == 0); /* waits outside: the queue is suspended */
        doing(what == 0 ? "cuMemFree" : what == 1 ? "cuMemHostUnregister" : "cuModuleLoadData");
        if (what == 0)
            TRUE(Free(memory) == 0);
        else if (what == 1)
            TRUE(Unregister(g_page) == 0);
        else
            TRUE(Load(&module, k_ptx) == 0);
        late = count(g_log);
        printf("%s: returned, %s\n", g_doing, late >= all ? "what stood there is done" : "too early");
        TRUE(late >= all);
        usleep(50000);
        TRUE(count(g_log) <= all + 1); /* one more at most: it was on its way as the call began */
        doing("other streams");
        g_stop = true;
        TRUE(pthread_join(t, NULL) == 0);
        TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
        TRUE(pthread_join(u, NULL) == 0);
        TRUE(Sync(held) == 0 && Sync(other) == 0);
        if (what != 0)
            TRUE(Free(memory) == 0);
        if (what != 1)
            TRUE(Unregister(g_page) == 0);
    }

    asked_twice(held, other, xq);
    loads_lazily(held, other, xq);
    loads_lazily(held, other, xq); /* with the handles of what was unloaded */
    asked_twice(held, other, xq); /* what was unloaded is not loaded, whatever its handle */

    doing("XQueueSuspend with SyncHwQueue");
    TRUE(launch(held, 30000000, g_log) == 0);
    for (int i = 0; i < 5; i++)
        TRUE(launch(held, 0, g_log) == 0);
    all = count(g_log);
    TRUE(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);

    /* all at once, while the gates open and close */
    g_stop = false;
    TRUE(pthread_create(&t, NULL, on_another, other) == 0);
    TRUE(pthread_create(&u, NULL, on_the_held, held) == 0);
    for (int i = 0; i < 60; i++) {
        doing("cuMemFree while gates open and close");
        TRUE(Alloc(&memory, 64) == 0);
        TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
        TRUE(Free(memory) == 0);
        TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
        usleep(i % 3 ? 500 : 3000);
    }
    g_stop = true;
    TRUE(pthread_join(t, NULL) == 0 && pthread_join(u, NULL) == 0);
    TRUE(Sync(held) == 0 && Sync(other) == 0);
    printf("done\n");
    return 0;
}
