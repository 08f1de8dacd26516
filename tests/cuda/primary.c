/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim whose threads hold a device's primary context in turn. Its end is seen, and what we
 * had in it given back, also where it is made anew before it can be asked whether it is there, and where the
 * last reference was one that we took to look at it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../stream/check.h"
#include "mappings.h"

typedef void *P;
static int (*Init)(unsigned), (*Retain)(P *, int), (*Release)(int), (*SetCurrent)(P);
static int (*StreamCreate)(P *, unsigned);
static int (*CtxCreate)(P *, unsigned, int), (*CtxDestroy)(P), (*Sync)(P), (*Active)(int, unsigned *, int *);
static int (*WaitValue)(P, uint64_t, uint32_t, unsigned);
static void (*OnPrimary)(void (*retain)(void), void (*release)(void));
static _Thread_local bool t_first;
static _Atomic int g_there, g_done;

static bool active(void)
{
    unsigned flags;
    int yes = 0;

    TRUE(Active(0, &flags, &yes) == 0);
    return yes;
}

/* A command in the current context. */
static void work(void)
{
    static uint32_t word;
    P s;

    TRUE(StreamCreate(&s, 1) == 0 && WaitValue(s, (uintptr_t)&word, 0, 0) == 0 && Sync(s) == 0);
}

static void begin(void)
{
    P ctx;

    TRUE(Retain(&ctx, 0) == 0 && SetCurrent(ctx) == 0);
    work();
    TRUE(SetCurrent(NULL) == 0);
}

/* The other thread does its part while the first one is inside the driver. */
static void let_it(void)
{
    if (!t_first)
        return;
    t_first = false;
    atomic_store(&g_there, 1);
    UNTIL(atomic_load(&g_done));
}

static void *releases(void *unused)
{
    UNTIL(atomic_load(&g_there));
    TRUE(Release(0) == 0);
    atomic_store(&g_done, 1);
    return unused;
}

static void *retains(void *unused)
{
    P ctx;

    UNTIL(atomic_load(&g_there));
    TRUE(Retain(&ctx, 0) == 0);
    atomic_store(&g_done, 1);
    return unused;
}

static void together(void *(*other)(void *), void (*mine)(void))
{
    pthread_t t;

    atomic_store(&g_there, 0);
    atomic_store(&g_done, 0);
    TRUE(pthread_create(&t, NULL, other, NULL) == 0);
    t_first = true;
    mine();
    TRUE(!t_first);               /* it came to that */
    pthread_join(t, NULL);
    OnPrimary(NULL, NULL);
}

/* Its first command makes us look whether it is the primary one. */
static void another_context(void)
{
    P ctx;

    TRUE(CtxCreate(&ctx, 0, 0) == 0);
    OnPrimary(let_it, NULL);
    work();
    OnPrimary(NULL, NULL);
    TRUE(CtxDestroy(ctx) == 0);
}

static void last_release(void)
{
    OnPrimary(NULL, let_it);
    TRUE(Release(0) == 0);
}

int main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    int before;

    TRUE(lib && fake);
    get(lib, &Init, "cuInit"), get(lib, &Retain, "cuDevicePrimaryCtxRetain");
    get(lib, &SetCurrent, "cuCtxSetCurrent");
    get(lib, &Release, "cuDevicePrimaryCtxRelease_v2"), get(lib, &StreamCreate, "cuStreamCreate");
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &Sync, "cuStreamSynchronize"), get(lib, &WaitValue, "cuStreamWaitValue32_v2");
    get(lib, &Active, "cuDevicePrimaryCtxGetState"), get(fake, &OnPrimary, "fake_cuda_on_primary");
    TRUE(Init(0) == 0);
    begin();
    TRUE(Release(0) == 0 && !active());
    before = mappings_of_ours();
    TRUE(before > 0);
    begin();
    TRUE(mappings_of_ours() == before + 1);
    together(releases, another_context);
    TRUE(!active() && mappings_of_ours() == before);
    begin();
    together(retains, last_release);
    TRUE(active() && mappings_of_ours() == before);
    TRUE(Release(0) == 0 && !active());
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
