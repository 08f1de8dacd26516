/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: their device, the streams in them that have hardware queues, and where their device
 * sees the words of the client page.
 *
 * Each context registers pages of its own (hal/common/pages.h). One registration for all contexts would have to
 * outlive the context it was made in, hence keep a primary context alive that the program wants gone. */
#include "base/lock.h"
#include "base/log.h"
#include "hal/cuda/hal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct xs_lock g_lock;     /* nothing is called under it */
static struct xs_cuda_context *g_contexts;

static struct xs_cuda_context *find_locked(CUcontext ctx)
{
    for (struct xs_cuda_context *c = g_contexts; c; c = c->next)
        if (c->live && c->ctx == ctx)
            return c;
    return NULL;
}

static XDevice identity(const struct xs_cuda_api *api, CUdevice dev)
{
    int domain = 0, bus = 0, device = 0;

    api->cuDeviceGetAttribute(&domain, XS_CU_ATTR_PCI_DOMAIN, dev);
    api->cuDeviceGetAttribute(&bus, XS_CU_ATTR_PCI_BUS, dev);
    api->cuDeviceGetAttribute(&device, XS_CU_ATTR_PCI_DEVICE, dev);
    return (XDevice)kDeviceTypeGPU << 32 | (uint32_t)domain << 16 | ((uint32_t)bus & 0xff) << 8 |
           ((uint32_t)device & 0x1f) << 3;
}

static bool is_primary(const struct xs_cuda_api *api, CUdevice dev, CUcontext ctx)
{
    CUcontext primary = NULL;

    if (!xsched_priv_cuda_primary_active(dev) || !api->cuDevicePrimaryCtxRetain ||
        api->cuDevicePrimaryCtxRetain(&primary, dev) != XS_CU_SUCCESS)
        return false;
    api->cuDevicePrimaryCtxRelease_v2(dev);
    return primary == ctx;
}

/* A driver that does not know the question is tried. */
static bool writes(const struct xs_cuda_api *api, CUdevice dev)
{
    int has = 1;

    if (api->cuDeviceGetAttribute(&has, XS_CU_ATTR_MEM_OPS_64, dev) != XS_CU_SUCCESS)
        has = 1;
    return has && api->cuStreamWriteValue64_v2 && api->cuMemHostRegister_v2;
}

struct xs_cuda_context *xs_cuda_context_get(CUcontext ctx)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_context *c, *other;
    struct xs_cuda_entered e;
    CUdevice dev = 0;
    bool primary, ok;

    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    xs_lock_release(&g_lock);
    if (c || !xs_cuda_enter(ctx, &e))
        return c;
    ok = api->cuCtxGetDevice(&dev) == XS_CU_SUCCESS;
    primary = ok && is_primary(api, dev, ctx);
    xs_cuda_leave(&e);
    if (!ok)
        return NULL;
    c = NULL;
    if (posix_memalign((void **)&c, XS_CACHE_LINE, sizeof(*c)) == 0)
        memset(c, 0, sizeof(*c));
    if (!c)
        return NULL;
    c->ctx = ctx;
    c->dev = dev;
    c->device = identity(api, dev);
    c->primary = primary;
    c->live = true;
    c->writes = writes(api, dev);
    xs_cuda_gates_offer(api, c->writes);
    xs_lock_acquire(&g_lock);
    other = find_locked(ctx);
    if (!other) {
        c->next = g_contexts;
        g_contexts = c;
    }
    xs_lock_release(&g_lock);
    if (other)
        free(c);
    return other ? other : c;
}

static bool is_live(struct xs_cuda_context *c)
{
    bool live;

    xs_lock_acquire(&g_lock);
    live = c->live;
    xs_lock_release(&g_lock);
    return live;
}

CUdeviceptr xs_cuda_device_address(struct xs_cuda_context *c, const void *word, uint64_t serial)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    CUdeviceptr at = xs_pages_find(&c->pages, word, serial);
    uintptr_t page = xs_page_of(word);
    struct xs_cuda_entered e;
    bool kept = false;
    void *alias;
    CUresult r;

    if (at)
        return at;
    if (!api->cuMemHostRegister_v2 || !api->cuMemHostGetDevicePointer_v2 || !xs_cuda_enter(c->ctx, &e))
        return 0;
    alias = xs_page_alias(page);
    if (!alias) {
        xs_cuda_leave(&e);
        return 0;
    }
    r = api->cuMemHostRegister_v2(alias, XS_PAGE_BYTES, XS_CU_HOST_REGISTER_DEVICEMAP);
    if (r == XS_CU_SUCCESS) {
        r = api->cuMemHostGetDevicePointer_v2(&at, alias, 0);
        kept = r == XS_CU_SUCCESS && is_live(c) && xs_pages_keep(&c->pages, page, serial, alias, at);
        if (!kept)
            api->cuMemHostUnregister(alias);
    }
    if (!kept)
        munmap(alias, XS_PAGE_BYTES);
    xs_cuda_leave(&e);
    if (r != XS_CU_SUCCESS) {
        XS_WARN_ONCE("CUDA: the device cannot see the words of the shared pages (error %d)", r);
        return 0;
    }
    return xs_pages_find(&c->pages, word, serial);
}

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_context_going(CUcontext ctx)
{
    struct xs_cuda_context *c;
    struct xs_taken *taken, *before;

    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    xs_lock_release(&g_lock);
    taken = c ? xs_group_take(&xs_cuda_streams, &c->group) : NULL;
    if (!taken)
        return NULL;
    xs_lock_acquire(&g_lock);
    before = c->taken;
    c->taken = taken;
    xs_lock_release(&g_lock);
    xs_taken_end(before, false);
    xs_watch_hold(&c->watch);
    return c;
}

XS_EXPORT void xsched_priv_cuda_context_quiet(struct xs_cuda_context *c, bool quiet)
{
    if (c && quiet)
        xs_watch_hold(&c->watch);
    else if (c)
        xs_watch_go_on(&c->watch);
}

XS_EXPORT void xsched_priv_cuda_context_gone(struct xs_cuda_context *c, bool destroyed)
{
    struct xs_taken *taken;

    if (!c)
        return;
    xs_lock_acquire(&g_lock);
    taken = c->taken;
    c->taken = NULL;
    if (destroyed)
        c->live = false; /* the storage stays: a late reader finds it dead */
    xs_lock_release(&g_lock);
    if (destroyed)
        xs_watch_forget(&xs_cuda_watch, &c->watch); /* before their queues may be used again */
    xs_watch_go_on(&c->watch);
    xs_taken_end(taken, destroyed);
    if (destroyed)
        xs_pages_drop(&c->pages);
}

XS_EXPORT bool xsched_priv_cuda_primary_active(CUdevice dev)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    unsigned flags = 0;
    int active = 0;

    return api && api->cuDevicePrimaryCtxGetState &&
           api->cuDevicePrimaryCtxGetState(dev, &flags, &active) == XS_CU_SUCCESS && active;
}

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_primary(CUdevice dev)
{
    struct xs_cuda_context *c;

    xs_lock_acquire(&g_lock);
    for (c = g_contexts; c; c = c->next)
        if (c->live && c->primary && c->dev == dev)
            break;
    xs_lock_release(&g_lock);
    return c;
}

XS_EXPORT void xsched_priv_cuda_each_queue(CUcontext ctx, void (*fn)(struct xs_queue *q, void *arg), void *arg)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_context *c;

    if (!ctx && (!api || api->cuCtxGetCurrent(&ctx) != XS_CU_SUCCESS))
        return;
    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    xs_lock_release(&g_lock);
    if (c)
        xs_group_each_queue(&xs_cuda_streams, &c->group, fn, arg);
}
