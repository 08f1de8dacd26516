/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that a program lets run side by side stay so: no mark of ours in its legacy stream orders them. And that the
 * legacy stream is done is noticed while another stream, which was given work later, is not. On the fake driver; with HIP
 * defined, on the fake runtime. */
#include <pthread.h>
#include <stdint.h>

#include "../stream/check.h"
#ifdef HIP
#include "xsched/hip/hal.h"
#define NAME(cuda, hip) hip
#define QUEUE_GET(hwq, stream) HipQueueGet(hwq, stream)
#define LEGACY NULL
#else
#include "xsched/cuda/hal.h"
#define NAME(cuda, hip) cuda
#define QUEUE_GET(hwq, stream) CudaQueueGet(hwq, stream)
#define LEGACY ((void *)1)
#endif
#include "xsched/xsched.h"

typedef void *P;
#ifdef HIP
static int (*SetCurrent)(int), (*Create)(P *, unsigned);
#else
static int (*Retain)(P *, int), (*SetCurrent)(P), (*Create)(P *, unsigned);
#endif
static int (*Init)(unsigned), (*GetFunction)(P *, P, const char *), (*Sync)(P), (*made)(void), (*Load)(P *, const void *);
static int (*Launch)(P, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, P, P *, P *);
static P g_work, g_meet, g_nop;
static volatile unsigned g_step;
static const char *volatile g_doing = "start";

/* What never comes is said here. */
static void *watch(void *unused)
{
    unsigned seen = 0;

    (void)unused;
    for (int quiet = 0; quiet < 80; usleep(100000)) {
        quiet = g_step == seen ? quiet + 1 : 0;
        seen = g_step;
    }
    printf("does not end: %s\n", g_doing);
    fflush(stdout);
    _Exit(3);
}

static void doing(const char *what)
{
    g_doing = what;
    g_step++;
}

static void launch(P f, P stream, void **params)
{
    TRUE(Launch(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL) == 0);
}

static void work(P stream, uint64_t ns, uint32_t *log)
{
    uint32_t tag = 0;
    void *params[] = {&ns, &log, &tag};

    launch(g_work, stream, params);
}

/* A kernel that runs until `at` is 2. */
static void meet(P stream, uint32_t *at)
{
    uint32_t ranks = 2;
    void *params[] = {&at, &ranks};

    launch(g_meet, stream, params);
}

static void wait_legacy(XQueueHandle xq, const char *what)
{
    doing(what);
    TRUE(XQueueWaitAll(xq) == kXSchedSuccess);
}

int main(void)
{
    void *lib = dlopen(NAME("libcuda.so.1", "libamdhip64.so.6"), RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    void *none[] = {NULL};
    uint32_t log[64] = {0};
    HwQueueHandle hwq;
    XQueueHandle xq;
    pthread_t t;
    P a, b, module = NULL;
    int before;

    TRUE(lib != NULL && fake != NULL && setenv("FAKE_CUDA_WIDE", "1", 1) == 0);
    get(lib, &Init, NAME("cuInit", "hipInit")), get(lib, &SetCurrent, NAME("cuCtxSetCurrent", "hipSetDevice"));
    get(lib, &Create, NAME("cuStreamCreate", "hipStreamCreateWithFlags"));
    get(lib, &Load, NAME("cuModuleLoadData", "hipModuleLoadData"));
    get(lib, &GetFunction, NAME("cuModuleGetFunction", "hipModuleGetFunction"));
    get(lib, &Launch, NAME("cuLaunchKernel", "hipModuleLaunchKernel"));
    get(lib, &Sync, NAME("cuStreamSynchronize", "hipStreamSynchronize")), get(fake, &made, "fake_cuda_streams_made");
    TRUE(Init(0) == 0);
#ifdef HIP
    TRUE(SetCurrent(0) == 0);
#else
    {
        P ctx;

        get(lib, &Retain, "cuDevicePrimaryCtxRetain");
        TRUE(Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0);
    }
#endif
    TRUE(Load(&module, "image") == 0 && GetFunction(&g_work, module, "work") == 0);
    TRUE(GetFunction(&g_meet, module, "meet") == 0 && GetFunction(&g_nop, module, "nop") == 0);
    TRUE(pthread_create(&t, NULL, watch, NULL) == 0);
    TRUE(Create(&a, 0) == 0 && Create(&b, 0) == 0);

    /* nothing else submits: marks stand in the legacy stream */
    work(NULL, 0, log);
    before = made();
    TRUE(QUEUE_GET(&hwq, LEGACY) == kXSchedSuccess && XQueueGet(&xq, hwq) == kXSchedSuccess);
    for (int i = 0; i < 20; i++) {
        work(NULL, 10000, log);
        wait_legacy(xq, "the legacy stream alone");
        TRUE(log[0] == (uint32_t)i + 2);
    }
    TRUE(made() == before);
    work(a, 0, NULL), work(b, 0, NULL);
    TRUE(Sync(a) == 0 && Sync(b) == 0 && Sync(NULL) == 0);

    for (int i = 0; i < 20; i++) {
        uint32_t both = 0;

        log[0] = 0;
        work(NULL, 2000000, log);
        meet(a, &both);
        wait_legacy(xq, "the legacy stream, while a stream that came later is busy");
        TRUE(log[0] == 1);
        launch(g_nop, b, none);
        doing("one blocking stream beside the other");
        TRUE(Sync(b) == 0);
        wait_legacy(xq, "the legacy stream again"); /* nothing was submitted there since */
        launch(g_nop, b, none);
        doing("one blocking stream beside the other, again");
        TRUE(Sync(b) == 0);
        TRUE(__atomic_load_n(&both, __ATOMIC_SEQ_CST) < 2);
        __atomic_fetch_add(&both, 1, __ATOMIC_SEQ_CST);
        doing("all");
        TRUE(Sync(a) == 0);
    }
    TRUE(made() <= before + 1);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
