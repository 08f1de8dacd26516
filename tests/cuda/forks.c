/* SPDX-License-Identifier: Apache-2.0 */
/* A program with threads forks, and its children call the driver: forks COUNT. What they get is the driver's business; that
 * they come back is ours, whatever the threads that are not there were doing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

#include "../stream/check.h"
#include "ways/ways.h"

#define THREADS  3
#define PATIENCE 20               /* s; a child needs a few us */

static int (*CtxCreate)(ways_p *, unsigned, int), (*CtxDestroy)(ways_p), (*StreamDestroy)(ways_p), (*Free)(uint64_t);
static int (*Alloc)(uint64_t *, size_t), (*CtxSynchronize)(void), (*StreamQuery)(ways_p), (*Release)(int);
static int (*EventCreate)(ways_p *, unsigned), (*EventRecord)(ways_p, ways_p), (*EventSynchronize)(ways_p);
static int (*WaitEvent)(ways_p, ways_p, unsigned), (*SetCurrent)(ways_p);
static struct ways_driver g_d;
static ways_p g_f, g_ctx, g_stream, g_event;
static uint64_t g_memory;
static _Atomic bool g_end;
static _Atomic int g_turns;

static void launch(ways_p s)
{
    static _Thread_local uint32_t log[4096];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 100;
    void *params[] = {&ns, &to, &tag};

    log[0] = 0;
    (void)g_d.cuLaunchKernel(g_f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

/* A context and what it has. */
static void once(void)
{
    uint64_t memory;
    ways_p ctx, s;

    if (CtxCreate(&ctx, 0, 0) != 0)
        return;
    if (g_d.cuStreamCreate(&s, 1) == 0) {
        launch(s);
        launch(NULL);
        (void)StreamDestroy(s);
    }
    if (Alloc(&memory, 64) == 0)
        (void)Free(memory);
    (void)CtxDestroy(ctx);
}

static void *churn(void *unused)
{
    (void)unused;
    while (!atomic_load(&g_end)) {
        once();
        (void)SetCurrent(g_ctx);
        launch(g_stream);
        (void)EventRecord(g_event, g_stream);
        if (atomic_fetch_add(&g_turns, 1) % 8 == 0)
            (void)CtxSynchronize();
    }
    return NULL;
}

/* What a child may try on what was its parent's, at the latest as it ends. */
static void try_the_parents(void)
{
    (void)SetCurrent(g_ctx);
    launch(g_stream);
    (void)EventRecord(g_event, g_stream);
    (void)WaitEvent(g_stream, g_event, 0);
    (void)StreamQuery(g_stream);
    (void)g_d.cuStreamSynchronize(g_stream);
    (void)EventSynchronize(g_event);
    (void)CtxSynchronize();
    (void)Free(g_memory);
    (void)StreamDestroy(g_stream);
    (void)CtxDestroy(g_ctx);
    (void)Release(0);
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int count = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t t[THREADS];

    TRUE(lib && ways_bind(&g_d, lib, dlsym));
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &StreamDestroy, "cuStreamDestroy_v2");
    get(lib, &Alloc, "cuMemAlloc_v2"), get(lib, &Free, "cuMemFree_v2"), get(lib, &CtxSynchronize, "cuCtxSynchronize");
    get(lib, &StreamQuery, "cuStreamQuery"), get(lib, &Release, "cuDevicePrimaryCtxRelease_v2");
    get(lib, &EventCreate, "cuEventCreate"), get(lib, &EventRecord, "cuEventRecord");
    get(lib, &EventSynchronize, "cuEventSynchronize"), get(lib, &WaitEvent, "cuStreamWaitEvent");
    get(lib, &SetCurrent, "cuCtxSetCurrent");
    TRUE(g_d.cuInit(0) == 0 && g_d.cuModuleGetFunction(&g_f, NULL, "work") == 0);
    TRUE(g_d.cuDevicePrimaryCtxRetain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(g_d.cuStreamCreate(&g_stream, 1) == 0 && EventCreate(&g_event, 0) == 0 && Alloc(&g_memory, 64) == 0);
    for (int i = 0; i < THREADS; i++)
        TRUE(pthread_create(&t[i], NULL, churn, NULL) == 0);
    for (int i = 0; i < count; i++) {
        int status = 0;
        pid_t pid = fork();

        TRUE(pid >= 0);
        if (pid == 0) {
            alarm(PATIENCE);
            once();
            try_the_parents();
            once();
            i % 2 ? exit(0) : _exit(0);
        }
        TRUE(waitpid(pid, &status, 0) == pid);
        if (status != 0)
            printf("child %d: status %x\n", i, (unsigned)status);
        TRUE(status == 0);
    }
    atomic_store(&g_end, true);
    for (int i = 0; i < THREADS; i++)
        TRUE(pthread_join(t[i], NULL) == 0);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
