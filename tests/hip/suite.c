/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary HIP program that knows nothing of XSched: suite dlsym|entry. Its output holds nothing that may
 * differ from run to run, so that runs with and without XSched can be compared. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "hal/hip/hip_abi.h"
#include "../stream/cases.h"

#define GRID uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t

#define FUNCTIONS(X)                                                                              \
    X(hipInit, (unsigned))                                                                        \
    X(hipGetDeviceCount, (int *))                                                                 \
    X(hipSetDevice, (int))                                                                        \
    X(hipDeviceSynchronize, (void))                                                               \
    X(hipDeviceReset, (void))                                                                     \
    X(hipModuleLoadData, (P *, const void *))                                                     \
    X(hipModuleGetFunction, (P *, P, const char *))                                               \
    X(hipStreamCreate, (P *))                                                                     \
    X(hipStreamCreateWithFlags, (P *, unsigned))                                                  \
    X(hipStreamCreateWithPriority, (P *, unsigned, int))                                          \
    X(hipExtStreamCreateWithCUMask, (P *, uint32_t, const uint32_t *))                            \
    X(hipExecutionCtxStreamCreate, (P *, P, unsigned, int))                                       \
    X(hipStreamDestroy, (P))                                                                      \
    X(hipStreamSynchronize, (P))                                                                  \
    X(hipStreamQuery, (P))                                                                        \
    X(hipStreamWaitEvent, (P, P, unsigned))                                                       \
    X(hipStreamBeginCapture, (P, int))                                                            \
    X(hipStreamEndCapture, (P, P *))                                                              \
    X(hipStreamWaitValue32, (P, P, uint32_t, unsigned, uint32_t))                                 \
    X(hipStreamWriteValue32, (P, P, uint32_t, unsigned))                                          \
    X(hipEventCreateWithFlags, (P *, unsigned))                                                   \
    X(hipEventRecord, (P, P))                                                                     \
    X(hipEventSynchronize, (P))                                                                   \
    X(hipMalloc, (P *, size_t))                                                                   \
    X(hipFree, (P))                                                                               \
    X(hipMallocAsync, (P *, size_t, P))                                                           \
    X(hipFreeAsync, (P, P))                                                                       \
    X(hipMemcpy, (P, const void *, size_t, int))                                                  \
    X(hipMemcpyAsync, (P, const void *, size_t, int, P))                                          \
    X(hipMemcpyWithStream, (P, const void *, size_t, int, P))                                     \
    X(hipMemsetD32Async, (P, int, size_t, P))                                                     \
    X(hipModuleLaunchKernel, (P, GRID, unsigned, P, P *, P *))                                    \
    X(hipExtModuleLaunchKernel, (P, GRID, size_t, P, P *, P *, P, P, uint32_t))                   \
    X(hipLaunchKernel, (const void *, struct xs_dim3, struct xs_dim3, P *, size_t, P))            \
    X(hipLaunchKernelExC, (const struct xs_hip_launch_config *, const void *, P *))               \
    X(hipLaunchCooperativeKernel, (const void *, struct xs_dim3, struct xs_dim3, P *, unsigned, P)) \
    X(hipConfigureCall, (struct xs_dim3, struct xs_dim3, size_t, P))                              \
    X(hipLaunchByPtr, (const void *))                                                             \
    X(hipLaunchHostFunc, (P, void (*)(void *), void *))                                           \
    X(hipGraphInstantiate, (P *, P, P, char *, size_t))                                           \
    X(hipGraphLaunch, (P, P))                                                                     \
    X(hipGetLastError, (void))

#define X(name, params) static int (*name) params;
FUNCTIONS(X)
#undef X
static int (*LaunchPerThread)(const void *, struct xs_dim3, struct xs_dim3, P *, size_t, P);
static int (*SyncPerThread)(P);
static P (*RegisterFatBinary)(const void *);
static void (*RegisterFunction)(P, const void *, char *, const char *, unsigned, P, P, P, P, int *);
static int (*ExtMangled)(P, GRID, size_t, P, P *, P *, P, P, uint32_t);

static P g_work;
static char g_stub, g_nop; /* host stubs: their addresses */
static const struct xs_dim3 one = {1, 1, 1};

static void bind(bool entry)
{
    void *lib = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL), *p;
    int (*get)(const char *, void **, int, uint64_t, int *) = NULL;

    if (!lib)
        fail(dlerror(), __LINE__, 0);
    p = dlsym(lib, "hipGetProcAddress");
    memcpy(&get, &p, sizeof(p));
#define X(name, params)                                            \
    p = NULL;                                                      \
    if (entry)                                                     \
        OK(get(#name, &p, 60000000, 0, NULL));                     \
    else                                                           \
        p = dlsym(lib, #name);                                     \
    TRUE(p != NULL);                                               \
    memcpy(&name, &p, sizeof(p));
    FUNCTIONS(X)
#undef X
#define GET(fn, name) p = dlsym(lib, name), memcpy(&fn, &p, sizeof(p))
    GET(RegisterFatBinary, "__hipRegisterFatBinary");
    GET(RegisterFunction, "__hipRegisterFunction");
    GET(ExtMangled, "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
    if (entry) {
        OK(get("hipLaunchKernel", &p, 60000000, 2, NULL));
        memcpy(&LaunchPerThread, &p, sizeof(p));
        OK(get("hipStreamSynchronize", &p, 60000000, 2, NULL));
        memcpy(&SyncPerThread, &p, sizeof(p));
        TRUE((P)(uintptr_t)LaunchPerThread != (P)(uintptr_t)hipLaunchKernel);
        TRUE(get("hipNoSuchThing", &p, 60000000, 0, NULL) != 0);
    } else {
        GET(LaunchPerThread, "hipLaunchKernel_spt");
        GET(SyncPerThread, "hipStreamSynchronize_spt");
    }
}

static uint32_t *new_log(void)
{
    P p;

    OK(hipMalloc(&p, 4096 * 4));
    OK(hipMemsetD32Async(p, 0, 4096, NULL));
    OK(hipStreamSynchronize(NULL));
    return p;
}

/* Each way of a launch in turn. */
static void work(P stream, uint64_t us, uint32_t *log, uint32_t tag)
{
    static unsigned turn;
    uint64_t ns = us * 1000;
    void *params[] = {&ns, &log, &tag};
    struct xs_hip_launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, stream, NULL, 0};

    switch (turn++ % 6) {
    case 0:
        OK(hipModuleLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
        break;
    case 1:
        OK(hipExtModuleLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL, NULL, NULL, 0));
        break;
    case 2:
        OK(ExtMangled(g_work, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL, NULL, NULL, 0));
        break;
    case 3:
        OK(hipLaunchKernelExC(&config, &g_stub, params));
        break;
    case 4:
        OK(hipLaunchCooperativeKernel(&g_stub, one, one, params, 0, stream));
        break;
    default:
        OK(hipLaunchKernel(&g_stub, one, one, params, 0, stream));
    }
}

static void *on_thread(void *opaque)
{
    uint32_t *log = opaque, tag = 7;
    uint64_t ns = 200000;
    void *params[] = {&ns, &log, &tag};

    OK(hipSetDevice(0));
    for (int i = 0; i < 3; i++)
        OK(LaunchPerThread(&g_stub, one, one, params, 0, NULL));
    OK(hipLaunchKernel(&g_stub, one, one, params, 0, (P)2));
    OK(SyncPerThread(NULL));
    return NULL;
}

#define api_stream(s)              hipStreamCreateWithFlags(s, 1)
#define api_blocking(s)            hipStreamCreate(s)
#define api_destroy(s)             hipStreamDestroy(s)
#define api_synchronize(s)         hipStreamSynchronize(s)
#define api_synchronize_all()      hipDeviceSynchronize()
#define api_query(s)               hipStreamQuery(s)
#define api_event(e)               hipEventCreateWithFlags(e, 2)
#define api_record(e, s)           hipEventRecord(e, s)
#define api_wait(s, e)             hipStreamWaitEvent(s, e, 0)
#define api_event_synchronize(e)   hipEventSynchronize(e)
#define api_capture(s)             hipStreamBeginCapture(s, 2)
#define api_end_capture(s, g)      hipStreamEndCapture(s, g)
#define api_instantiate(x, g)      hipGraphInstantiate(x, g, NULL, NULL, 0)
#define api_graph(x, s)            hipGraphLaunch(x, s)
#define api_host(s, fn, arg)       hipLaunchHostFunc(s, fn, arg)
#define api_copy_back(to, from, n) hipMemcpy(to, from, n, 2)
#define api_free(p)                hipFree(p)
#define STREAM_CASES
#include "../stream/cases.h"

static void created_streams(void)
{
    uint32_t *log = new_log(), mask = 0xff;
    P s[5];

    OK(hipStreamCreateWithFlags(&s[0], 1));
    OK(hipStreamCreateWithPriority(&s[1], 1, -1));
    OK(hipStreamCreate(&s[2]));
    OK(hipExtStreamCreateWithCUMask(&s[3], 1, &mask));
    OK(hipExecutionCtxStreamCreate(&s[4], NULL, 1, 0));
    in_turn(s, 5, log);
}

static void events(void)
{
    uint32_t *log = new_log(), tag = 3;
    uint64_t ns = 1000000;
    void *params[] = {&ns, &log, &tag};
    P a, b, stop;

    behind_an_event(&a, &b, log);
    OK(hipEventCreateWithFlags(&stop, 2));
    /* the event inside a launch is a record */
    OK(hipExtModuleLaunchKernel(g_work, 1, 1, 1, 1, 1, 1, 0, a, params, NULL, NULL, stop, 0));
    OK(hipStreamWaitEvent(b, stop, 0));
    work(b, 10, log, 4);
    OK(hipStreamSynchronize(b));
    show("events", log);
    OK(hipStreamDestroy(a));
    OK(hipStreamDestroy(b));
}

static void memory(void)
{
    static uint32_t host[1000], back[1000];
    uint64_t sum = 0;
    P p, word, s;

    OK(hipStreamCreateWithFlags(&s, 1));
    OK(hipMallocAsync(&p, sizeof(host), s));
    for (uint32_t i = 0; i < 1000; i++)
        host[i] = i * i;
    OK(hipMemcpyAsync(p, host, sizeof(host), 1, s));
    OK(hipMemsetD32Async((char *)p + 400, 5, 100, s));
    OK(hipMemcpyWithStream(back, p, sizeof(back), 2, s));
    for (int i = 0; i < 1000; i++)
        sum += back[i];
    OK(hipFreeAsync(p, s));
    OK(hipMalloc(&word, 64));
    OK(hipMemsetD32Async(word, 0x55667788, 16, s));
    OK(hipStreamWaitValue32(s, word, 0x55667788, 1, 0xffffffff));
    OK(hipStreamSynchronize(s));
    OK(hipMemcpy(back, word, 8, 2));
    printf("memory: %llu, written %08x%08x\n", (unsigned long long)sum, back[1], back[0]);
    OK(hipFree(word));
    OK(hipStreamDestroy(s));
}

static void host_functions(void)
{
    int ran;
    P s;

    OK(hipStreamCreateWithFlags(&s, 1));
    ran = host_functions_on(s);
    OK(hipConfigureCall(one, one, 0, s)); /* the oldest way */
    OK(hipLaunchByPtr(&g_nop));
    OK(hipStreamSynchronize(s));
    printf("host functions: %d\n", ran);
    OK(hipStreamDestroy(s));
}

/* Streams end with work pending; storage comes back under the same handles; a device is reset. */
static void lives(void)
{
    uint32_t *log = new_log();
    P s;

    end_early(log);
    for (int i = 0; i < 3; i++) {
        uint32_t *inner;

        OK(hipSetDevice(1));
        inner = new_log();
        OK(hipStreamCreateWithFlags(&s, 1));
        for (int k = 0; k < 10; k++)
            work(s, 100, inner, 5);
        work(NULL, 10, inner, 6);
        OK(hipDeviceReset());
        OK(hipSetDevice(0));
    }
    work(NULL, 10, log, 2);
    OK(hipDeviceSynchronize());
    printf("lives: done\n");
}

static void errors(void)
{
    int stub, foreign, last;

    hipGetLastError();
    stub = hipLaunchKernel("nobody", one, one, NULL, 0, NULL);
    foreign = hipMemsetD32Async(NULL, 0, 0, (P)0x12340);
    last = hipGetLastError();
    /* what succeeds afterwards leaves no error, also not one of somebody else's calls in between */
    for (int i = 0; i < 200; i++)
        OK(hipLaunchKernel(&g_nop, one, one, NULL, 0, NULL));
    OK(hipStreamSynchronize(NULL));
    printf("errors: unknown stub %d, foreign stream %d, last %d, then %d\n", stub, foreign, last, hipGetLastError());
}

int main(int argc, char **argv)
{
    P mod, fat;
    int n;

    bind(argc > 1 && strcmp(argv[1], "entry") == 0);
    fat = RegisterFatBinary("fat");
    RegisterFunction(fat, &g_stub, NULL, "work", 0, NULL, NULL, NULL, NULL, NULL);
    RegisterFunction(fat, &g_nop, NULL, "nop", 0, NULL, NULL, NULL, NULL, NULL);
    OK(hipInit(0));
    OK(hipGetDeviceCount(&n));
    OK(hipSetDevice(0));
    OK(hipModuleLoadData(&mod, "fake"));
    OK(hipModuleGetFunction(&g_work, mod, "work"));
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
    printf("end\n");
    return 0;
}
