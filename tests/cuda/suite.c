/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary CUDA program that knows nothing of XSched: suite dlsym|entry. Its output holds nothing
 * that may differ from run to run, so that runs with and without XSched, and on the fake driver and
 * a real one, can be compared. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *P;
typedef uint64_t U;

#define FUNCTIONS(X)                                                                              \
    X(cuInit, 2000, (unsigned))                                                                   \
    X(cuDeviceGet, 2000, (int *, int))                                                            \
    X(cuDevicePrimaryCtxRetain, 7000, (P *, int))                                                 \
    X(cuDevicePrimaryCtxRelease, 11000, (int))                                                    \
    X(cuDevicePrimaryCtxReset, 11000, (int))                                                      \
    X(cuCtxCreate, 3020, (P *, unsigned, int))                                                    \
    X(cuCtxDestroy, 4000, (P))                                                                    \
    X(cuCtxSetCurrent, 4000, (P))                                                                 \
    X(cuCtxSynchronize, 2000, (void))                                                             \
    X(cuModuleLoadData, 2000, (P *, const void *))                                                \
    X(cuModuleGetFunction, 2000, (P *, P, const char *))                                          \
    X(cuStreamCreate, 2000, (P *, unsigned))                                                      \
    X(cuStreamCreateWithPriority, 5050, (P *, unsigned, int))                                     \
    X(cuStreamDestroy, 4000, (P))                                                                 \
    X(cuStreamSynchronize, 2000, (P))                                                             \
    X(cuStreamQuery, 2000, (P))                                                                   \
    X(cuStreamWaitEvent, 3020, (P, P, unsigned))                                                  \
    X(cuStreamBeginCapture, 10010, (P, int))                                                      \
    X(cuStreamEndCapture, 10000, (P, P *))                                                        \
    X(cuStreamWriteValue64, 12000, (P, U, U, unsigned))                                           \
    X(cuStreamWaitValue32, 12000, (P, U, uint32_t, unsigned))                                     \
    X(cuEventCreate, 2000, (P *, unsigned))                                                       \
    X(cuEventRecord, 2000, (P, P))                                                                \
    X(cuEventSynchronize, 2000, (P))                                                              \
    X(cuMemAlloc, 3020, (U *, size_t))                                                            \
    X(cuMemFree, 3020, (U))                                                                       \
    X(cuMemAllocAsync, 11020, (U *, size_t, P))                                                   \
    X(cuMemFreeAsync, 11020, (U, P))                                                              \
    X(cuMemcpyHtoDAsync, 3020, (U, const void *, size_t, P))                                      \
    X(cuMemcpyDtoHAsync, 3020, (void *, U, size_t, P))                                            \
    X(cuMemcpyDtoH, 3020, (void *, U, size_t))                                                    \
    X(cuMemsetD32Async, 3020, (U, unsigned, size_t, P))                                           \
    X(cuLaunchKernel, 4000,                                                                       \
      (P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *))     \
    X(cuLaunchCooperativeKernel, 9000,                                                            \
      (P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *))          \
    X(cuLaunchHostFunc, 10000, (P, void (*)(void *), void *))                                     \
    X(cuGraphInstantiateWithFlags, 11040, (P *, P, U))                                            \
    X(cuGraphLaunch, 10000, (P, P))

#define X(name, version, params) static int (*name) params;
FUNCTIONS(X)
#undef X
static int (*LaunchPerThread)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*SyncPerThread)(P);

static void fail(const char *what, int line, int r)
{
    printf("FAILED line %d: %s -> %d\n", line, what, r);
    fflush(stdout);
    _Exit(1);
}
#define OK(call)                                  \
    do {                                          \
        int r_ = (call);                          \
        if (r_)                                   \
            fail(#call, __LINE__, r_);            \
    } while (0)
#define TRUE(what)                                \
    do {                                          \
        if (!(what))                              \
            fail(#what, __LINE__, 0);             \
    } while (0)

static P g_ctx, g_work;

/* dlsym's names are the newest forms; cuGetProcAddress gets plain ones. */
static void *by_symbol(void *lib, const char *name)
{
    static const char *const forms[] = {"_v2", ""};
    char full[128];
    void *p = NULL;

    /* the second form of this one takes a context */
    for (int i = strcmp(name, "cuCtxSynchronize") == 0; i < 2 && !p; i++) {
        snprintf(full, sizeof(full), "%s%s", name, forms[i]);
        p = dlsym(lib, full);
    }
    return p;
}

static void bind(bool entry)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *p;
    int (*get)(const char *, void **, int, U, int *) = NULL;

    if (!lib)
        fail(dlerror(), __LINE__, 0);
    p = dlsym(lib, "cuGetProcAddress_v2");
    memcpy(&get, &p, sizeof(p));
    if (entry) { /* as cudart does: it asks for the asker first */
        OK(get("cuGetProcAddress", &p, 12000, 0, NULL));
        memcpy(&get, &p, sizeof(p));
    }
#define X(name, version, params)                                   \
    p = NULL;                                                      \
    if (entry)                                                     \
        OK(get(#name, &p, version, 1, NULL));                        \
    else                                                           \
        p = by_symbol(lib, #name);                                 \
    TRUE(p != NULL);                                               \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    if (entry) {
        int (*plain)(const char *, void **, int, U, int *) = get;

        OK(plain("cuLaunchKernel", &p, 13000, 2, NULL));
        memcpy(&LaunchPerThread, &p, sizeof(p));
        OK(plain("cuStreamSynchronize", &p, 13000, 2, NULL));
        memcpy(&SyncPerThread, &p, sizeof(p));
        TRUE((P)(uintptr_t)LaunchPerThread != (P)(uintptr_t)cuLaunchKernel);
        TRUE(plain("cuNoSuchThing", &p, 13000, 1, NULL) != 0);
    } else {
        p = dlsym(lib, "cuLaunchKernel_ptsz");
        memcpy(&LaunchPerThread, &p, sizeof(p));
        p = dlsym(lib, "cuStreamSynchronize_ptsz");
        memcpy(&SyncPerThread, &p, sizeof(p));
    }
}

static uint32_t *new_log(void)
{
    U p;

    OK(cuMemAlloc(&p, 4096 * 4));
    OK(cuMemsetD32Async(p, 0, 4096, NULL));
    OK(cuStreamSynchronize(NULL));
    return (uint32_t *)(uintptr_t)p;
}

static void work(P stream, U us, uint32_t *log, uint32_t tag)
{
    U ns = us * 1000;
    void *params[] = {&ns, &log, &tag};

    OK(cuLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void show(const char *title, uint32_t *log)
{
    uint32_t copy[64];

    OK(cuMemcpyDtoH(copy, (U)(uintptr_t)log, sizeof(copy)));
    printf("%s:", title);
    for (uint32_t i = 0; i < copy[0] && i < 60; i++)
        printf(" %u", copy[1 + i]);
    printf("\n");
    OK(cuMemFree((U)(uintptr_t)log));
}

static void created_streams(void)
{
    uint32_t *log = new_log();
    P s[3];

    OK(cuStreamCreate(&s[0], 1));
    OK(cuStreamCreateWithPriority(&s[1], 1, -1));
    OK(cuStreamCreate(&s[2], 0));
    for (unsigned i = 0; i < 3; i++) {
        work(s[i], 300, log, 10 * i + 1);
        work(s[i], 100, log, 10 * i + 2);
        OK(cuStreamSynchronize(s[i]));
    }
    show("created", log);
    for (int i = 0; i < 3; i++)
        OK(cuStreamDestroy(s[i]));
}

static void default_ordering(void)
{
    uint32_t *log = new_log();
    P blocking;

    OK(cuStreamCreate(&blocking, 0));
    for (uint32_t i = 0; i < 4; i++) { /* the null stream orders all blocking ones */
        work(blocking, 400, log, 100 + i);
        work(i % 2 ? NULL : (P)1, 100, log, 200 + i);
    }
    OK(cuCtxSynchronize());
    TRUE(cuStreamQuery(blocking) == 0 && cuStreamQuery(NULL) == 0);
    show("null", log);
    OK(cuStreamDestroy(blocking));
}

static void *on_thread(void *opaque)
{
    uint32_t *log = opaque, tag = 7;
    U ns = 200000;
    void *params[] = {&ns, &log, &tag};

    OK(cuCtxSetCurrent(g_ctx));
    for (int i = 0; i < 3; i++)
        OK(LaunchPerThread(g_work, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, (P)2, params, NULL));
    OK(SyncPerThread(NULL));
    return NULL;
}

static void per_thread(void)
{
    uint32_t *log = new_log();
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, on_thread, log);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    show("per thread", log);
}

static void events(void)
{
    uint32_t *log = new_log();
    P a, b, e;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuEventCreate(&e, 2));
    work(a, 2000, log, 1);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    work(b, 10, log, 2);
    OK(cuEventSynchronize(e));
    OK(cuStreamSynchronize(b));
    show("events", log);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
}

static void memory(void)
{
    static uint32_t host[1000], back[1000];
    uint64_t sum = 0;
    U p, word;
    P s;

    OK(cuStreamCreate(&s, 1));
    OK(cuMemAllocAsync(&p, sizeof(host), s));
    for (uint32_t i = 0; i < 1000; i++)
        host[i] = i * i;
    OK(cuMemcpyHtoDAsync(p, host, sizeof(host), s));
    OK(cuMemsetD32Async(p + 400, 5, 100, s));
    OK(cuMemcpyDtoHAsync(back, p, sizeof(back), s));
    OK(cuStreamSynchronize(s));
    for (int i = 0; i < 1000; i++)
        sum += back[i];
    OK(cuMemFreeAsync(p, s));
    OK(cuMemAlloc(&word, 64));
    OK(cuMemsetD32Async(word, 0, 16, s));
    OK(cuStreamWriteValue64(s, word, 0x1122334455667788ull, 0));
    OK(cuStreamWaitValue32(s, word, 0x55667788, 1));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(back, word, 8));
    printf("memory: %llu, written %08x%08x\n", (unsigned long long)sum, back[1], back[0]);
    OK(cuMemFree(word));
    OK(cuStreamDestroy(s));
}

static void host_function(void *arg)
{
    *(volatile int *)arg += 1;
}

static void host_functions(void)
{
    static int ran;
    P s;

    OK(cuStreamCreate(&s, 1));
    for (int i = 0; i < 5; i++)
        OK(cuLaunchHostFunc(s, host_function, &ran));
    OK(cuStreamSynchronize(s));
    printf("host functions: %d\n", ran);
    OK(cuStreamDestroy(s));
}

/* A second stream joins the capture by an event; a third one works on meanwhile. */
static void graphs(void)
{
    uint32_t *log = new_log(), *other = new_log();
    P a, b, c, e, f, graph, exec;

    OK(cuStreamCreate(&a, 1));
    OK(cuStreamCreate(&b, 1));
    OK(cuStreamCreate(&c, 1));
    OK(cuEventCreate(&e, 2));
    OK(cuEventCreate(&f, 2));
    OK(cuStreamBeginCapture(a, 2));
    work(a, 10, log, 1);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    work(b, 10, log, 2);
    for (uint32_t i = 0; i < 20; i++)
        work(c, 20, other, i);
    OK(cuStreamSynchronize(c));
    OK(cuEventRecord(f, b));
    OK(cuStreamWaitEvent(a, f, 0));
    work(a, 10, log, 3);
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        OK(cuGraphLaunch(exec, a));
    work(a, 10, log, 4);
    OK(cuStreamSynchronize(a));
    show("graph", log);
    show("beside a capture", other);
    OK(cuStreamDestroy(a));
    OK(cuStreamDestroy(b));
    OK(cuStreamDestroy(c));
}

/* Many commands, more than can be in flight, and then none lost. */
static void many(void)
{
    uint32_t *log = new_log(), count;
    P s;

    OK(cuStreamCreate(&s, 1));
    for (uint32_t i = 0; i < 3000; i++)
        work(s, i % 100 ? 2 : 300, log, i);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&count, (U)(uintptr_t)log, 4));
    for (uint32_t i = 0, tag; i < count; i += 37) {
        OK(cuMemcpyDtoH(&tag, (U)(uintptr_t)(log + 1 + i), 4));
        TRUE(tag == i);
    }
    printf("many: %u\n", count);
    OK(cuStreamDestroy(s));
}

/* Streams and contexts end with work pending; storage comes back under the same handles. */
static void lives(void)
{
    uint32_t *log = new_log();
    P ctx, s;

    for (int i = 0; i < 30; i++) {
        OK(cuStreamCreate(&s, 1));
        work(s, 50, log, 1);
        work(s, 50, log, 1);
        OK(cuStreamDestroy(s));
    }
    OK(cuCtxSynchronize());
    for (int i = 0; i < 3; i++) {
        uint32_t *inner;

        OK(cuCtxCreate(&ctx, 0, 1));
        inner = new_log();
        OK(cuStreamCreate(&s, 1));
        for (int k = 0; k < 10; k++)
            work(s, 100, inner, 5);
        work(NULL, 10, inner, 6);
        OK(cuCtxDestroy(ctx));
        OK(cuCtxSetCurrent(g_ctx));
    }
    OK(cuDevicePrimaryCtxRetain(&ctx, 1));
    OK(cuCtxSetCurrent(ctx));
    OK(cuStreamCreate(&s, 1));
    work(s, 100, new_log(), 5);
    OK(cuDevicePrimaryCtxReset(1));
    OK(cuCtxSetCurrent(g_ctx));
    work(NULL, 10, log, 2);
    OK(cuCtxSynchronize());
    printf("lives: done\n");
}

static void errors(void)
{
    OK(cuCtxSetCurrent(NULL));
    printf("errors: no function %d, no context %d\n",
           cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
           cuMemsetD32Async(0, 0, 0, NULL));
    OK(cuCtxSetCurrent(g_ctx));
}

int main(int argc, char **argv)
{
    P mod;
    int dev;

    bind(argc > 1 && strcmp(argv[1], "entry") == 0);
    OK(cuInit(0));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&g_ctx, dev));
    OK(cuCtxSetCurrent(g_ctx));
    OK(cuModuleLoadData(&mod, "fake"));
    OK(cuModuleGetFunction(&g_work, mod, "work"));
    created_streams();
    default_ordering();
    per_thread();
    events();
    memory();
    host_functions();
    graphs();
    many();
    lives();
    errors();
    OK(cuDevicePrimaryCtxRelease(dev));
    printf("end\n");
    return 0;
}
