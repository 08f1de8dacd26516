/* SPDX-License-Identifier: Apache-2.0 */
/* How long a call takes, and how long it blocks another thread, while the work of another stream stands behind a closed
 * gate of level 2. Each case gets a module of its own, of which nothing is loaded yet (CUDA_MODULE_LOADING=LAZY).
 *
 *   lazy direct IMAGE [CASE...]   without the shim: the stream waits for a word in memory
 *   lazy shim IMAGE [CASE...]     under the shim, level 2, XSCHED_TUNE=gate-us=0: the XQueue is suspended
 *   lazy shim-keep IMAGE [CASE...]  the same, and nothing is unloaded: no handle comes again
 *   lazy order IMAGE              without the shim: what in a legacy stream orders two blocking streams
 *
 * IMAGE is a cubin or PTX of lazy.cu. The gate opens after 300 ms by itself. One line a case:
 * name, mode, the call's answer, in ms the call, and the longest launch, query and synchronisation of a stream by another
 * thread between the begin of the call and the opening of the gate, and whether the work behind the gate stood until then. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPEN_MS 300

static CUcontext g_ctx;
static CUdevice g_dev;
static CUstream g_gated, g_other, g_mine;
static CUfunction g_nop, g_spin, g_add;
static char *g_image;
static bool g_shim, g_keep;
static volatile uint64_t *g_word;
static CUdeviceptr g_word_dev;

#define CHECK(call)                                                                        \
    do {                                                                                   \
        int r_ = (int)(call);                                                              \
        if (r_) {                                                                          \
            fprintf(stderr, "lazy: line %d: %s: %d\n", __LINE__, #call, r_);               \
            fflush(stdout);                                                                \
            _exit(3);                                                                      \
        }                                                                                  \
    } while (0)

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static CUresult launch(CUfunction f, CUstream stream, uint64_t value)
{
    unsigned n = 3;
    void *params[] = {&value, &n};

    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* ---- the gate ---- */

static int (*queue_get)(uint64_t *, CUstream), (*xqueue_get)(uint64_t *, uint64_t), (*suspend)(uint64_t, int64_t),
    (*resume)(uint64_t, int64_t);
static uint64_t g_xqueue;
static volatile bool g_open;
static uint64_t g_added;           /* by what stands behind the gate, when it was closed */
static bool g_stood;               /* until it opened */

static void *symbol(const char *name)
{
    void *p = dlsym(RTLD_DEFAULT, name);

    if (!p) {
        fprintf(stderr, "lazy: no %s: is the shim preloaded?\n", name);
        exit(3);
    }
    return p;
}

static void find_queue(void)
{
    uint64_t hwq = 0;
    void *p;

    p = symbol("CudaQueueGet"), memcpy(&queue_get, &p, sizeof(p));
    p = symbol("XQueueGet"), memcpy(&xqueue_get, &p, sizeof(p));
    p = symbol("XQueueSuspend"), memcpy(&suspend, &p, sizeof(p));
    p = symbol("XQueueResume"), memcpy(&resume, &p, sizeof(p));
    CHECK(queue_get(&hwq, g_gated));
    CHECK(xqueue_get(&g_xqueue, hwq));
    CHECK(suspend(g_xqueue, 0)); /* from here on it may be suspended */
    CHECK(resume(g_xqueue, 0));
    for (int i = 0; i < 20; i++) { /* until its kernels are timed */
        CHECK(launch(g_nop, g_gated, 0));
        CHECK(launch(g_add, g_gated, g_word_dev + 128));
        CHECK(launch(g_spin, g_gated, 30000000));
        CHECK(cuStreamSynchronize(g_gated));
    }
}

/* @param legacy  put the gate into the legacy stream as well (without the shim) */
static void close_gate(bool legacy)
{
    g_open = false;
    g_added = g_word[16];
    if (g_shim) {
        CHECK(launch(g_spin, g_gated, 30000000));
        for (int i = 0; i < 5; i++)
            CHECK(launch(g_nop, g_gated, 0));
        CHECK(launch(g_add, g_gated, g_word_dev + 128));
        CHECK(suspend(g_xqueue, 0));
        usleep(50000);
        return;
    }
    *g_word = 0;
    CHECK(cuStreamWaitValue64(g_gated, g_word_dev, 1, 0));
    for (int i = 0; i < 10; i++)
        CHECK(launch(g_nop, g_gated, 0));
    CHECK(launch(g_add, g_gated, g_word_dev + 128));
    if (legacy)
        CHECK(cuStreamWaitValue64(NULL, g_word_dev, 1, 0));
    usleep(5000);
}

static void *open_gate(void *unused)
{
    (void)unused;
    usleep(OPEN_MS * 1000);
    g_stood = g_word[16] == g_added;
    g_open = true;
    if (g_shim)
        CHECK(resume(g_xqueue, 0));
    else
        *g_word = 1;
    return NULL;
}

/* ---- the other thread ---- */

static volatile bool g_begun, g_stop;
static double g_longest[3];

static void *elsewhere(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(g_ctx));
    while (!g_stop) {
        for (int what = 0; what < 3; what++) {
            bool counts = !g_open;
            double t = now_ms();

            if (what == 0)
                CHECK(launch(g_nop, g_other, 0));
            else if (what == 1)
                cuStreamQuery(g_other);
            else
                CHECK(cuStreamSynchronize(g_other));
            t = now_ms() - t;
            if (counts && g_begun && t > g_longest[what])
                g_longest[what] = t;
        }
        usleep(200);
    }
    return NULL;
}

#include "lazy_cases.h"

static void clean(const struct one *c)
{
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;

    cuStreamIsCapturing(g_mine, &capturing);
    if (capturing != CU_STREAM_CAPTURE_STATUS_NONE)
        cuStreamEndCapture(g_mine, &g_graph);
    c->clean();
    if (g_exec)
        cuGraphExecDestroy(g_exec);
    if (g_graph)
        cuGraphDestroy(g_graph);
    if (g_mod && !g_keep)
        cuModuleUnload(g_mod);
    if (g_lib && !g_keep)
        cuLibraryUnload(g_lib);
    g_exec = NULL, g_graph = NULL, g_mod = NULL, g_lib = NULL;
}

static void one(const struct one *c)
{
    pthread_t other, opener;
    CUresult r = c->setup();
    double took = 0;

    if (!r && c->twice)
        r = c->call();
    if (r) {
        printf("%-36s setup answered %d\n", c->name, r);
        fflush(stdout);
        clean(c);
        return;
    }
    memset(g_longest, 0, sizeof(g_longest));
    g_begun = g_stop = false;
    CHECK(pthread_create(&other, NULL, elsewhere, NULL));
    close_gate(c->legacy);
    CHECK(pthread_create(&opener, NULL, open_gate, NULL));
    g_begun = true;
    took = now_ms();
    r = c->call();
    took = now_ms() - took;
    pthread_join(opener, NULL);
    g_stop = true;
    pthread_join(other, NULL);
    CHECK(cuStreamSynchronize(g_gated));
    clean(c);
    CHECK(cuCtxSynchronize());
    printf("%-36s %-6s %4d %9.3f %9.3f %9.3f %9.3f %-5s%s\n", c->name, g_shim ? "shim" : "direct", r, took, g_longest[0],
           g_longest[1], g_longest[2], g_stood ? "stood" : "gone",
           took > 200 || g_longest[0] > 10 || g_longest[1] > 10 || g_longest[2] > 10 ? "  <-" : "");
    fflush(stdout);
}

/* ---- what in a legacy stream orders blocking streams ---- */

static void order_one(const char *name, int what)
{
    CUstream a, b;
    CUevent e;
    double t;

    CHECK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    CHECK(cuCtxSynchronize());
    t = now_ms();
    CHECK(launch(g_spin, a, 100000000));
    if (what == 1)
        CHECK(cuStreamWriteValue64(NULL, g_word_dev + 64, 1, 0));
    if (what == 2)
        CHECK(cuEventRecord(e, NULL));
    if (what == 3)
        CHECK(launch(g_nop, NULL, 0));
    if (what == 4)
        cuStreamQuery(NULL);
    if (what == 5)
        CHECK(cuStreamWaitValue64(NULL, g_word_dev + 64, 0, 0));
    if (what == 6)
        CHECK(cuEventRecord(e, b));
    if (what == 7)
        CHECK(cuStreamWaitEvent(NULL, e, 0));
    CHECK(launch(g_nop, b, 0));
    CHECK(cuStreamSynchronize(b));
    printf("order %-16s the second blocking stream was complete after %.3f ms (the first takes 100)\n", name, now_ms() - t);
    fflush(stdout);
    CHECK(cuCtxSynchronize());
    cuEventDestroy(e);
    CHECK(cuStreamDestroy(a));
    CHECK(cuStreamDestroy(b));
}

/* A number that tells of the end of 50 ms in the legacy stream, put there, or into a blocking stream of its own, after a
 * blocking stream was given 100 ms that follow them; another one comes afterwards. */
static void mark_one(const char *name, bool own)
{
    CUstream a, b, mark;
    double t, marked, second;
    uint64_t number = g_word[20] + 1;

    CHECK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    t = now_ms();
    CHECK(cuStreamCreate(&mark, CU_STREAM_DEFAULT));
    printf("order %-16s a stream took %.3f ms to create\n", name, now_ms() - t);
    CHECK(launch(g_nop, mark, 0));
    CHECK(cuCtxSynchronize());
    t = now_ms();
    CHECK(launch(g_spin, NULL, 50000000));
    CHECK(launch(g_spin, a, 100000000));
    CHECK(cuStreamWriteValue64(own ? mark : NULL, g_word_dev + 160, number, 0));
    CHECK(launch(g_nop, b, 0));
    while (g_word[20] != number && now_ms() - t < 1000)
        usleep(100);
    marked = now_ms() - t;
    CHECK(cuStreamSynchronize(b));
    second = now_ms() - t;
    printf("order %-16s the number came after %.3f ms (50 are right), the other blocking stream was complete after %.3f (50)\n",
           name, marked, second);
    fflush(stdout);
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamDestroy(a));
    CHECK(cuStreamDestroy(b));
    CHECK(cuStreamDestroy(mark));
}

/* What it costs to ask what memory an address is of, and the calls before which one might. */
static void ask(void)
{
    const struct {
        const char *name;
        CUdeviceptr at;
    } of[] = {{"device", g_mem}, {"managed", g_managed}, {"pinned", (CUdeviceptr)(uintptr_t)g_host},
              {"pageable", (CUdeviceptr)(uintptr_t)g_pageable}};
    enum { TIMES = 2000 };
    double t;

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        CUpointer_attribute what[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
        unsigned type = 0, managed = 0;
        void *data[] = {&type, &managed};
        CUresult r = 0;

        t = now_ms();
        for (int k = 0; k < TIMES; k++)
            r = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, of[i].at);
        printf("ask   %-16s one %8.1f ns, answer %d, type %u", of[i].name, (now_ms() - t) * 1e6 / TIMES, r, type);
        t = now_ms();
        for (int k = 0; k < TIMES; k++)
            r = cuPointerGetAttributes(2, what, data, of[i].at);
        printf("; both %8.1f ns, answer %d, type %u managed %u\n", (now_ms() - t) * 1e6 / TIMES, r, type, managed);
    }
    t = now_ms();
    for (int k = 0; k < TIMES; k++)
        cuMemsetD8(g_mem, 1, 4096);
    printf("ask   %-16s %8.1f ns\n", "cuMemsetD8", (now_ms() - t) * 1e6 / TIMES);
    cuCtxSynchronize();
    t = now_ms();
    for (int k = 0; k < TIMES; k++)
        cuMemcpyDtoD(g_mem, g_mem + (1 << 20), 4096);
    printf("ask   %-16s %8.1f ns\n", "cuMemcpyDtoD", (now_ms() - t) * 1e6 / TIMES);
    fflush(stdout);
}

static int order(void)
{
    static const char *const names[] = {"nothing", "write_value", "event_record", "kernel", "query", "wait_value",
                                        "event_in_second", "wait_event"};

    for (int i = 0; i < 8; i++)
        order_one(names[i], i);
    mark_one("mark_in_legacy", false);
    mark_one("mark_in_own", true);
    ask();
    return 0;
}

static void start(const char *file)
{
    CUmodule module;
    void *page;
    FILE *f = fopen(file, "rb");
    long size;

    if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) ||
        !(g_image = calloc(1, (size_t)size + 1)) || fread(g_image, 1, (size_t)size, f) != (size_t)size) {
        fprintf(stderr, "lazy: cannot read %s\n", file);
        exit(3);
    }
    fclose(f);
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&g_dev, 0));
    CHECK(cuDevicePrimaryCtxRetain(&g_ctx, g_dev));
    CHECK(cuCtxSetCurrent(g_ctx));
    CHECK(cuModuleLoadData(&module, g_image));
    CHECK(cuModuleGetFunction(&g_nop, module, "nop"));
    CHECK(cuModuleGetFunction(&g_spin, module, "spin"));
    CHECK(cuModuleGetFunction(&g_add, module, "add"));
    CHECK(cuStreamCreate(&g_gated, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&g_other, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&g_mine, CU_STREAM_NON_BLOCKING));
    CHECK(posix_memalign(&page, 4096, 4096));
    memset(page, 0, 4096);
    CHECK(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&g_word_dev, page, 0));
    g_word = page;
    CHECK(cuMemAlloc(&g_mem, 4 << 20));
    if (cuMemAllocManaged(&g_managed, 1 << 20, CU_MEM_ATTACH_GLOBAL) || cuMemAllocHost(&g_host, 65536))
        fprintf(stderr, "lazy: no managed or pinned memory: its cases fail\n");
    for (int i = 0; i < 20; i++) {
        CHECK(launch(g_nop, g_other, 0));
        CHECK(launch(g_nop, g_gated, 0));
        CHECK(launch(g_nop, NULL, 0));
        CHECK(launch(g_spin, g_gated, 1000));
        CHECK(launch(g_spin, g_mine, 1000));
        CHECK(launch(g_add, g_gated, g_word_dev + 128));
        CHECK(cuCtxSynchronize());
    }
}

static bool wanted(int n, char **names, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "peer"))
        return serve_ipc();
    if (argc < 3) {
        fprintf(stderr, "lazy direct|shim|order IMAGE [CASE...]\n");
        return 2;
    }
    g_keep = !strcmp(argv[1], "shim-keep");
    g_shim = g_keep || !strcmp(argv[1], "shim");
    start_peer();
    start(argv[2]);
    if (!strcmp(argv[1], "order"))
        return order();
    if (g_shim)
        find_queue();
    for (size_t i = 0; i < sizeof(k_cases) / sizeof(k_cases[0]); i++)
        if (wanted(argc - 3, argv + 3, k_cases[i].name) && !(g_shim && k_cases[i].legacy))
            one(&k_cases[i]);
    printf("complete\n");
    fflush(stdout);
    _exit(0);
}
