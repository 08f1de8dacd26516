/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that came with CUDA 13.1 to 13.3 and are no plain commands (those: commands.c), as programs find and call them.
 * No real driver has been seen that has them. */
#include <stdbool.h>
#include <stdint.h>

#include "../fakes/cuda/fake_cuda.h"
#include "queue.h"
#include "xqueue/interface.h"

typedef void *P;

#define MANY 2000

static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*GetFunction)(P *, P, const char *), (*Begin)(P, int), (*End)(P, struct CUgraph_st **);
static int (*Address)(const char *, void **, int, uint64_t, int *), (*Asked)(void), (*SyncMode)(void);
static const struct CUgraph_st *(*Recorded)(void);
static P g_work, g_stream, g_other;

/* The shim's function; the driver has had it since. */
static void address(void *fn, const char *name, int since)
{
    void *p = NULL, *older = NULL;
    Dl_info of;

    TRUE(Address(name, &p, since, 1, NULL) == 0 && p);
    TRUE(dladdr(p, &of) && strstr(of.dli_fname, "libshimcuda"));
    TRUE(Address(name, &older, since - 10, 1, NULL) == 0 && older != p);
    memcpy(fn, &p, sizeof(p));
}

static void work(P s)
{
    static uint32_t log[16 * MANY];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 1;
    void *params[] = {&ns, &to, &tag};

    TRUE(Launch(g_work, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
}

static uint64_t counted(P s, int n)
{
    uint64_t before = xsched_priv_scheduled_count();

    for (int i = 0; i < n; i++)
        work(s);
    return xsched_priv_scheduled_count() - before;
}

static int works(const struct CUgraph_st *g)
{
    int n = 0;

    for (const struct fake_op *op = g->head; op; op = op->next, n++)
        TRUE(op->kind == FAKE_WORK); /* nothing of ours */
    return n;
}

static void add(void *arg)
{
    *(int *)arg += 1;
}

/* The fourth parameter arrives. It is counted, and waits for nothing. */
static void host_function(void)
{
    int (*host)(P, void (*)(void *), void *, unsigned), ran = 0;
    uint64_t before = xsched_priv_scheduled_count();
    XQueueHandle xq = queue_of(g_stream);

    address(&host, "cuLaunchHostFunc", 13010);
    TRUE(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess);
    TRUE(host(g_stream, add, &ran, 77) == 0 && SyncMode() == 77);
    TRUE(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    TRUE(Sync(g_stream) == 0 && ran == 1 && xsched_priv_scheduled_count() == before + 1);
}

static void recapture(void)
{
    int (*again)(P, int, P, void *, void *);
    struct CUgraph_st *first, *second;

    address(&again, "cuStreamBeginRecaptureToGraph", 13030);
    TRUE(Begin(g_stream, 2) == 0 && counted(g_stream, 3) == 0 && End(g_stream, &first) == 0);
    TRUE(again(g_stream, 2, NULL, NULL, NULL) != 0 && counted(g_stream, 3) == 3);
    TRUE(again(g_stream, 2, first, NULL, NULL) == 0 && counted(g_stream, MANY) == 0);
    TRUE(End(g_stream, &second) == 0 && works(second) == MANY && counted(g_stream, 3) == 3);
}

/* Nothing is counted anywhere meanwhile, since no call tells which streams take part. */
static void into_a_command_list(void)
{
    int (*begin)(P, void *), (*end)(P), before;
    struct CUgraph_st *graph;

    address(&begin, "cuStreamBeginCaptureToCig", 13010);
    address(&end, "cuStreamEndCaptureToCig", 13010);
    TRUE(begin(g_stream, NULL) != 0 && counted(g_stream, 3) == 3);
    TRUE(begin(g_stream, &graph) == 0);
    TRUE(counted(g_stream, MANY) == 0 && counted(g_other, MANY) == 0);
    TRUE(Begin(g_other, 2) == 0 && counted(g_other, 3) == 0 && End(g_other, &graph) == 0 && works(graph) == 3);
    TRUE(end(g_stream) == 0 && works(Recorded()) == MANY);
    TRUE(end(g_stream) != 0);
    before = Asked();
    TRUE(counted(g_stream, MANY) == MANY && counted(g_other, MANY) == MANY && Asked() == before);
    TRUE(Sync(g_stream) == 0 && Sync(g_other) == 0);
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    P ctx;

    TRUE(lib && fake);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize");
    get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &Address, "cuGetProcAddress_v2"), get(fake, &Asked, "fake_cuda_capturing_asked");
    get(fake, &SyncMode, "fake_cuda_sync_mode"), get(fake, &Recorded, "fake_cuda_recorded");
    TRUE(Init(0) == 0 && Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0 && GetFunction(&g_work, NULL, "work") == 0);
    TRUE(StreamCreate(&g_stream, 1) == 0 && StreamCreate(&g_other, 1) == 0);
    TRUE(counted(g_stream, 3) == 3 && counted(g_other, 3) == 3);
    host_function();
    recapture();
    into_a_command_list();
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
