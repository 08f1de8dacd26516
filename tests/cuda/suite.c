/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary CUDA program that knows nothing of XSched: suite dlsym|entry. Its output holds nothing
 * that may differ from run to run, so that runs with and without XSched, and on the fake driver and
 * a real one, can be compared. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "ptx.h"
#include "../stream/cases.h"

typedef uint64_t U;

#define FUNCTIONS(X)                                                                              \
    X(cuInit, 2000, (unsigned))                                                                   \
    X(cuDeviceGetCount, 2000, (int *))                                                            \
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
    X(cuStreamIsCapturing, 10000, (P, int *))                                                     \
    X(cuStreamBeginCapture, 10010, (P, int))                                                      \
    X(cuStreamEndCapture, 10000, (P, P *))                                                        \
    X(cuStreamWriteValue64, 12000, (P, U, U, unsigned))                                           \
    X(cuStreamWaitValue32, 12000, (P, U, uint32_t, unsigned))                                     \
    X(cuEventCreate, 2000, (P *, unsigned))                                                       \
    X(cuEventRecord, 2000, (P, P))                                                                \
    X(cuEventSynchronize, 2000, (P))                                                              \
    X(cuEventQuery, 2000, (P))                                                              \
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

static P g_ctx, g_work;
static int g_devices;

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
        int (*plain)(const char *, void **, int, U, int *) = get, status = 0;

        OK(plain("cuLaunchKernel", &p, 13000, 2, NULL));
        memcpy(&LaunchPerThread, &p, sizeof(p));
        OK(plain("cuStreamSynchronize", &p, 13000, 2, NULL));
        memcpy(&SyncPerThread, &p, sizeof(p));
        TRUE((P)(uintptr_t)LaunchPerThread != (P)(uintptr_t)cuLaunchKernel);
        OK(plain("cuNoSuchThing", &p, 13000, 1, NULL)); /* no error, but nothing to call */
        TRUE(p == NULL && plain("cuNoSuchThing", &p, 13000, 1, &status) == 0 && p == NULL && status == 1);
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

#define api_stream(s)              cuStreamCreate(s, 1)
#define api_blocking(s)            cuStreamCreate(s, 0)
#define api_destroy(s)             cuStreamDestroy(s)
#define api_synchronize(s)         cuStreamSynchronize(s)
#define api_synchronize_all()      cuCtxSynchronize()
#define api_query(s)               cuStreamQuery(s)
#define api_event(e)               cuEventCreate(e, 2)
#define api_record(e, s)           cuEventRecord(e, s)
#define api_wait(s, e)             cuStreamWaitEvent(s, e, 0)
#define api_event_synchronize(e)   cuEventSynchronize(e)
#define api_capture(s)             cuStreamBeginCapture(s, 2)
#define api_end_capture(s, g)      cuStreamEndCapture(s, g)
#define api_instantiate(x, g)      cuGraphInstantiateWithFlags(x, g, 0)
#define api_graph(x, s)            cuGraphLaunch(x, s)
#define api_host(s, fn, arg)       cuLaunchHostFunc(s, fn, arg)
#define api_copy_back(to, from, n) cuMemcpyDtoH(to, (U)(uintptr_t)(from), n)
#define api_free(p)                cuMemFree((U)(uintptr_t)(p))
#define STREAM_CASES
#include "../stream/cases.h"

static void created_streams(void)
{
    uint32_t *log = new_log();
    P s[3];

    OK(cuStreamCreate(&s[0], 1));
    OK(cuStreamCreateWithPriority(&s[1], 1, -1));
    OK(cuStreamCreate(&s[2], 0));
    in_turn(s, 3, log);
}

static void events(void)
{
    uint32_t *log = new_log();
    P a, b;

    behind_an_event(&a, &b, log);
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

static void host_functions(void)
{
    P s;

    OK(cuStreamCreate(&s, 1));
    printf("host functions: %d\n", host_functions_on(s));
    OK(cuStreamDestroy(s));
}

/* Streams and contexts end with work pending; storage comes back under the same handles. */
static void lives(void)
{
    uint32_t *log = new_log();
    P ctx, s, mod, kept = g_work;

    end_early(log);
    for (int i = 0; i < 3; i++) {
        uint32_t *inner;

        OK(cuCtxCreate(&ctx, 0, g_devices - 1));
        OK(cuModuleLoadData(&mod, k_ptx)); /* a function belongs to its context */
        OK(cuModuleGetFunction(&g_work, mod, "work"));
        inner = new_log();
        OK(cuStreamCreate(&s, 1));
        for (int k = 0; k < 10; k++)
            work(s, 100, inner, 5);
        work(NULL, 10, inner, 6);
        OK(cuCtxDestroy(ctx));
        OK(cuCtxSetCurrent(g_ctx));
        g_work = kept;
    }
    if (g_devices > 1) {
        OK(cuDevicePrimaryCtxRetain(&ctx, 1));
        OK(cuCtxSetCurrent(ctx));
        OK(cuModuleLoadData(&mod, k_ptx));
        OK(cuModuleGetFunction(&g_work, mod, "work"));
        OK(cuStreamCreate(&s, 1));
        work(s, 100, new_log(), 5);
        OK(cuDevicePrimaryCtxReset(1));
        OK(cuCtxSetCurrent(g_ctx));
        g_work = kept;
    }
    work(NULL, 10, log, 2);
    OK(cuCtxSynchronize());
    printf("lives: done\n");
}

/* A stream that stands still until it is told to go on: what is asked meanwhile has one answer only. */
struct still {
    P stream;
    U word;
};

static struct still hold(unsigned flags)
{
    struct still h;

    OK(cuStreamCreate(&h.stream, flags));
    OK(cuMemAlloc(&h.word, 4));
    OK(cuMemsetD32Async(h.word, 0, 1, h.stream));
    OK(cuStreamSynchronize(h.stream));
    OK(cuStreamWaitValue32(h.stream, h.word, 1, 0));
    return h;
}

static void go_on(struct still *h)
{
    P s;

    OK(cuStreamCreate(&s, 1));
    OK(cuMemsetD32Async(h->word, 1, 1, s));
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy(s));
}

static void drop(struct still *h)
{
    OK(cuStreamSynchronize(h->stream));
    OK(cuStreamDestroy(h->stream));
    OK(cuMemFree(h->word));
}

/* A moment in which a stream that is free to run does run. Only for what must not happen meanwhile. */
static void moment(void)
{
    nanosleep(&(struct timespec){0, 30000000}, NULL);
}

static void answers(void)
{
    struct still h = hold(1);
    P other, never, before, after;

    OK(cuStreamCreate(&other, 1));
    OK(cuEventCreate(&never, 2));
    OK(cuEventCreate(&before, 2));
    OK(cuEventCreate(&after, 2));
    printf("never recorded: query %d, synchronise %d, wait %d\n", cuEventQuery(never), cuEventSynchronize(never),
           cuStreamWaitEvent(other, never, 0));
    OK(cuEventRecord(before, other));
    OK(cuEventRecord(after, h.stream));
    OK(cuStreamSynchronize(other));
    printf("standing: stream %d, event on it %d, event elsewhere %d, other stream %d\n", cuStreamQuery(h.stream),
           cuEventQuery(after), cuEventQuery(before), cuStreamQuery(other));
    OK(cuStreamWaitEvent(other, after, 0));
    work(other, 10, NULL, 0);
    OK(cuEventRecord(before, other));
    moment();
    printf("waits for the event: stream %d, event %d\n", cuStreamQuery(other), cuEventQuery(before));
    OK(cuEventRecord(after, NULL)); /* recorded anew: who waits already waits for the old record */
    OK(cuEventSynchronize(after));
    printf("recorded anew: event %d, who waited for the old one %d\n", cuEventQuery(after), cuStreamQuery(other));
    go_on(&h);
    OK(cuStreamSynchronize(other));
    OK(cuStreamSynchronize(h.stream));
    printf("gone on: stream %d, event %d, other %d\n", cuStreamQuery(h.stream), cuEventQuery(before),
           cuStreamQuery(other));
    OK(cuStreamDestroy(other));
    drop(&h);
}

/* Which streams stand still with one that does. */
static void what_waits_for_what(void)
{
    static const char *const names[] = {"non-blocking", "blocking", "null"};
    P blocking, free_stream;
    U p;

    OK(cuStreamCreate(&blocking, 0));
    OK(cuStreamCreate(&free_stream, 1));
    OK(cuMemAlloc(&p, 4));
    for (unsigned i = 0; i < 3; i++) {
        struct still h = hold(i == 0);
        P at = h.stream;

        if (i == 2) { /* the null stream waits for the blocking one that stands */
            work(NULL, 10, NULL, 0);
            at = NULL;
        }
        work(free_stream, 10, NULL, 0);
        OK(cuStreamSynchronize(free_stream));
        if (i > 0) {
            if (i == 1)
                work(NULL, 10, NULL, 0);
            work(blocking, 10, NULL, 0);
            work((P)2, 10, NULL, 0);
        }
        moment();
        printf("%s stands: itself %d, null %d, blocking %d, per thread %d, non-blocking %d\n", names[i],
               cuStreamQuery(at), cuStreamQuery(NULL), cuStreamQuery(blocking), cuStreamQuery((P)2),
               cuStreamQuery(free_stream));
        go_on(&h);
        OK(cuCtxSynchronize());
        printf("%s gone on: null %d, blocking %d, per thread %d\n", names[i], cuStreamQuery(NULL),
               cuStreamQuery(blocking), cuStreamQuery((P)2));
        drop(&h);
    }
    OK(cuStreamDestroy(blocking));
    OK(cuStreamDestroy(free_stream));
    OK(cuMemFree(p));
}

static void captures(void)
{
    P s, other, blocking, e, graph, exec;
    uint32_t *log = new_log();
    int status, begun, again, null, r[4];

    OK(cuStreamCreate(&s, 1));
    OK(cuStreamCreate(&other, 1));
    OK(cuStreamCreate(&blocking, 0));
    OK(cuEventCreate(&e, 2));
    OK(cuStreamIsCapturing(s, &status));
    printf("capture: status %d", status);
    null = cuStreamBeginCapture(NULL, 2);
    begun = cuStreamBeginCapture(s, 2);
    again = cuStreamBeginCapture(s, 2);
    OK(cuStreamIsCapturing(s, &status));
    printf(", of null %d, begun %d, again %d, status %d", null, begun, again, status);
    work(s, 10, log, 1);
    OK(cuEventRecord(e, s));
    r[0] = cuEventQuery(e);
    OK(cuStreamIsCapturing(s, &status));
    r[1] = cuStreamEndCapture(s, &graph);
    printf(", query of its event %d, then status %d, end %d\n", r[0], status, r[1]);

    OK(cuStreamBeginCapture(s, 2));
    work(s, 10, log, 2);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(other, e, 0));
    work(other, 10, log, 3);
    OK(cuStreamIsCapturing(other, &status));
    r[0] = cuStreamEndCapture(other, &graph);
    r[1] = cuStreamEndCapture(s, &graph);
    OK(cuStreamIsCapturing(s, &r[2]));
    OK(cuStreamIsCapturing(other, &r[3]));
    printf("joined: status %d, end there %d, end with it unjoined %d, then %d %d\n", status, r[0], r[1], r[2], r[3]);

    OK(cuStreamBeginCapture(blocking, 2));
    r[0] = cuStreamIsCapturing(NULL, &status);
    printf("blocking captures: null asked %d", r[0]);
    work(s, 10, log, 4);
    work(blocking, 10, log, 5);
    OK(cuStreamEndCapture(blocking, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuStreamSynchronize(s));
    OK(cuGraphLaunch(exec, blocking));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(exec, blocking));
    work(NULL, 10, log, 6);
    OK(cuStreamSynchronize(NULL));
    printf("\n");
    show("captured", log);
    OK(cuStreamDestroy(s));
    OK(cuStreamDestroy(other));
    OK(cuStreamDestroy(blocking));
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
    OK(cuDeviceGetCount(&g_devices));
    OK(cuDeviceGet(&dev, 0));
    OK(cuDevicePrimaryCtxRetain(&g_ctx, dev));
    OK(cuCtxSetCurrent(g_ctx));
    OK(cuModuleLoadData(&mod, k_ptx));
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
    answers();
    what_waits_for_what();
    captures();
    errors();
    OK(cuDevicePrimaryCtxRelease(dev));
    printf("end\n");
    return 0;
}
