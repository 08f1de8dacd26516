/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as programs find and call them, a row each: asked for by name and version, in both kinds of default stream, the
 * shim gives a function of its own; a call is counted, comes in its stream's order, waits while the stream is suspended,
 * and within a capture is only captured. What no file of the fake driver implements does nothing there, and succeeds. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "queue.h"
#include "xqueue/interface.h"

typedef void *P;
typedef uint64_t U;

static uint64_t g_from[64], g_to[64];
static P g_at[1] = {g_to}, g_of[1] = {g_from};
static size_t g_size[1] = {64}, g_first[1];
static int g_attr[16];

#define DEV(p) ((U)(uintptr_t)(p))

/* CASE(name, version since which cuGetProcAddress gives this form, types, arguments): s is the stream, the rest is not
 * used by the device but for 64 bytes of g_from and g_to. */
#define CASES                                                                                     \
    CASE(cuMemcpyAsync, 4000, (U, U, size_t, P), (DEV(g_to), DEV(g_from), 64, s))                 \
    CASE(cuMemsetD32Async, 3020, (U, unsigned, size_t, P), (DEV(g_to), 1, 16, s))                 \
    CASE(cuMemPrefetchAsync, 8000, (U, size_t, int, P), (DEV(g_to), 64, 0, s))                    \
    CASE(cuMemcpyWithAttributesAsync, 13020, (U, U, size_t, P, P),                                \
         (DEV(g_to), DEV(g_from), 64, g_attr, s))                                                 \
    CASE(cuMemcpy3DWithAttributesAsync, 13020, (P, U, P), (g_attr, 0, s))                         \
    CASE(cuFabricCpyBatchAsync, 13050, (size_t, P, U, P), (1, g_attr, 0, s))                      \
    CASE(cuMemcpyBatchAsync, 13000, (P, P, P, size_t, P, P, size_t, P),                           \
         (g_at, g_of, g_size, 1, g_attr, g_first, 1, s))

static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*GetFunction)(P *, P, const char *), (*Begin)(P, int), (*End)(P, P *);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*Address)(const char *, void **, int, U, int *);
static P g_ctx, g_work;

struct found {
    int (*call)(void *fn, P s);
    void *fn;
    P s;
    volatile bool back;
};

#define CASE(name, version, types, args)                                                          \
    static int call_##name(void *fn, P s)                                                         \
    {                                                                                             \
        int(*real) types;                                                                         \
        memcpy(&real, &fn, sizeof(fn));                                                           \
        return real args;                                                                         \
    }
CASES
#undef CASE

static void work(P s, uint32_t *log, uint32_t tag)
{
    uint64_t ns = 1000000;
    void *params[] = {&ns, &log, &tag};

    TRUE(Launch(g_work, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
}

static void *call_suspended(void *arg)
{
    struct found *f = arg;

    TRUE(SetCurrent(g_ctx) == 0 && f->call(f->fn, f->s) == 0);
    f->back = true;
    return NULL;
}

static void counted_in_order(const struct found *f)
{
    uint32_t log[8] = {0};
    uint64_t before;

    work(f->s, log, 1);
    before = xsched_priv_scheduled_count();
    TRUE(f->call(f->fn, f->s) == 0);
    TRUE(xsched_priv_scheduled_count() == before + 1);
    work(f->s, log, 2);
    TRUE(Sync(f->s) == 0);
    TRUE(log[0] == 2 && log[1] == 1 && log[2] == 2);
}

static void waits_while_suspended(struct found *f)
{
    XQueueHandle xq = queue_of(f->s);
    pthread_t t;

    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
    TRUE(pthread_create(&t, NULL, call_suspended, f) == 0);
    usleep(4000);
    TRUE(!f->back);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    TRUE(pthread_join(t, NULL) == 0 && f->back);
    TRUE(Sync(f->s) == 0);
}

static void is_captured(const struct found *f)
{
    uint64_t before = xsched_priv_scheduled_count();
    P graph;

    TRUE(Begin(f->s, 2) == 0);
    TRUE(f->call(f->fn, f->s) == 0);
    TRUE(End(f->s, &graph) == 0 && graph);
    TRUE(xsched_priv_scheduled_count() == before);
}

static void one(const char *name, int version, int (*call)(void *fn, P s))
{
    for (U flags = 1; flags <= 2; flags++) { /* the null stream of all threads, each thread's own */
        int since = flags == 2 && version < 7000 ? 7000 : version; /* the latter came with CUDA 7 */
        struct found f = {call, NULL, NULL, false};
        void *older = NULL;
        Dl_info of;

        printf("%s %d %s\n", name, since, flags == 1 ? "legacy" : "per thread");
        TRUE(Address(name, &f.fn, since, flags, NULL) == 0 && f.fn);
        TRUE(dladdr(f.fn, &of) && strstr(of.dli_fname, "libshimcuda"));
        TRUE(Address(name, &older, since - 10, flags, NULL) == 0 && older != f.fn);
        TRUE(StreamCreate(&f.s, 1) == 0);
        counted_in_order(&f);
        waits_while_suspended(&f);
        is_captured(&f);
    }
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);

    TRUE(lib != NULL);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize");
    get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &Address, "cuGetProcAddress_v2");
    TRUE(Init(0) == 0 && GetFunction(&g_work, NULL, "work") == 0);
    TRUE(Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
#define CASE(name, version, types, args) one(#name, version, call_##name);
    CASES
#undef CASE
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
