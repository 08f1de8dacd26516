/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, functions, launches. */
#include <string.h>

#include "internal.h"

static const struct CUfunc_st g_functions[] = {{"work"}, {"nop"}, {"burn"}, {"spin"}, {"add"}, {"grind"},
                                               {"meet"}, {"_Z31ncclDevKernel_AllReduce_of_fake"},
                                               {"_Z35ncclSymkDevKernel_AllReduce_of_fake"},
                                               {"count"}, {"barrier"}};

API cuModuleLoadData(void **mod, const void *image)
{
    if (fake_current()) {
        pthread_mutex_lock(&fake_lock);
        fake_context_wait_locked(fake_current());
        pthread_mutex_unlock(&fake_lock);
    }
    *mod = (void *)(uintptr_t)image;
    return 0;
}

const struct CUfunc_st *fake_function(const char *name)
{
    for (size_t i = 0; i < sizeof(g_functions) / sizeof(g_functions[0]); i++)
        if (strcmp(g_functions[i].name, name) == 0)
            return &g_functions[i];
    return NULL;
}

API cuModuleGetFunction(const struct CUfunc_st **f, void *mod, const char *name)
{
    const struct CUfunc_st *found = fake_function(name);

    (void)mod;
    if (!found)
        return XS_CU_NOT_FOUND;
    *f = found;
    return 0;
}

static CUresult launch(const struct CUfunc_st *f, uint64_t blocks, CUstream s, void **params, bool per_thread)
{
    struct fake_op op = {.kind = FAKE_WORK, .blocks = blocks};

    f = fake_loaded(f);
    if (!f)
        return (uintptr_t)s <= 2 && !fake_current() ? INVALID_CONTEXT : INVALID_HANDLE;
    if (f == &g_functions[0]) {
        op.ns = *(uint64_t *)params[0];
        op.log = *(uint32_t **)params[1];
        op.tag = *(uint32_t *)params[2];
    } else if (f == &g_functions[2]) {
        op.ns = *(uint64_t *)params[0];
        op.started = *(uint32_t **)params[1];
        op.stamp = *(uint32_t *)params[2];
        op.sum = *(uint64_t **)params[3];
    }
    if (f == &g_functions[3])
        op.ns = *(uint64_t *)params[0];
    if (f == &g_functions[4])
        op.add = *(uint64_t **)params[0];
    if (f == &g_functions[5]) {
        op.ns = *(uint64_t *)params[0];
        op.sum = *(uint64_t **)params[1];
        op.grind = op.ns * 2654435761u;
    }
    if (f >= &g_functions[6] && f <= &g_functions[8]) {
        op.meet = *(uint32_t **)params[0];
        op.ranks = *(uint32_t *)params[1];
    }
    if (f == &g_functions[9]) {
        op.ns = *(uint64_t *)params[0];
        op.count = *(uint64_t **)params[1];
        op.stop = *(uint64_t **)params[2];
    }
    if (f == &g_functions[10]) {
        op.add = *(uint64_t **)params[0];
        op.barrier = true;
    }
    if ((uintptr_t)s > 2)
        fake_count_launch(s);
    return fake_put(s, per_thread, op);
}

static uint64_t blocks_of(const struct xs_cu_launch_config *c)
{
    return (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
}

#define GRID unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared
API cuLaunchKernel(const struct CUfunc_st *f, GRID, CUstream s, void **params, void **extra)
{
    FAKE_RECORD("", 0, 0);
    (void)d, (void)e, (void)g, (void)shared, (void)extra;
    return launch(f, (uint64_t)a * b * c, s, params, false);
}

API cuLaunchKernel_ptsz(const struct CUfunc_st *f, GRID, CUstream s, void **params, void **extra)
{
    FAKE_RECORD("", 0, 0);
    (void)d, (void)e, (void)g, (void)shared, (void)extra;
    return launch(f, (uint64_t)a * b * c, s, params, true);
}

API cuLaunchCooperativeKernel(const struct CUfunc_st *f, GRID, CUstream s, void **params)
{
    (void)d, (void)e, (void)g, (void)shared;
    return launch(f, (uint64_t)a * b * c, s, params, false);
}

API cuLaunchKernelEx(const struct xs_cu_launch_config *config, const struct CUfunc_st *f, void **params, void **extra)
{
    FAKE_RECORD("", 0, 0);
    (void)extra;
    return launch(f, blocks_of(config), config->stream, params, false);
}
