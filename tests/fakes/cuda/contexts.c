/* SPDX-License-Identifier: Apache-2.0 */
/* Start, devices, contexts. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static struct CUctx_st *g_primary[DEVICES];
static int g_primary_refs[DEVICES];
static bool g_init;
static _Thread_local CUcontext t_stack[16];
static _Thread_local int t_depth;

CUcontext fake_current(void)
{
    return t_depth ? t_stack[t_depth - 1] : NULL;
}

/* For tests. */
__attribute__((visibility("default"))) void (*fake_cuda_on_free)(void);

void fake_freed(void)
{
    if (fake_cuda_on_free)
        fake_cuda_on_free();
}

API cuInit(unsigned flags)
{
    const char *error = getenv("FAKE_MPS_ERROR");

    FAKE_RECORD("", 0, flags);
    if (error && fake_mps())
        return atoi(error);
    if (fake_visible(NULL) == 0)
        return XS_CU_NO_DEVICE;
    while (fake_without("hangs"))
        sleep(1);
    pthread_mutex_lock(&fake_lock);
    g_init = true;
    fake_devices_start_locked();
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuDriverGetVersion(int *v)
{
    *v = 13000;
    return 0;
}

API cuDeviceGetCount(int *n)
{
    *n = fake_visible(NULL);
    return g_init ? 0 : XS_CU_NOT_INITIALIZED;
}

API cuDeviceGet(CUdevice *d, int i)
{
    int list[DEVICES];

    if (i < 0 || i >= fake_visible(list))
        return 101;
    *d = list[i];
    return g_init ? 0 : XS_CU_NOT_INITIALIZED;
}

API cuDeviceGetAttribute(int *v, int attribute, CUdevice d)
{
    *v = attribute == XS_CU_ATTR_PCI_BUS ? 0x10 + d : 0;
    if (attribute == XS_CU_ATTR_MEM_OPS_64)
        *v = !fake_without("no_memory_ops");
    if (attribute == XS_CU_ATTR_MPS)
        *v = fake_mps();
    return 0;
}

static CUcontext new_context(int dev, CUcontext green_of)
{
    static unsigned long long contexts; /* under fake_lock */
    struct CUctx_st *c = calloc(1, sizeof(*c));

    c->dev = dev;
    c->id = ++contexts;
    c->green_of = green_of;
    if (green_of)
        c->slot = green_of->slot;
    else
        fake_group_new(c);
    fake_stream_new(c, 0, 0)->legacy = true;
    c->next = fake_contexts;
    fake_contexts = c;
    return c;
}

API cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice d)
{
    (void)flags;
    pthread_mutex_lock(&fake_lock);
    *ret = new_context(d, NULL);
    pthread_mutex_unlock(&fake_lock);
    t_stack[t_depth++] = *ret;
    return 0;
}

static void end_context(CUcontext c)
{
    for (struct CUctx_st **p = &fake_contexts; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next; /* its work is dropped; what runs ends */
            break;
        }
    for (struct CUstream_st *s = c->streams; s; s = s->next)
        while (s->running)
            pthread_cond_wait(&fake_changed, &fake_lock);
    fake_host_memory_of_context_ends_locked(c);
    fake_memory_of_context_ends_locked(c);
    if (!c->green_of)
        fake_group_ends(c);
}

API cuCtxDestroy_v2(CUcontext c)
{
    pthread_mutex_lock(&fake_lock);
    end_context(c);
    pthread_mutex_unlock(&fake_lock);
    if (t_depth && fake_current() == c)
        t_depth--;
    fake_freed();
    return 0;
}

API cuCtxAttach(CUcontext *ret, unsigned flags)
{
    if (!fake_current() || flags)
        return INVALID_CONTEXT;
    *ret = fake_current();
    fake_current()->attached++;
    return 0;
}

API cuCtxDetach(CUcontext c)
{
    if (!c || fake_current() != c)
        return INVALID_CONTEXT;
    if (c->attached) {
        c->attached--;
        return 0;
    }
    return cuCtxDestroy_v2(c);
}

static _Atomic int g_asked;       /* which context is current */

API fake_cuda_asked(void)
{
    return g_asked;
}

API cuCtxGetCurrent(CUcontext *ret)
{
    g_asked++;
    *ret = fake_current();
    return 0;
}

API cuCtxSetCurrent(CUcontext c)
{
    if (!t_depth)
        t_depth = 1;
    t_stack[t_depth - 1] = c;
    return 0;
}

API cuCtxPushCurrent_v2(CUcontext c)
{
    if (t_depth == (int)(sizeof(t_stack) / sizeof(t_stack[0])))
        return XS_CU_OUT_OF_MEMORY;
    t_stack[t_depth++] = c;
    return 0;
}

API cuCtxPopCurrent_v2(CUcontext *ret)
{
    if (!t_depth)
        return INVALID_CONTEXT;
    *ret = t_stack[--t_depth];
    return 0;
}

API cuCtxGetDevice(CUdevice *d)
{
    if (!fake_current())
        return INVALID_CONTEXT;
    *d = fake_current()->dev;
    return 0;
}

CUresult fake_context_synchronize(void)
{
    CUresult r;

    if (!fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        for (struct CUstream_st *s = c == fake_current() || c->green_of == fake_current() ? c->streams : NULL; s; s = s->next)
            fake_drain(s);
    r = fake_lost ? ILLEGAL_ADDRESS : 0;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuCtxSynchronize(void)
{
    return fake_context_synchronize();
}

static void (*_Atomic g_on_retain)(void), (*_Atomic g_on_release)(void);

static void call(void (*fn)(void))
{
    if (fn)
        fn();
}

/* Call each, NULL: nothing, in a thread whose primary context is retained or released, before it is told so. */
void fake_cuda_on_primary(void (*retain)(void), void (*release)(void)) __attribute__((visibility("default")));
void fake_cuda_on_primary(void (*retain)(void), void (*release)(void))
{
    atomic_store(&g_on_retain, retain);
    atomic_store(&g_on_release, release);
}

API cuCtxGetId(CUcontext c, unsigned long long *ret)
{
    if (!c && !(c = fake_current()))
        return INVALID_CONTEXT;
    *ret = c->id;
    return 0;
}

API cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d)
{
    pthread_mutex_lock(&fake_lock);
    if (!g_primary[d]) {
        g_primary[d] = new_context(d, NULL);
        g_primary[d]->primary = true;
    }
    g_primary_refs[d]++;
    *ret = g_primary[d];
    pthread_mutex_unlock(&fake_lock);
    call(atomic_load(&g_on_retain));
    return 0;
}

static void release_locked(int d)
{
    if (g_primary_refs[d] && --g_primary_refs[d] == 0) {
        end_context(g_primary[d]);
        g_primary[d] = NULL;
    }
}

CUcontext fake_green_new_locked(int dev, unsigned multiprocessors)
{
    CUcontext c;

    if (!g_primary[dev])
        return NULL;
    g_primary_refs[dev]++;
    c = new_context(dev, g_primary[dev]);
    c->multiprocessors = multiprocessors;
    return c;
}

void fake_green_end_locked(CUcontext green)
{
    end_context(green);
    release_locked(green->dev);
}

static bool has_greens(CUcontext primary)
{
    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        if (primary && c->green_of == primary)
            return true;
    return false;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    pthread_mutex_lock(&fake_lock);
    release_locked(d);
    pthread_mutex_unlock(&fake_lock);
    call(atomic_load(&g_on_release));
    return 0;
}

API cuDevicePrimaryCtxReset_v2(CUdevice d)
{
    pthread_mutex_lock(&fake_lock);
    if (has_greens(g_primary[d])) {
        pthread_mutex_unlock(&fake_lock);
        return NOT_PERMITTED;
    }
    if (g_primary[d])
        end_context(g_primary[d]);
    g_primary[d] = NULL;
    g_primary_refs[d] = 0;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active)
{
    *flags = 0;
    *active = g_primary[d] != NULL;
    return 0;
}
