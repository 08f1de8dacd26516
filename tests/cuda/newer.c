/* SPDX-License-Identifier: Apache-2.0 */
/* Under a driver that is newer than the table (the fake has such functions from version 99000 on): a version that the table
 * does not know is the driver's own and never an older one of ours. newer versions|captures|disabled */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "../fakes/cuda/fake_cuda.h"
#include "queue.h"

typedef void *P;

#define MANY 2000

static int (*Init)(unsigned), (*Retain)(P *, int), (*SetCurrent)(P), (*StreamCreate)(P *, unsigned), (*Sync)(P);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*GetFunction)(P *, P, const char *), (*End)(P, struct CUgraph_st **);
static int (*Address)(const char *, void **, int, uint64_t, int *), (*Asked)(void);
static P g_work, g_stream;

static bool is_shims(void *fn)
{
    Dl_info of;

    return fn && dladdr(fn, &of) && strstr(of.dli_fname, "libshimcuda");
}

static void *address(const char *name, int version)
{
    void *fn = NULL;

    TRUE(Address(name, &fn, version, 1, NULL) == 0);
    return fn;
}

static P stream(void)
{
    P s;

    TRUE(StreamCreate(&s, 1) == 0);
    return s;
}

static void work(P s)
{
    static uint32_t log[2 * MANY];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 1;
    void *params[] = {&ns, &to, &tag};

    TRUE(Launch(g_work, 1, 1, 1, 1, 1, 1, 0, s, params, NULL) == 0);
}

static XResult set_level2(P s)
{
    work(s);
    return XQueueSetPreemptLevel(queue_of(s), kPreemptLevelDeactivate);
}

/* How often that stands in what was written to stderr since. */
static int said(int file, const char *what)
{
    static char text[1 << 16];
    long n = pread(file, text, sizeof(text) - 1, 0);
    int found = 0;

    text[n > 0 ? n : 0] = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        found++;
    return found;
}

static void versions(int log)
{
    void *fn = address("cuLaunchKernel", 99000);
    int (*launch)(int, P, P, P *);
    uint32_t done[2] = {0}, *to = done, tag = 7;
    uint64_t ns = 1;
    void *params[] = {&ns, &to, &tag};

    TRUE(fn && !is_shims(fn));
    memcpy(&launch, &fn, sizeof(fn));
    TRUE(launch(99, g_work, g_stream, params) == 0 && Sync(g_stream) == 0 && done[0] == 1 && done[1] == 7);
    TRUE(is_shims(address("cuLaunchKernel", 98000)) && is_shims(address("cuLaunchKernel", 13000)));
    TRUE(set_level2(g_stream) == kXSchedErrorNotSupported && set_level2(stream()) == kXSchedErrorNotSupported);
    TRUE(address("cuLaunchKernel", 99010) == fn && address("cuStreamBeginAnew", 99000));
    TRUE(said(log, "WARN") == 1 && said(log, "cuLaunchKernel of version 99000 is newer than XSched") == 1);
}

/* Who has such a function and does not use it has no question at each launch; who uses it captures what is its own. */
static void captures(int log)
{
    void *fn = address("cuStreamBeginAnew", 99000);
    struct CUgraph_st *graph;
    int (*begin)(int, P), n = 0, before = Asked();

    TRUE(fn && !is_shims(fn));
    TRUE(said(log, "WARN") == 1 && set_level2(g_stream) == kXSchedErrorNotSupported);
    for (int i = 0; i < MANY; i++)
        work(g_stream);
    TRUE(Sync(g_stream) == 0);
    printf("%d questions in %d launches\n", Asked() - before, MANY);
    TRUE(Asked() - before < MANY - MANY / 8); /* at marks alone, of which a slow machine has more */
    memcpy(&begin, &fn, sizeof(fn));
    TRUE(begin(99, g_stream) == 0);
    for (int i = 0; i < MANY; i++)
        work(g_stream);
    TRUE(End(g_stream, &graph) == 0 && graph);
    for (const struct fake_op *op = graph->head; op; op = op->next, n++)
        TRUE(op->kind == FAKE_WORK);
    TRUE(n == MANY);
    work(g_stream);
    TRUE(Sync(g_stream) == 0);
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    char path[] = "/tmp/xsched-newer-XXXXXX";
    int log = mkstemp(path);
    P ctx;

    TRUE(argc == 2 && lib && fake && log >= 0 && unlink(path) == 0);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &StreamCreate, "cuStreamCreate"), get(lib, &GetFunction, "cuModuleGetFunction");
    get(lib, &Launch, "cuLaunchKernel"), get(lib, &Sync, "cuStreamSynchronize"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &Address, "cuGetProcAddress_v2"), get(fake, &Asked, "fake_cuda_capturing_asked");
    TRUE(Init(0) == 0 && Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0 && GetFunction(&g_work, NULL, "work") == 0);
    g_stream = stream();
    TRUE(is_shims(address("cuLaunchKernel", 13000)));
    if (strcmp(argv[1], "disabled") == 0) {
        dup2(log, 2);
        TRUE(address("cuLaunchKernel", 99000) && said(log, "XSCHED") == 0);
        printf("done\n");
        return 0;
    }
    TRUE(set_level2(g_stream) == kXSchedSuccess);
    dup2(log, 2);
    /* what is newer and no command, and what this driver has not either, change nothing */
    TRUE(address("cuCtxGetFlags", 99000) && !is_shims(address("cuCtxGetFlags", 99000)));
    TRUE(!address("cuStreamBeginNothing", 99000) && address("cuNewerThanUs", 12000));
    TRUE(said(log, "WARN") == 0 && set_level2(g_stream) == kXSchedSuccess);
    if (strcmp(argv[1], "versions") == 0)
        versions(log);
    else
        captures(log);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
