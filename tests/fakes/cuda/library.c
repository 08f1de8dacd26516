/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries. As measured on an H100: loading one waits for nothing; asking for its module or for a function of it, the
 * first time in a context, and unloading it wait for whatever the context has. So does whatever needs a kernel that is not
 * loaded yet: its launch, captured or not, its attributes, its occupancy. Handles come back. */
#include "internal.h"

#define LIBRARIES 4
#define KERNELS   16
#define CONTEXTS  8

struct thing {
    const struct CUctx_st *loaded[CONTEXTS]; /* a context's address never comes back */
};

static struct library {
    bool used;
    struct thing module;
    struct kernel {
        const struct CUfunc_st *function;
        struct thing thing;
    } kernels[KERNELS];
} g_libraries[LIBRARIES];

static struct library *library_at(const void *handle)
{
    for (int i = 0; i < LIBRARIES; i++)
        if (handle == &g_libraries[i] && g_libraries[i].used)
            return &g_libraries[i];
    return NULL;
}

static struct kernel *kernel_at(const void *handle)
{
    for (int i = 0; i < LIBRARIES; i++)
        for (int k = 0; k < KERNELS && g_libraries[i].used; k++)
            if (handle == &g_libraries[i].kernels[k] && g_libraries[i].kernels[k].function)
                return &g_libraries[i].kernels[k];
    return NULL;
}

static void load_locked(struct thing *t, struct CUctx_st *c)
{
    int i = 0;

    while (i < CONTEXTS && t->loaded[i] && t->loaded[i] != c)
        i++;
    if (i < CONTEXTS && t->loaded[i] == c)
        return;
    fake_context_wait_locked(c);
    if (i < CONTEXTS)
        t->loaded[i] = c;
}

API cuLibraryLoadData(void **ret, const void *code, void *a, void *b, unsigned c, void *d, void *e, unsigned f)
{
    CUresult r = XS_CU_OUT_OF_MEMORY;

    (void)code, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < LIBRARIES && r; i++)
        if (!g_libraries[i].used) {
            g_libraries[i] = (struct library){.used = true};
            *ret = &g_libraries[i];
            r = 0;
        }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuLibraryUnload(void *handle)
{
    struct library *l;

    pthread_mutex_lock(&fake_lock);
    l = library_at(handle);
    if (l && fake_current())
        fake_context_wait_locked(fake_current());
    if (l)
        l->used = false;
    pthread_mutex_unlock(&fake_lock);
    return l ? 0 : INVALID_HANDLE;
}

API cuLibraryGetKernel(void **ret, void *handle, const char *name)
{
    const struct CUfunc_st *function;
    CUresult r = INVALID_HANDLE;
    struct library *l;

    pthread_mutex_lock(&fake_lock);
    l = library_at(handle);
    function = l ? fake_function(name) : NULL;
    if (l)
        r = XS_CU_NOT_FOUND;
    for (int k = 0; function && k < KERNELS && r; k++)
        if (!l->kernels[k].function || l->kernels[k].function == function) {
            l->kernels[k].function = function;
            *ret = &l->kernels[k];
            r = 0;
        }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuKernelGetFunction(const struct CUfunc_st **ret, void *handle)
{
    struct kernel *k;

    if (!fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    k = kernel_at(handle);
    if (k) {
        load_locked(&k->thing, fake_current());
        *ret = k->function;
    }
    pthread_mutex_unlock(&fake_lock);
    return k ? 0 : INVALID_HANDLE;
}

API cuLibraryGetModule(void **ret, void *handle)
{
    struct library *l;

    if (!fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    l = library_at(handle);
    if (l) {
        load_locked(&l->module, fake_current());
        *ret = handle;
    }
    pthread_mutex_unlock(&fake_lock);
    return l ? 0 : INVALID_HANDLE;
}

/* Whoever has a function has loaded it here. */
API cuFuncLoad(const struct CUfunc_st *f)
{
    return f ? 0 : INVALID_HANDLE;
}

const struct CUfunc_st *fake_loaded(const void *handle)
{
    const struct CUfunc_st *f = handle;
    struct kernel *k;

    if (!fake_current())
        return f;
    pthread_mutex_lock(&fake_lock);
    k = kernel_at(handle);
    if (k) {
        load_locked(&k->thing, fake_current());
        f = k->function;
    }
    pthread_mutex_unlock(&fake_lock);
    return f;
}

API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int block, size_t shared)
{
    (void)block, (void)shared;
    if (!fake_loaded(f))
        return INVALID_HANDLE;
    *n = 1;
    return 0;
}

API cuKernelSetAttribute(int attribute, int value, const void *kernel, CUdevice dev)
{
    (void)attribute, (void)value, (void)dev;
    return fake_loaded(kernel) ? 0 : INVALID_HANDLE;
}

API cuKernelSetCacheConfig(const void *kernel, int config, CUdevice dev)
{
    (void)config, (void)dev;
    return fake_loaded(kernel) ? 0 : INVALID_HANDLE;
}

API cuKernelGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *bytes)
{
    (void)index, (void)offset, (void)bytes;
    return fake_loaded(kernel) ? XS_CU_INVALID_VALUE : INVALID_HANDLE;
}
