/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim whose kernels are to run on lanes wherever they may (XSCHED_TUNE=lanes=1), on a driver whose streams
 * run side by side: lanes [CASE]. CASE none: the driver has no lanes, and nothing else differs. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../stream/check.h"
#include "hal/cuda/hal.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*Release)(int), (*Reset)(int), (*State)(int, unsigned *, int *);
static int (*SetCurrent)(P), (*CtxCreate)(P *, unsigned, int), (*GetFunction)(P *, P, const char *);
static int (*Create)(P *, unsigned), (*Destroy)(P), (*Query)(P), (*Attach)(P, uint64_t, size_t, unsigned);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static int (*LaunchEx)(const struct xs_cu_launch_config *, P, P *, P *);
static int (*Begin)(P, int), (*End)(P, P *), (*Instantiate)(P *, P, uint64_t), (*LaunchGraph)(P, P);
static int (*Confined)(void), (*AskedAside)(void);
static void (*Fail)(int, int);
static P g_ctx, g_work, g_nop, g_barrier, g_meet;

static int work(P stream, unsigned blocks, uint64_t us, uint32_t *log, uint32_t tag)
{
    uint64_t ns = us * 1000;
    void *params[] = {&ns, &log, &tag};

    return Launch(g_work, blocks, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static int add(P kernel, P stream, unsigned blocks, void *at, uint32_t ranks)
{
    void *params[] = {&at, &ranks};

    return Launch(kernel, blocks, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

/* Not long: kernels that never end are what is looked for. */
static bool ends(P stream)
{
    for (int left = 3000; left; left--) {
        if (Query(stream) == 0)
            return true;
        usleep(1000);
    }
    return false;
}

/* Grids: on the lane (100 blocks, or more than fit the device), or on the device (130: a grid that may have a barrier). */
#define LANE  100u
#define LARGE 5000u
#define WHOLE 130u

/* @return whether a kernel that may be confined is. Lanes are made aside: it takes a while until there are some. */
static bool confines(P stream, int tries)
{
    for (int i = 0; i < tries; i++) {
        int before = Confined();

        TRUE(Launch(g_nop, LARGE, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) == 0);
        TRUE(ends(stream));
        if (Confined() > before)
            return true;
        usleep(1000);
    }
    return false;
}

/* Two kernels of one stream come one after the other, wherever each runs. */
static void in_order(P stream, unsigned first, unsigned second)
{
    static uint32_t log[64];

    log[0] = 0;
    TRUE(work(stream, first, 3000, log, 1) == 0);
    TRUE(work(stream, second, 0, log, 2) == 0);
    TRUE(ends(stream));
    TRUE(log[0] == 2 && log[1] == 1 && log[2] == 2);
}

static void test_order(P stream)
{
    static const unsigned grids[] = {LANE, WHOLE, LARGE};
    int before;

    TRUE(confines(stream, 4000));
    before = Confined();
    for (int round = 0; round < 3; round++) /* the first time that a kernel is seen it is not confined */
        for (int i = 0; i < 9; i++)
            in_order(stream, grids[i / 3], grids[i % 3]);
    TRUE(Confined() >= before + 17); /* of LANE only where no other stream had WHOLE */
}

/* The program gets its kernel, and its order, whichever of our calls fails. */
static void test_failures(P stream)
{
    for (int call = 1; call <= 2; call++) {
        Fail(call, 0);
        in_order(stream, WHOLE, LANE);
        Fail(call, 0);
        in_order(stream, LANE, WHOLE);
        Fail(0, call);
        in_order(stream, WHOLE, LANE);
        Fail(0, call);
        in_order(stream, LANE, WHOLE);
    }
    Fail(0, 0);
}

/* Blocks that wait for one another, of kernels that fit the device and not the lane. */
static void test_grid(P stream)
{
    uint64_t n = 0;

    for (unsigned blocks = 100; blocks <= 132; blocks += 8) {
        int before = Confined();

        for (int i = 0; i < 3; i++)
            TRUE(add(g_barrier, stream, blocks, &n, 0) == 0);
        TRUE(ends(stream));
        TRUE((Confined() > before) == (blocks <= 120));
    }
    TRUE(n == 15);
}

/* Kernels of two streams that wait for each other, and fit the device together. */
static void test_others(P a, P b)
{
    uint32_t met = 0;

    TRUE(confines(b, 4000));
    for (int i = 0; i < 3; i++) {
        TRUE(add(g_meet, a, 70, &met, 1) == 0 && ends(a));
        TRUE(add(g_meet, b, 60, &met, 1) == 0 && ends(b));
    }
    for (int i = 0; i < 10; i++) {
        met = 0;
        TRUE(add(g_meet, i % 2 ? b : a, i % 2 ? 60 : 70, &met, 2) == 0);
        TRUE(add(g_meet, i % 2 ? a : b, i % 2 ? 70 : 60, &met, 2) == 0);
        TRUE(ends(a) && ends(b));
    }
}

/* Launches with attributes that tie them to their stream, or that need all blocks at once. */
static void test_attributes(P stream)
{
    static const struct {
        int id;
        unsigned value;
        bool confined;
    } cases[] = {{XS_CU_LAUNCH_IGNORE, 1, true},       {XS_CU_LAUNCH_PRIORITY, 1, true}, {XS_CU_LAUNCH_COOPERATIVE, 1, false},
                 {XS_CU_LAUNCH_COOPERATIVE, 0, true},  {XS_CU_LAUNCH_PROGRAMMATIC, 1, false},
                 {XS_CU_LAUNCH_PROGRAMMATIC, 0, true}, {7, 1, false}, {12, 1, false}, {13, 1, false}, {99, 1, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct xs_cu_launch_attribute attr = {.id = cases[i].id, .value = {cases[i].value}};
        struct xs_cu_launch_config config = {.grid = {LANE, 1, 1}, .block = {32, 1, 1}, .stream = (CUstream)stream,
                                             .attrs = &attr, .attrs_count = 1};
        int before = Confined();

        for (int k = 0; k < 3; k++)
            TRUE(LaunchEx(&config, g_nop, NULL, NULL) == 0);
        TRUE(ends(stream));
        TRUE((Confined() > before) == cases[i].confined);
    }
}

/* What is captured is part of a graph, and runs as such. */
static void test_capture(P stream)
{
    static uint32_t log[64];
    int before = Confined();
    P graph, exec;

    TRUE(Begin(stream, 2) == 0);
    for (uint32_t i = 1; i <= 3; i++)
        TRUE(work(stream, LANE, 0, log, i) == 0);
    TRUE(End(stream, &graph) == 0 && Instantiate(&exec, graph, 0) == 0);
    TRUE(log[0] == 0);
    for (int i = 0; i < 2; i++)
        TRUE(LaunchGraph(exec, stream) == 0);
    TRUE(ends(stream) && log[0] == 6 && Confined() == before);
}

static void test_attach(void)
{
    static uint64_t memory;
    P stream;

    TRUE(Create(&stream, 1) == 0);
    TRUE(confines(stream, 4000));
    Attach(stream, (uint64_t)(uintptr_t)&memory, 0, 4); /* the fake has no such memory; that it was asked for counts */
    TRUE(!confines(stream, 20));
    TRUE(Destroy(stream) == 0);
}

/* A context of its own, which no green one may hold. */
static void test_own_context(void)
{
    P own, stream;

    TRUE(CtxCreate(&own, 0, 0) == 0 && Create(&stream, 1) == 0);
    TRUE(!confines(stream, 50));
    TRUE(SetCurrent(g_ctx) == 0);
}

static bool active(void)
{
    unsigned flags;
    int is;

    TRUE(State(0, &flags, &is) == 0);
    return is;
}

/* Lanes keep no context alive, and come back with the next one; one that goes on has none from then on. */
static void test_end(void)
{
    P stream;

    for (int i = 0; i < 6; i++) {
        TRUE(Create(&stream, 1) == 0);
        TRUE(confines(stream, 4000));
        if (i % 3 == 0) {              /* there is another reference */
            TRUE(Retain(&g_ctx, 0) == 0 && Release(0) == 0 && active());
            TRUE(!confines(stream, 20));
        }
        if (i % 2) {
            TRUE(work(stream, LANE, 2000, NULL, 0) == 0);
            TRUE(Reset(0) == 0);
        } else {
            TRUE(Release(0) == 0);
        }
        TRUE(!active());
        TRUE(Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    }
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    const char *only = argc > 1 ? argv[1] : "";
    P a, b;

    TRUE(lib && fake);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain"), get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &Release, "cuDevicePrimaryCtxRelease_v2"), get(lib, &Reset, "cuDevicePrimaryCtxReset_v2");
    get(lib, &State, "cuDevicePrimaryCtxGetState"), get(lib, &CtxCreate, "cuCtxCreate_v2");
    get(lib, &GetFunction, "cuModuleGetFunction"), get(lib, &Create, "cuStreamCreate"), get(lib, &Destroy, "cuStreamDestroy_v2");
    get(lib, &Query, "cuStreamQuery"), get(lib, &Attach, "cuStreamAttachMemAsync"), get(lib, &Launch, "cuLaunchKernel");
    get(lib, &LaunchEx, "cuLaunchKernelEx"), get(lib, &Begin, "cuStreamBeginCapture_v2"), get(lib, &End, "cuStreamEndCapture");
    get(lib, &Instantiate, "cuGraphInstantiateWithFlags"), get(lib, &LaunchGraph, "cuGraphLaunch");
    get(fake, &Confined, "fake_cuda_confined"), get(fake, &Fail, "fake_cuda_fail");
    get(fake, &AskedAside, "fake_cuda_asked_aside");
    TRUE(Init(0) == 0 && Retain(&g_ctx, 0) == 0 && SetCurrent(g_ctx) == 0);
    TRUE(GetFunction(&g_work, NULL, "work") == 0 && GetFunction(&g_nop, NULL, "nop") == 0);
    TRUE(GetFunction(&g_barrier, NULL, "barrier") == 0 && GetFunction(&g_meet, NULL, "meet") == 0);
    TRUE(Create(&a, 1) == 0 && Create(&b, 0) == 0);
    if (strcmp(only, "none") == 0) {
        TRUE(!confines(a, 50) && Confined() == 0);
        in_order(a, LANE, WHOLE);
    } else {
        P streams[] = {NULL, XS_CU_STREAM_LEGACY, XS_CU_STREAM_PER_THREAD, b};

        TRUE(confines(a, 4000));
        test_grid(a);
        test_attributes(a);
        test_capture(a);
        test_order(a);
        test_failures(a);
        test_others(a, b);
        for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
            test_order(streams[i]);
            test_failures(streams[i]);
        }
        test_attach();
        test_own_context();
        TRUE(Destroy(a) == 0 && Destroy(b) == 0);
        test_end();
        TRUE(AskedAside() == 0);
    }
    puts("ok");
    return 0;
}
