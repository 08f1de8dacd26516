/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts come and go with work pending: contexts COUNT. Nothing of ours stays in the driver or in the address space, what
 * lies on the heap is used again, and no event of a context that is gone is asked for (the fake driver ends the program
 * then). */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/check.h"
#include "mappings.h"
#include "ways/ways.h"

#define WINDOW 200
#define FEW    10 /* of a window: storage that is given back a little later */

static int (*CtxCreate)(ways_p *, unsigned, int), (*CtxDestroy)(ways_p), (*Release)(int), (*Registered)(void);
static int (*StreamDestroy)(ways_p);

static _Atomic int g_aligned;

/* Ours is the only code here that asks for whole cache lines: a context's storage, a queue's. */
__attribute__((visibility("default"))) int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
    atomic_fetch_add(&g_aligned, 1);
    *ret = memalign(alignment, bytes);
    return *ret ? 0 : ENOMEM;
}

static void work(const struct ways_driver *d, ways_p f, bool destroy)
{
    static uint32_t log[4096];
    uint32_t *to = log, tag = 1;
    uint64_t ns = 200000;
    void *params[] = {&ns, &to, &tag};
    ways_p s;

    log[0] = 0;
    TRUE(d->cuStreamCreate(&s, 1) == 0);
    for (int i = 0; i < 12; i++)
        TRUE(d->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, i % 3 ? s : NULL, params, NULL) == 0);
    if (destroy)
        TRUE(StreamDestroy(s) == 0);
}

static void come_and_go(const struct ways_driver *d, ways_p f, int i)
{
    bool primary = i % 4 == 3;
    ways_p ctx;

    if (primary)
        TRUE(d->cuDevicePrimaryCtxRetain(&ctx, 0) == 0 && d->cuCtxSetCurrent(ctx) == 0);
    else
        TRUE(CtxCreate(&ctx, 0, 0) == 0);
    work(d, f, i % 2);
    if (i % 5 == 0)
        usleep(1000);             /* marks are under way, or reached */
    if (primary)
        TRUE(Release(0) == 0 && d->cuCtxSetCurrent(NULL) == 0);
    else
        TRUE(CtxDestroy(ctx) == 0);
    TRUE(Registered() == 0);
}

/* Two windows in a row that need next to no new storage; on a slow machine it may take some until enough is there. */
static bool settles(const struct ways_driver *d, ways_p f)
{
    for (int window = 0, quiet = 0; window < 15; window++) {
        int before = atomic_load(&g_aligned);

        usleep(50000);
        for (int i = 0; i < WINDOW; i++)
            come_and_go(d, f, i);
        printf("%d contexts, new storage for %d contexts and queues\n", WINDOW, atomic_load(&g_aligned) - before);
        quiet = atomic_load(&g_aligned) - before <= FEW ? quiet + 1 : 0;
        if (quiet == 2)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fake = dlopen(getenv("FAKE"), RTLD_NOW);
    int count = argc > 1 ? atoi(argv[1]) : 100, before = 0;
    struct ways_driver d;
    ways_p f;

    TRUE(lib && fake && ways_bind(&d, lib, dlsym));
    get(lib, &CtxCreate, "cuCtxCreate_v2"), get(lib, &CtxDestroy, "cuCtxDestroy_v2");
    get(lib, &Release, "cuDevicePrimaryCtxRelease_v2"), get(lib, &StreamDestroy, "cuStreamDestroy_v2");
    get(fake, &Registered, "fake_cuda_registered");
    TRUE(d.cuInit(0) == 0 && d.cuModuleGetFunction(&f, NULL, "work") == 0);
    for (int i = 0; i < count; i++) {
        come_and_go(&d, f, i);
        if (i == 4)
            before = mappings_of_ours();
    }
    TRUE(atomic_load(&g_aligned) > 0);
    TRUE(settles(&d, f));
    printf("mappings of ours after 5 contexts %d, after all %d\n", before, mappings_of_ours());
    TRUE(mappings_of_ours() <= before + 2);
    TRUE(before > 0);
    printf("done\n");
    fflush(stdout);
    _Exit(0);
}
