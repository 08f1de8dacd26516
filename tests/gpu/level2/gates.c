/* SPDX-License-Identifier: Apache-2.0 */
/* Gates on a GPU, in one process. Its kernels are PTX text, and it finds the driver as programs do, so
 * it also runs on the fake driver.
 *
 *   gates calls   (without the shim) which calls wait for a closed gate in another stream, and which
 *                 make other threads of the context wait meanwhile
 *   gates fill    (without the shim) how many launches a driver takes behind a closed gate
 *   gates hold    (under the shim, XSCHED_POLICY=HPF, level 2) 20,000 launches of a less important
 *                 stream while a more important one is busy; a third one is timed meanwhile
 *
 * Prints JSON lines; ends with 1 when something is wrong. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char k_ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .u64 kept;\n"
    ".visible .entry nop() { ret; }\n"
    ".visible .entry add(.param .u64 at) {\n"
    "  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [at];\n  cvta.to.global.u64 %rd1, %rd1;\n  mov.u64 %rd2, 1;\n"
    "  red.global.add.u64 [%rd1], %rd2;\n  ret;\n}\n"
    ".visible .entry spin(.param .u64 ns) {\n"
    "  .reg .pred %p<2>;\n  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [ns];\n  mov.u64 %rd2, %globaltimer;\n"
    "AGAIN:\n  mov.u64 %rd3, %globaltimer;\n  sub.u64 %rd4, %rd3, %rd2;\n  setp.lt.u64 %p1, %rd4, %rd1;\n"
    "  @%p1 bra AGAIN;\n  ret;\n}\n";

typedef void *P;
typedef uint64_t U;
#define FUNCTIONS(X)                                                                              \
    X(cuInit, (unsigned))                                                                         \
    X(cuDeviceGet, (int *, int))                                                                  \
    X(cuDevicePrimaryCtxRetain, (P *, int))                                                       \
    X(cuCtxSetCurrent, (P))                                                                       \
    X(cuCtxSynchronize, (void))                                                                   \
    X(cuModuleLoadData, (P *, const void *))                                                      \
    X(cuModuleUnload, (P))                                                                        \
    X(cuModuleGetGlobal_v2, (U *, size_t *, P, const char *))                                     \
    X(cuLibraryLoadData, (P *, const void *, P, P, unsigned, P, P, unsigned))                     \
    X(cuLibraryUnload, (P))                                                                       \
    X(cuLibraryGetModule, (P *, P))                                                               \
    X(cuLibraryGetGlobal, (U *, size_t *, P, const char *))                                       \
    X(cuLibraryGetKernel, (P *, P, const char *))                                                 \
    X(cuKernelGetFunction, (P *, P))                                                              \
    X(cuFuncLoad, (P))                                                                            \
    X(cuModuleGetFunction, (P *, P, const char *))                                                \
    X(cuStreamCreateWithPriority, (P *, unsigned, int))                                           \
    X(cuStreamDestroy_v2, (P))                                                                    \
    X(cuStreamSynchronize, (P))                                                                   \
    X(cuStreamQuery, (P))                                                                         \
    X(cuStreamWaitValue64_v2, (P, U, U, unsigned))                                                \
    X(cuEventCreate, (P *, unsigned))                                                             \
    X(cuEventDestroy_v2, (P))                                                                     \
    X(cuEventRecord, (P, P))                                                                      \
    X(cuMemAlloc_v2, (U *, size_t))                                                               \
    X(cuMemFree_v2, (U))                                                                          \
    X(cuMemAllocHost_v2, (P *, size_t))                                                           \
    X(cuMemFreeHost, (P))                                                                         \
    X(cuMemHostRegister_v2, (P, size_t, unsigned))                                                \
    X(cuMemHostUnregister, (P))                                                                   \
    X(cuMemHostGetDevicePointer_v2, (U *, P, unsigned))                                           \
    X(cuMemcpyDtoH_v2, (P, U, size_t))                                                            \
    X(cuMemcpyHtoD_v2, (U, const void *, size_t))                                                 \
    X(cuMemcpyDtoHAsync_v2, (P, U, size_t, P))                                                    \
    X(cuMemsetD32_v2, (U, unsigned, size_t))                                                      \
    X(cuMemAllocAsync, (U *, size_t, P))                                                          \
    X(cuMemFreeAsync, (U, P))                                                                     \
    X(cuLaunchKernel, (P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *))
#define X(name, params) static int (*name) params;
FUNCTIONS(X)
#undef X

static P g_ctx, g_mod_first, g_nop, g_add, g_spin;
static const char *g_variant = "native";

#define CHECK(call)                                                       \
    do {                                                                  \
        int r_ = (call);                                                  \
        if (r_) {                                                         \
            fprintf(stderr, "gates: %s: %d\n", #call, r_);                \
            _exit(3);                                                     \
        }                                                                 \
    } while (0)

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void result(const char *workload, const char *side, const char *metric, double value, const char *unit, int n)
{
    printf("{\"workload\":\"level2 %s\",\"variant\":\"%s\",\"side\":\"%s\",\"metric\":\"%s\",\"value\":%.4f,"
           "\"unit\":\"%s\",\"n\":%d}\n", workload, g_variant, side, metric, value, unit, n);
    fflush(stdout);
}

static void start(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p;
    int dev;

    if (!lib) {
        fprintf(stderr, "gates: %s\n", dlerror());
        exit(3);
    }
#define X(name, params)                                \
    p = dlsym(lib, #name);                             \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&dev, 0));
    CHECK(cuDevicePrimaryCtxRetain(&g_ctx, dev));
    CHECK(cuCtxSetCurrent(g_ctx));
    CHECK(cuModuleLoadData(&g_mod_first, k_ptx));
    CHECK(cuModuleGetFunction(&g_nop, g_mod_first, "nop"));
    CHECK(cuModuleGetFunction(&g_add, g_mod_first, "add"));
    CHECK(cuModuleGetFunction(&g_spin, g_mod_first, "spin"));
}

static int launch(P f, P stream, U value)
{
    P params[] = {&value};

    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* ---- without the shim ---- */

static P g_gated, g_other;
static volatile U *g_word;
static U g_word_dev;
static volatile int g_done, g_count;

static void make_gate(void)
{
    P page;

    CHECK(cuStreamCreateWithPriority(&g_gated, 1, 0));
    CHECK(cuStreamCreateWithPriority(&g_other, 1, 0));
    CHECK(posix_memalign(&page, 4096, 4096));
    memset(page, 0, 4096);
    CHECK(cuMemHostRegister_v2(page, 4096, 2));
    CHECK(cuMemHostGetDevicePointer_v2(&g_word_dev, page, 0));
    g_word = page;
    CHECK(launch(g_nop, g_gated, 0));
    CHECK(launch(g_nop, g_other, 0));
    CHECK(cuCtxSynchronize());
}

static void close_gate(void)
{
    *g_word = 0;
    CHECK(cuStreamWaitValue64_v2(g_gated, g_word_dev, 1, 0));
    for (int i = 0; i < 10; i++)
        CHECK(launch(g_nop, g_gated, 0));
}

static void *launch_elsewhere(void *arg)
{
    (void)arg;
    CHECK(cuCtxSetCurrent(g_ctx));
    CHECK(launch(g_nop, g_other, 0));
    CHECK(cuStreamSynchronize(g_other));
    g_count = 1;
    return NULL;
}

static U g_mem, g_mem2;
static P g_event, g_host, g_stream, g_mod, g_lib, g_lib_mod, g_kernel, g_function;
static size_t g_size;
static char g_buffer[4096] __attribute__((aligned(4096)));

static const struct call {
    const char *name;
    int (*fn)(void);
} k_calls[];

#define CALL(name, expression)             \
    static int call_##name(void)           \
    {                                      \
        return expression;                 \
    }
CALL(malloc, cuMemAlloc_v2(&g_mem, 1 << 20))
CALL(malloc_large, cuMemAlloc_v2(&g_mem2, 512u << 20))
CALL(free, cuMemFree_v2(g_mem))
CALL(free_large, cuMemFree_v2(g_mem2))
CALL(host_alloc, cuMemAllocHost_v2(&g_host, 1 << 20))
CALL(host_free, cuMemFreeHost(g_host))
CALL(host_register, cuMemHostRegister_v2(g_buffer, 4096, 2))
CALL(host_unregister, cuMemHostUnregister(g_buffer))
CALL(module_load, cuModuleLoadData(&g_mod, k_ptx))
CALL(module_global, cuModuleGetGlobal_v2(&g_mem2, &g_size, g_mod_first, "kept"))
CALL(module_unload, cuModuleUnload(g_mod))
CALL(library_load, cuLibraryLoadData(&g_lib, k_ptx, NULL, NULL, 0, NULL, NULL, 0))
CALL(library_kernel, cuLibraryGetKernel(&g_kernel, g_lib, "nop"))
CALL(kernel_function, cuKernelGetFunction(&g_function, g_kernel))
CALL(function_load, cuFuncLoad(g_function))
CALL(library_module, cuLibraryGetModule(&g_lib_mod, g_lib))
CALL(library_global, cuLibraryGetGlobal(&g_mem2, &g_size, g_lib, "kept"))
CALL(library_unload, cuLibraryUnload(g_lib))
CALL(stream_create, cuStreamCreateWithPriority(&g_stream, 1, 0))
CALL(stream_destroy, cuStreamDestroy_v2(g_stream))
CALL(event_create, cuEventCreate(&g_event, 2))
CALL(event_record, cuEventRecord(g_event, g_gated))
CALL(event_destroy, cuEventDestroy_v2(g_event))
CALL(copy_to_host, cuMemcpyDtoH_v2(g_buffer, g_word_dev + 64, 8))
CALL(copy_to_device, cuMemcpyHtoD_v2(g_word_dev + 64, g_buffer, 8))
CALL(copy_async_gated, cuMemcpyDtoHAsync_v2(g_buffer, g_word_dev + 64, 8, g_gated))
CALL(memset, cuMemsetD32_v2(g_word_dev + 64, 0, 4))
CALL(alloc_async_gated, cuMemAllocAsync(&g_mem, 1 << 20, g_gated))
CALL(free_async_gated, cuMemFreeAsync(g_mem, g_gated))
CALL(launch_null_stream, launch(g_nop, NULL, 0))
CALL(stream_query, (cuStreamQuery(g_gated), 0))
CALL(sync_null_stream, cuStreamSynchronize(NULL))
CALL(sync_gated, cuStreamSynchronize(g_gated))
CALL(ctx_synchronize, cuCtxSynchronize())

static const struct call k_calls[] = {
#define ROW(name) {#name, call_##name},
#define AGAIN(name) {#name "_again", call_##name},
    ROW(malloc) ROW(free) ROW(malloc_large) ROW(free_large) ROW(host_alloc) ROW(host_free) ROW(host_register)
    ROW(host_unregister) ROW(module_load) ROW(module_global) ROW(module_unload)
    ROW(library_load) ROW(library_module) ROW(library_kernel) ROW(kernel_function) ROW(function_load) ROW(library_global)
    AGAIN(library_module) AGAIN(kernel_function) AGAIN(function_load) AGAIN(library_global) ROW(library_unload)
    ROW(stream_create) ROW(stream_destroy) ROW(event_create)
    ROW(event_record) ROW(event_destroy) ROW(copy_to_host) ROW(copy_to_device) ROW(copy_async_gated) ROW(memset)
    ROW(alloc_async_gated) ROW(free_async_gated) ROW(launch_null_stream) ROW(stream_query) ROW(sync_null_stream)
    ROW(sync_gated) ROW(ctx_synchronize) {NULL, NULL}};

static int g_result;

static void *do_call(void *arg)
{
    const struct call *c = arg;

    CHECK(cuCtxSetCurrent(g_ctx));
    g_result = c->fn();
    g_done = 1;
    return NULL;
}

static bool comes_true(const volatile int *what, int ms)
{
    for (int i = 0; i < ms && !*what; i++)
        usleep(1000);
    return *what != 0;
}

static int calls(void)
{
    make_gate();
    for (const struct call *c = k_calls; c->name; c++) {
        pthread_t t, other;
        bool waits, blocks;

        close_gate();
        usleep(2000);
        g_done = g_count = g_result = 0;
        CHECK(pthread_create(&t, NULL, do_call, (void *)(uintptr_t)c));
        waits = !comes_true(&g_done, 60);
        CHECK(pthread_create(&other, NULL, launch_elsewhere, NULL));
        blocks = !comes_true(&g_count, 100);
        *g_word = 1;
        pthread_join(t, NULL);
        pthread_join(other, NULL);
        CHECK(cuCtxSynchronize());
        if (g_result)
            fprintf(stderr, "gates: %s answered %d\n", c->name, g_result);
        result("calls", c->name, "waits", waits, "1", 1);
        result("calls", c->name, "blocks_others", blocks, "1", 1);
    }
    return 0;
}

#define MANY    20000
#define HOLD_NS 1500000000ull

static void *fill_gated(void *stream)
{
    CHECK(cuCtxSetCurrent(g_ctx));
    for (int i = 0; i < MANY; i++) {
        CHECK(launch(g_nop, stream, 0));
        g_done = i + 1;
    }
    return NULL;
}

static int fill(void)
{
    pthread_t t, other;
    int last = -1;
    bool blocks;

    make_gate();
    close_gate();
    g_done = g_count = 0;
    CHECK(pthread_create(&t, NULL, fill_gated, g_gated));
    while (last != g_done) {
        last = g_done;
        usleep(100000);
    }
    CHECK(pthread_create(&other, NULL, launch_elsewhere, NULL));
    blocks = !comes_true(&g_count, 500);
    *g_word = 1;
    pthread_join(t, NULL);
    pthread_join(other, NULL);
    CHECK(cuCtxSynchronize());
    result("fill", "", "launches_taken", last + 10, "1", 1);
    result("fill", "", "blocks_others", blocks, "1", 1);
    return 0;
}

/* ---- under the shim ---- */

static U g_counter;

static void *fill_held(void *stream)
{
    CHECK(cuCtxSetCurrent(g_ctx));
    for (int i = 0; i < MANY; i++) {
        CHECK(launch(g_add, stream, g_counter));
        g_done = i + 1;
    }
    return NULL;
}

/* The urgent stream stays busy, with one kernel whose length is known, while the other two are used. */
static int hold(void)
{
    U zero[2] = {0, 0}, counted[2] = {0, 0};
    double began, worst = 0, t;
    P low, busy, third;
    int others = 0, held;
    pthread_t filler;

    CHECK(cuMemAlloc_v2(&g_counter, 16));
    CHECK(cuMemcpyHtoD_v2(g_counter, zero, 16));
    CHECK(cuStreamCreateWithPriority(&low, 1, 0));
    CHECK(cuStreamCreateWithPriority(&busy, 1, -1));
    CHECK(cuStreamCreateWithPriority(&third, 1, -1));
    for (int i = 0; i < 30; i++) { /* so that all are known, and timed */
        CHECK(launch(g_add, low, g_counter));
        CHECK(launch(g_add, third, g_counter + 8));
        CHECK(launch(g_spin, busy, 1000));
        CHECK(cuCtxSynchronize());
    }
    for (int i = 0; i < 3; i++) {
        U ns = HOLD_NS;
        P params[] = {&ns};

        CHECK(cuLaunchKernel(g_spin, 2, 1, 1, 1, 1, 1, 0, busy, params, NULL)); /* another shape, another estimate */
        if (i < 2)
            CHECK(cuStreamSynchronize(busy));
    }
    usleep(50000);
    CHECK(pthread_create(&filler, NULL, fill_held, low));
    usleep(200000);
    began = now_us();
    while (now_us() - began < HOLD_NS / 1e3 - 500e3) {
        t = now_us();
        CHECK(launch(g_add, third, g_counter + 8));
        CHECK(cuStreamSynchronize(third));
        t = now_us() - t;
        worst = t > worst ? t : worst;
        others++;
    }
    held = g_done;
    CHECK(cuStreamSynchronize(busy));
    pthread_join(filler, NULL);
    CHECK(cuStreamSynchronize(low));
    CHECK(cuMemcpyDtoH_v2(counted, g_counter, 16));
    result("hold", "low", "launches_while_held", held, "1", 1);
    result("hold", "third", "launches", others, "1", 1);
    result("hold", "third", "launch_sync_max", worst, "us", others);
    result("hold", "", "wrong", counted[0] != MANY + 30 || counted[1] != (U)others + 30, "1", 1);
    return counted[0] != MANY + 30 || counted[1] != (U)others + 30 || held == MANY;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (argc > 2)
        g_variant = argv[2];
    start();
    if (!strcmp(what, "calls"))
        return calls();
    if (!strcmp(what, "fill"))
        return fill();
    if (!strcmp(what, "hold"))
        return hold();
    fprintf(stderr, "gates calls|fill|hold [VARIANT]\n");
    return 2;
}
