/* SPDX-License-Identifier: Apache-2.0 */
/* A program with one context: the driver is not asked at each command which context is current. One with several, also where
 * the driver made another one behind our back, gets its null streams right; so does one that makes its only one anew. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../stream/check.h"
#include "ways/ways.h"

#include "xsched/cuda/hal.h"

#define MANY 1000

static struct ways_driver d;
static int (*CtxCreate)(ways_p *, unsigned, int), (*HiddenCreate)(ways_p *, unsigned, int), (*CtxDestroy)(ways_p);
static int (*Synchronize)(ways_p), (*Asked)(void);
static ways_p g_kernel;

static int launch(ways_p stream)
{
    static uint32_t log[16384];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 1;
    void *params[] = {&ns, &to, &tag};

    log[0] = 0;
    return d.cuLaunchKernel(g_kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* How often the driver is asked in so many launches and waits on a default stream of the current context. */
static int questions(ways_p stream)
{
    int before = Asked();

    for (int i = 0; i < MANY; i++)
        TRUE(launch(stream) == 0 && Synchronize(stream) == 0);
    return Asked() - before;
}

static HwQueueHandle null_queue(void)
{
    HwQueueHandle h = 0;

    TRUE(launch(NULL) == 0 && Synchronize(NULL) == 0);
    return CudaQueueGet(&h, NULL) == kXSchedSuccess ? h : 0;
}

static void *without_context(void *unused)
{
    TRUE(launch(NULL) == 201 && Synchronize(NULL) == 201); /* CUDA_ERROR_INVALID_CONTEXT */
    return unused;
}

static void *with_context(void *ctx)
{
    TRUE(d.cuCtxSetCurrent(ctx) == 0);
    for (int i = 0; i < 100; i++)
        TRUE(launch(NULL) == 0 && launch((ways_p)2) == 0);
    TRUE(Synchronize(NULL) == 0 && Synchronize((ways_p)2) == 0);
    return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
    pthread_t t;

    TRUE(pthread_create(&t, NULL, fn, arg) == 0);
    TRUE(pthread_join(t, NULL) == 0);
}

/* The last: from then on there are several. @param create  the shim's or the driver's own */
static void several(int (*create)(ways_p *, unsigned, int), ways_p first)
{
    HwQueueHandle of_first = null_queue(), of_second = 0;
    ways_p second;

    TRUE(of_first != 0 && create(&second, 0, 0) == 0);
    for (int i = 0; i < 64 && !of_second; i++) { /* each thread asks now and then */
        HwQueueHandle h = null_queue();

        of_second = h != of_first ? h : 0;
    }
    TRUE(of_second != 0);
    TRUE(questions(NULL) > 0);
    TRUE(null_queue() == of_second);
    TRUE(d.cuCtxSetCurrent(first) == 0 && null_queue() == of_first);
    TRUE(d.cuCtxSetCurrent(second) == 0 && null_queue() == of_second);
    in_thread(with_context, first);
    TRUE(CtxDestroy(second) == 0 && d.cuCtxSetCurrent(first) == 0 && null_queue() == of_first);
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    bool hidden = argc > 1 && strcmp(argv[1], "hidden") == 0;
    ways_p ctx;
    int asked;

    TRUE(lib && fake && ways_bind(&d, lib, dlsym));
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &Synchronize, "cuStreamSynchronize");
    get(fake, &HiddenCreate, "cuCtxCreate_v2"), get(fake, &Asked, "fake_cuda_asked");
    TRUE(d.cuInit(0) == 0 && d.cuModuleGetFunction(&g_kernel, NULL, "work") == 0);
    in_thread(without_context, NULL);
    for (int round = 0; round < 3; round++) { /* the only one, made anew */
        TRUE(CtxCreate(&ctx, 0, 0) == 0);
        TRUE(questions(NULL) < MANY);     /* it gets its queue, and its kernel its first marks */
        asked = questions(NULL);
        printf("asked %d times in %d launches and waits on the null stream\n", asked, MANY);
        TRUE(asked > 0 && asked < MANY / 10);
        in_thread(without_context, NULL);
        in_thread(with_context, ctx);
        if (round < 2)
            TRUE(CtxDestroy(ctx) == 0);
    }
    several(hidden ? HiddenCreate : CtxCreate, ctx);
    TRUE(CtxDestroy(ctx) == 0);
    in_thread(without_context, NULL);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
