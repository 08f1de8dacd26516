/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of XSCHED_MEM_LIMIT: memory FREE_MIB TOTAL_MIB dlsym|entry, where the two are what the limit
 * leaves of the fake's 512 free of 1024 MiB. Prints what is wrong. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mappings.h"

#define MIB     ((size_t)1 << 20)
#define OOM     2
#define THREADS 8
#define ROUNDS  100

typedef void *P;
typedef uint64_t D;

static int (*init)(unsigned), (*retain)(P *, int), (*release_primary)(int), (*reset)(int), (*set)(P);
static int (*create_context)(P *, unsigned, int), (*destroy_context)(P);
static int (*info)(size_t *, size_t *), (*total)(size_t *, int);
static int (*alloc)(D *, size_t), (*release)(D), (*managed)(D *, size_t, unsigned);
static int (*pitched)(D *, size_t *, size_t, size_t, unsigned);
static int (*alloc_async)(D *, size_t, P), (*free_async)(D, P), (*from_pool)(D *, size_t, P, P);
static int (*array)(P *, const void *), (*array_3d)(P *, const void *), (*array_free)(P);
static int (*mipmap)(P *, const void *, unsigned), (*mipmap_free)(P);
static int (*create)(uint64_t *, size_t, const void *, uint64_t), (*release_handle)(uint64_t);
static int (*reserve)(D *, size_t, size_t, D, uint64_t), (*map)(D, size_t, size_t, uint64_t, uint64_t), (*unmap)(D, size_t);
static int (*retain_handle)(uint64_t *, P);
static int (*stream)(P *, unsigned), (*synchronize)(void);
static int (*graph_create)(P *, unsigned), (*instantiate)(P *, P, uint64_t), (*graph_launch)(P, P), (*exec_destroy)(P);
static int (*alloc_node)(P *, P, const P *, size_t, void *), (*free_node)(P *, P, const P *, size_t, D), (*trim)(int);
static int (*begin_capture)(P, int), (*end_capture)(P, P *);

static size_t g_free;
static int g_wrong;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            g_wrong++;                                                                                       \
        }                                                                                                    \
    } while (0)

static size_t used(void)
{
    size_t f = 0, t;

    CHECK(info(&f, &t) == 0);
    return g_free - f;
}

static void pointers(P s)
{
    D a = 0, b = 0, c = 0;
    size_t pitch;

    CHECK(alloc(&a, g_free - 10 * MIB) == 0);
    CHECK(used() == g_free - 10 * MIB);
    CHECK(alloc(&b, 10 * MIB + 1) == OOM);
    CHECK(managed(&b, 11 * MIB, 1) == OOM);
    CHECK(alloc_async(&b, 11 * MIB, s) == OOM);
    CHECK(from_pool(&b, 11 * MIB, NULL, s) == OOM);
    CHECK(pitched(&b, &pitch, 1024, 11 * 1024, 4) == OOM);
    CHECK(pitched(&b, &pitch, 100, 100 * 1024, 4) == OOM); /* fits only before the rows are padded */
    CHECK(b == 0 || used() == g_free - 10 * MIB);
    CHECK(alloc(&b, SIZE_MAX) == OOM);
    CHECK(alloc(&b, 10 * MIB) == 0);
    CHECK(used() == g_free);
    CHECK(alloc(&c, 1) == OOM);
    CHECK(release(b) == 0);
    CHECK(used() == g_free - 10 * MIB);
    CHECK(managed(&b, 4 * MIB, 1) == 0);
    CHECK(pitched(&c, &pitch, 1000, 1024, 4) == 0); /* 1024 a row */
    CHECK(used() == g_free - 5 * MIB);
    CHECK(release(b) == 0 && release(c) == 0);
    CHECK(alloc_async(&b, 3 * MIB, s) == 0 && from_pool(&c, 2 * MIB, NULL, s) == 0);
    CHECK(used() == g_free - 5 * MIB);
    CHECK(free_async(b, s) == 0 && free_async(c, s) == 0);
    CHECK(used() == g_free - 10 * MIB);
    CHECK(release(a) == 0);
    CHECK(used() == 0);
    CHECK(synchronize() == 0);
}

static void arrays(void)
{
    struct {
        size_t width, height;
        uint32_t format, channels;
    } flat = {1024, 1024, 0x20, 4}; /* floats: 16 MiB */
    struct {
        size_t width, height, depth;
        uint32_t format, channels, flags;
    } deep = {1024, 1024, 4, 0x01, 1, 0}; /* bytes: 4 MiB */
    P a, b, c;
    D rest;

    CHECK(array(&a, &flat) == 0);
    CHECK(used() == 16 * MIB);
    CHECK(array_3d(&b, &deep) == 0);
    CHECK(used() == 20 * MIB);
    CHECK(mipmap(&c, &deep, 3) == 0); /* and halves: 4 + 0.5 + 0.0625 */
    CHECK(used() == 20 * MIB + 4 * MIB + MIB / 2 + MIB / 16);
    CHECK(alloc(&rest, g_free - used()) == 0);
    CHECK(array(&a + 0, &flat) == OOM);
    CHECK(array_free(a) == 0 && array_free(b) == 0 && mipmap_free(c) == 0 && release(rest) == 0);
    CHECK(used() == 0);
}

static void handles(void)
{
    int here[8] = {1, 0, 1, 0}, host[8] = {1, 0, 2, 0};
    uint64_t h, again, other;
    D at;

    CHECK(reserve(&at, 8 * MIB, 0, 0, 0) == 0);
    CHECK(create(&h, 2 * g_free, host, 0) == 0); /* the host's memory is not the device's */
    CHECK(used() == 0);
    CHECK(create(&h, 2 * g_free, here, 0) == OOM);
    CHECK(create(&h, 8 * MIB, here, 0) == 0 && create(&other, 4 * MIB, here, 0) == 0);
    CHECK(used() == 12 * MIB);
    CHECK(map(at, 4 * MIB, 0, h, 0) == 0 && map(at + 4 * MIB, 4 * MIB, 4 * MIB, h, 0) == 0);
    CHECK(release_handle(h) == 0 && release_handle(other) == 0);
    CHECK(used() == 8 * MIB); /* mapped still */
    CHECK(retain_handle(&again, (P)(uintptr_t)at) == 0 && again == h);
    CHECK(unmap(at, 8 * MIB) == 0);
    CHECK(used() == 8 * MIB); /* held by the second handle */
    CHECK(release_handle(again) == 0);
    CHECK(used() == 0);
}

/* @return a graph that allocates in each of its nodes, and frees it again if told so */
static P graph_of(size_t nodes, size_t bytes, int frees)
{
    P g, node;

    CHECK(graph_create(&g, 0) == 0);
    for (size_t i = 0; i < nodes; i++) {
        struct {
            uint32_t type, handles, where;
            int device;
            uint64_t pool[9];
            void *access;
            size_t access_count, bytes;
            D at;
        } p = {.type = 1, .where = 1, .bytes = bytes};

        CHECK(alloc_node(&node, g, NULL, 0, &p) == 0);
        CHECK(!frees || free_node(&node, g, NULL, 0, p.at) == 0);
    }
    return g;
}

static void contexts(P primary)
{
    P ctx, exec;
    D a;
    size_t t;

    CHECK(create_context(&ctx, 0, 0) == 0);
    CHECK(alloc(&a, 7 * MIB) == 0);
    CHECK(instantiate(&exec, graph_of(1, 8 * MIB, 0), 0) == 0);
    CHECK(used() == 15 * MIB);
    CHECK(destroy_context(ctx) == 0); /* with what it holds */
    CHECK(set(primary) == 0);
    CHECK(used() == 0);
    /* the other device has a limit of its own */
    CHECK(alloc(&a, g_free) == 0);
    CHECK(create_context(&ctx, 0, 1) == 0);
    CHECK(used() == 0);
    CHECK(alloc(&a, g_free) == 0);
    CHECK(total(&t, 1) == 0);
    CHECK(destroy_context(ctx) == 0);
    CHECK(set(primary) == 0);
    CHECK(used() == g_free);
    CHECK(reset(0) == 0);
    CHECK(retain(&ctx, 0) == 0 && set(ctx) == 0);
    CHECK(used() == 0);
}

static void graphs(P s)
{
    P large, small, again, exec, other;
    D a;

    CHECK(instantiate(&exec, graph_of(1, g_free + 1, 0), 0) == OOM);
    CHECK(instantiate(&exec, graph_of(1, g_free + 1, 1), 0) == OOM);
    CHECK(instantiate(&exec, graph_of(4, g_free / 3, 0), 0) == OOM);
    CHECK(used() == 0);
    CHECK(instantiate(&exec, graph_of(100, g_free / 2, 1), 0) == 0); /* one after another */
    CHECK(used() == g_free / 2);
    CHECK(exec_destroy(exec) == 0);
    CHECK(used() == 0);
    large = graph_of(2, g_free / 4, 0), small = graph_of(1, g_free / 4, 0);
    CHECK(instantiate(&exec, large, 0) == 0 && instantiate(&other, small, 0) == 0);
    CHECK(used() == g_free / 4 * 2); /* they share it */
    CHECK(alloc(&a, g_free / 4 * 2 + MIB) == OOM && alloc(&a, g_free / 4) == 0);
    CHECK(instantiate(&again, graph_of(4, g_free / 4, 0), 0) == OOM);
    CHECK(graph_launch(exec, s) == 0 && synchronize() == 0);
    CHECK(exec_destroy(exec) == 0 && exec_destroy(other) == 0);
    CHECK(used() == g_free / 4 + g_free / 4 * 2); /* the driver keeps it */
    CHECK(trim(0) == 0);
    CHECK(used() == g_free / 4);
    CHECK(release(a) == 0);
    CHECK(used() == 0);
}

/* What a capture allocates is the graph's. */
static void captured(P s)
{
    P g, exec;
    D a, b;

    for (int i = 0; i < 50; i++) {
        CHECK(begin_capture(s, 2) == 0 && alloc_async(&a, g_free / 4, s) == 0 && end_capture(s, &g) == 0);
        CHECK(used() == 0);
    }
    CHECK(instantiate(&exec, g, 0) == 0);
    CHECK(used() == g_free / 4);
    CHECK(exec_destroy(exec) == 0);
    CHECK(alloc_async(&b, g_free / 4, s) == 0);
    CHECK(begin_capture(s, 2) == 0 && free_async(b, s) == 0 && end_capture(s, &g) == 0);
    CHECK(used() == g_free / 4); /* nothing is free before the graph runs */
    CHECK(free_async(b, s) == 0);
    CHECK(used() == 0);
}

static P g_ctx;

/* What another thread gets while a call that frees is under way, under the name of what was freed, is not freed with it. */
static void (**g_on_free)(void);
static uint64_t *g_next_handle, g_handle, g_other_handle;
static D g_other_memory;

static void *get_another(void *none)
{
    int here[8] = {1, 0, 1, 0};

    (void)none;
    CHECK(set(g_ctx) == 0);
    if (g_handle) {
        *g_next_handle = g_handle;
        CHECK(create(&g_other_handle, 8 * MIB, here, 0) == 0 && g_other_handle == g_handle);
    } else {
        CHECK(alloc(&g_other_memory, 8 * MIB) == 0);
    }
    return NULL;
}

static void on_free(void)
{
    pthread_t t;

    *g_on_free = NULL;
    CHECK(pthread_create(&t, NULL, get_another, NULL) == 0);
    pthread_join(t, NULL);
}

static void reused(P primary)
{
    int here[8] = {1, 0, 1, 0};

    g_ctx = primary;
    CHECK(create(&g_handle, 4 * MIB, here, 0) == 0);
    *g_on_free = on_free;
    CHECK(release_handle(g_handle) == 0);
    CHECK(used() == 8 * MIB);
    CHECK(release_handle(g_other_handle) == 0);
    CHECK(used() == 0);
    g_handle = 0;
    CHECK(create_context(&g_ctx, 0, 0) == 0);
    CHECK(alloc(&g_other_memory, 4 * MIB) == 0);
    *g_on_free = on_free;
    CHECK(destroy_context(g_ctx) == 0);
    CHECK(set(primary) == 0);
    CHECK(used() == 8 * MIB);
    CHECK(release(g_other_memory) == 0);
    CHECK(used() == 0);
}

static void *churn(void *arg)
{
    (void)arg;
    CHECK(set(g_ctx) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        D a, b;
        int r = alloc(&a, g_free / 10);

        CHECK(r == 0 || r == OOM);
        if (r)
            continue;
        CHECK(used() <= g_free);
        if (alloc(&b, g_free / 10) == 0)
            CHECK(release(b) == 0);
        CHECK(release(a) == 0);
    }
    return NULL;
}

static void threads(P ctx)
{
    pthread_t t[THREADS];

    g_ctx = ctx;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, churn, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    CHECK(used() == 0);
}

/* What others are told of it: the page, once there is one. */
static void page_tells(size_t limit)
{
    struct xs_client_page *p = mappings_client_page();
    uint64_t before;
    D a;

    CHECK(!getenv("XSCHED_AUTO_XQUEUE") || p);
    if (!p)
        return;
    CHECK(atomic_load(&p->h.memory_limit) > 0 && atomic_load(&p->h.memory_limit) % limit == 0); /* of each device */
    before = atomic_load(&p->h.memory_used);
    CHECK(before < atomic_load(&p->h.memory_limit));
    CHECK(alloc(&a, 16 * MIB) == 0);
    CHECK(atomic_load(&p->h.memory_used) == before + 16 * MIB);
    CHECK(release(a) == 0);
    CHECK(atomic_load(&p->h.memory_used) == before);
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW), *p = NULL;
    int (*get)(const char *, void **, int, uint64_t, int *) = NULL;
    size_t f = 0, t = 0, want_total;
    P ctx, s;

    if (argc < 4 || !lib || !fake)
        return 64;
    g_free = strtoul(argv[1], NULL, 10) * MIB;
    want_total = strtoul(argv[2], NULL, 10) * MIB;
    p = dlsym(lib, "cuGetProcAddress_v2");
    memcpy(&get, &p, sizeof(p));
    if (argv[3][0] == 'd')
        get = NULL;
#define GET(fn, name, symbol)                                                                                \
    if (!get || get(name, &p, 12000, 0, NULL) != 0)                                                          \
        p = dlsym(lib, symbol);                                                                              \
    memcpy(&fn, &p, sizeof(p))
    g_on_free = dlsym(fake, "fake_cuda_on_free");
    g_next_handle = dlsym(fake, "fake_cuda_next_handle");
    GET(init, "cuInit", "cuInit");
    GET(retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain");
    GET(release_primary, "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2");
    GET(reset, "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2");
    GET(set, "cuCtxSetCurrent", "cuCtxSetCurrent");
    GET(create_context, "cuCtxCreate", "cuCtxCreate_v2");
    p = dlsym(lib, "cuCtxCreate_v2"); /* later versions have other parameters */
    memcpy(&create_context, &p, sizeof(p));
    GET(destroy_context, "cuCtxDestroy", "cuCtxDestroy_v2");
    GET(info, "cuMemGetInfo", "cuMemGetInfo_v2");
    GET(total, "cuDeviceTotalMem", "cuDeviceTotalMem_v2");
    GET(alloc, "cuMemAlloc", "cuMemAlloc_v2");
    GET(release, "cuMemFree", "cuMemFree_v2");
    GET(managed, "cuMemAllocManaged", "cuMemAllocManaged");
    GET(pitched, "cuMemAllocPitch", "cuMemAllocPitch_v2");
    GET(alloc_async, "cuMemAllocAsync", "cuMemAllocAsync");
    GET(free_async, "cuMemFreeAsync", "cuMemFreeAsync");
    GET(from_pool, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync");
    GET(array, "cuArrayCreate", "cuArrayCreate_v2");
    GET(array_3d, "cuArray3DCreate", "cuArray3DCreate_v2");
    GET(array_free, "cuArrayDestroy", "cuArrayDestroy");
    GET(mipmap, "cuMipmappedArrayCreate", "cuMipmappedArrayCreate");
    GET(mipmap_free, "cuMipmappedArrayDestroy", "cuMipmappedArrayDestroy");
    GET(create, "cuMemCreate", "cuMemCreate");
    GET(release_handle, "cuMemRelease", "cuMemRelease");
    GET(reserve, "cuMemAddressReserve", "cuMemAddressReserve");
    GET(map, "cuMemMap", "cuMemMap");
    GET(unmap, "cuMemUnmap", "cuMemUnmap");
    GET(retain_handle, "cuMemRetainAllocationHandle", "cuMemRetainAllocationHandle");
    GET(stream, "cuStreamCreate", "cuStreamCreate");
    GET(graph_create, "cuGraphCreate", "cuGraphCreate");
    GET(instantiate, "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags");
    GET(graph_launch, "cuGraphLaunch", "cuGraphLaunch");
    GET(exec_destroy, "cuGraphExecDestroy", "cuGraphExecDestroy");
    GET(alloc_node, "cuGraphAddMemAllocNode", "cuGraphAddMemAllocNode");
    GET(free_node, "cuGraphAddMemFreeNode", "cuGraphAddMemFreeNode");
    GET(trim, "cuDeviceGraphMemTrim", "cuDeviceGraphMemTrim");
    GET(begin_capture, "cuStreamBeginCapture", "cuStreamBeginCapture_v2");
    GET(end_capture, "cuStreamEndCapture", "cuStreamEndCapture");
    GET(synchronize, "cuCtxSynchronize", "cuCtxSynchronize");

    CHECK(init(0) == 0);
    CHECK(total(&t, 0) == 0 && t == want_total);
    CHECK(retain(&ctx, 0) == 0 && set(ctx) == 0 && stream(&s, 1) == 0);
    CHECK(info(&f, &t) == 0 && f == g_free && t == want_total);
    if (want_total < 1024 * MIB) { /* there is a limit */
        pointers(s);
        graphs(s);
        captured(s);
        arrays();
        handles();
        contexts(ctx);
        threads(ctx);
        reused(ctx);
        CHECK(set(ctx) == 0);
        page_tells(want_total);
    } else {
        D a;

        CHECK(!mappings_client_page() || atomic_load(&mappings_client_page()->h.memory_limit) == 0);
        CHECK(alloc(&a, 600 * MIB) == 0 && release(a) == 0);
    }
    return g_wrong ? 1 : 0;
}
