/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: their device, the streams in them that have hardware queues, and where their device sees the
 * words of the client page.
 *
 * Each context registers pages of its own (hal/common/device_pages.h). One registration for all contexts
 * would have to outlive the context that made it. So it would keep a primary context alive that the program
 * wants to end. */
#include "base/forks.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/pci.h"
#include "hal/cuda/hal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Lock 7: the list of contexts. A thread that meets one for the first time or ends it holds it. */
static struct xs_lock g_lock;
static struct xs_cuda_context *g_contexts;

static struct xs_cuda_context *find_locked(CUcontext ctx)
{
    for (struct xs_cuda_context *c = g_contexts; c; c = c->next)
        if (c->live && c->ctx == ctx)
            return c;
    return NULL;
}

/* An unused context, or a new one; not live, and the caller's. */
static struct xs_cuda_context *storage(void)
{
    struct xs_cuda_context *c;

    xs_lock_acquire(&g_lock);
    for (c = g_contexts; c; c = c->next)
        if (!c->live && !c->users)
            break;
    if (c)
        c->users = 1;
    xs_lock_release(&g_lock);
    if (c) {
        /* rows that a thread put there too late for the end of it */
        xs_watch_forget(&xs_cuda_watch, &c->watch);
        xs_device_pages_drop(&c->pages, NULL, NULL);
        xs_cuda_mark_stream_gone(c);
        return c;
    }
    if (posix_memalign((void **)&c, XS_CACHE_LINE, sizeof(*c)) != 0)
        return NULL;
    memset(c, 0, sizeof(*c));
    c->users = 1;
    xs_lock_acquire(&g_lock);
    c->next = g_contexts;
    g_contexts = c;
    xs_lock_release(&g_lock);
    return c;
}

struct xs_cuda_context *xs_cuda_context_find(CUcontext ctx)
{
    struct xs_cuda_context *c;

    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    if (c)
        c->users++;
    xs_lock_release(&g_lock);
    return c;
}

void xs_cuda_context_put(struct xs_cuda_context *c)
{
    xs_lock_acquire(&g_lock);
    c->users--;
    xs_lock_release(&g_lock);
}

static bool is_live(struct xs_cuda_context *c)
{
    bool live;

    xs_lock_acquire(&g_lock);
    live = c->live;
    xs_lock_release(&g_lock);
    return live;
}

XDevice xs_cuda_identity(const struct xs_cuda_api *api, CUdevice dev)
{
    int domain = 0, bus = 0, device = 0;

    api->cuDeviceGetAttribute(&domain, XS_CU_ATTR_PCI_DOMAIN, dev);
    api->cuDeviceGetAttribute(&bus, XS_CU_ATTR_PCI_BUS, dev);
    api->cuDeviceGetAttribute(&device, XS_CU_ATTR_PCI_DEVICE, dev);
    return (XDevice)kDeviceTypeGPU << 32 | xs_pci_number((uint32_t)domain, (uint32_t)bus, (uint32_t)device, 0);
}

/* 0: the driver does not say (before CUDA 12). */
static uint64_t id_of(const struct xs_cuda_api *api, CUcontext ctx)
{
    unsigned long long id = 0;

    return api->cuCtxGetId && api->cuCtxGetId(ctx, &id) == XS_CU_SUCCESS ? id : 0;
}

/* 1 active, 0 not, -1 the driver does not say. Repeats the query if need be: a thread that misses an end uses
 * freed objects. */
static int primary_state(const struct xs_cuda_api *api, CUdevice dev)
{
    unsigned flags = 0;
    int active = 0;

    for (int tries = 0; api && api->cuDevicePrimaryCtxGetState && tries < 2; tries++)
        if (api->cuDevicePrimaryCtxGetState(dev, &flags, &active) == XS_CU_SUCCESS)
            return active != 0;
    return -1;
}

/* The device's primary context; NULL: none is active. The query holds a reference for a moment, so that
 * another thread's last reference may end it only with ours. */
static CUcontext look_at_primary(const struct xs_cuda_api *api, CUdevice dev, uint64_t *ret_id)
{
    CUresult (*release)(CUdevice) =
        api->cuDevicePrimaryCtxRelease_v2 ? api->cuDevicePrimaryCtxRelease_v2 : api->cuDevicePrimaryCtxRelease;
    struct xs_cuda_context *c;
    CUcontext primary = NULL;

    if (primary_state(api, dev) != 1 || !api->cuDevicePrimaryCtxRetain || !release ||
        api->cuDevicePrimaryCtxRetain(&primary, dev) != XS_CU_SUCCESS)
        return NULL;
    *ret_id = id_of(api, primary);
    c = xsched_priv_cuda_context_quiet(primary);
    release(dev);
    if (c && is_live(c) && primary_state(api, dev) == 0)
        xsched_priv_cuda_context_gone(xsched_priv_cuda_context_going(primary), true);
    xsched_priv_cuda_context_go_on(c);
    return primary;
}

/* @return false also if the driver does not tell */
static bool made_anew(const struct xs_cuda_api *api, const struct xs_cuda_context *c, CUdevice dev)
{
    uint64_t id = 0;
    CUcontext now = look_at_primary(api, dev, &id);

    return now && (now != c->ctx || (id && c->id && id != c->id));
}

XS_EXPORT void xsched_priv_cuda_primary_released(struct xs_cuda_context *c, CUdevice dev)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);

    if (c && (primary_state(api, dev) != 1 || made_anew(api, c, dev)) && is_live(c))
        xsched_priv_cuda_context_gone(xsched_priv_cuda_context_going(c->ctx), true);
}

/* If the driver does not know the query, tries. */
static bool writes(const struct xs_cuda_api *api, CUdevice dev)
{
    int has = 1;

    if (api->cuDeviceGetAttribute(&has, XS_CU_ATTR_MEM_OPS_64, dev) != XS_CU_SUCCESS)
        has = 1;
    return has && api->cuStreamWriteValue64_v2 && api->cuMemHostRegister_v2 && api->cuMemHostGetDevicePointer_v2;
}

struct xs_cuda_context *xs_cuda_context_get(CUcontext ctx)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_context *c, *other;
    struct xs_cuda_entered e;
    CUdevice dev = 0;
    uint64_t id = 0, any;
    bool primary, ok, has;
    XDevice device;

    c = xs_cuda_context_find(ctx);
    if (c || !xs_cuda_enter(ctx, &e))
        return c;
    ok = api->cuCtxGetDevice(&dev) == XS_CU_SUCCESS;
    primary = ok && look_at_primary(api, dev, &any) == ctx;
    id = id_of(api, ctx);
    xs_cuda_leave(&e);
    if (!ok)
        return NULL;
    device = xs_cuda_identity(api, dev);
    has = writes(api, dev);
    c = storage();
    if (!c)
        return NULL;
    xs_cuda_gates_offer(api, has);
    xs_lock_acquire(&g_lock);
    other = find_locked(ctx);
    if (other) {
        other->users++;
        c->users--;
    } else {
        c->ctx = ctx;
        c->id = id;
        c->dev = dev;
        c->device = device;
        c->primary = primary;
        c->writes = has;
        c->ctx_entries.connections = xs_cuda_connections();
        atomic_store(&c->greens.asked, false);
        c->greens.forks = xs_forks();
        c->live = true;
    }
    xs_lock_release(&g_lock);
    return other ? other : c;
}

/* A registration always stays until the context ends: cuMemHostUnregister waits for all work of the
 * context with its lock held, and that work may wait for this thread. @return 0: the device cannot see it */
static CUdeviceptr map_page(struct xs_cuda_context *c, uintptr_t page, uint64_t serial)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    void *alias = xs_page_alias(page);
    CUdeviceptr at = 0;
    CUresult r;

    if (!alias)
        return 0;
    r = api->cuMemHostRegister_v2(alias, XS_PAGE_BYTES, XS_CU_HOST_REGISTER_DEVICEMAP);
    if (r != XS_CU_SUCCESS) {
        munmap(alias, XS_PAGE_BYTES);
    } else {
        r = api->cuMemHostGetDevicePointer_v2(&at, alias, 0);
        if (r != XS_CU_SUCCESS)
            at = 0;
        if (!xs_device_pages_keep(&c->pages, page, serial, alias, at))
            at = 0;               /* other threads took the last rows meanwhile: the mapping stays too */
    }
    if (r != XS_CU_SUCCESS)
        XS_WARN_ONCE("CUDA: the device cannot see the words of the shared pages (error %d)", r);
    return at;
}

CUdeviceptr xs_cuda_device_address(struct xs_cuda_context *c, const void *word, uint64_t serial)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    CUdeviceptr at = xs_device_pages_find(&c->pages, word, serial);
    uintptr_t page = xs_page_of(word);
    struct xs_cuda_entered e;

    if (at)
        return at;
    if (!api->cuMemHostRegister_v2 || !api->cuMemHostGetDevicePointer_v2 || xs_device_pages_full(&c->pages) ||
        !xs_cuda_enter(c->ctx, &e))
        return 0;
    at = map_page(c, page, serial);
    xs_cuda_leave(&e);
    return at && is_live(c) ? at + ((uintptr_t)word - page) : 0;
}

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_context_going(CUcontext ctx)
{
    struct xs_cuda_context *c = xs_cuda_context_find(ctx);

    xs_cuda_context_ends(ctx);
    if (!c)
        return NULL;
    if (!xs_group_take(&xs_cuda_streams, &c->group)) {
        xs_cuda_context_put(c);
        return NULL;
    }
    xs_watch_hold(&c->watch);
    return c;
}

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_context_quiet(CUcontext ctx)
{
    struct xs_cuda_context *c = ctx ? xs_cuda_context_find(ctx) : NULL;

    if (c)
        xs_watch_hold(&c->watch);
    return c;
}

XS_EXPORT void xsched_priv_cuda_context_go_on(struct xs_cuda_context *c)
{
    if (!c)
        return;
    xs_watch_go_on(&c->watch);
    xs_cuda_context_put(c);
}

XS_EXPORT void xsched_priv_cuda_context_gone(struct xs_cuda_context *c, bool destroyed)
{
    if (!c)
        return;
    xs_lock_acquire(&g_lock);
    if (destroyed)
        c->live = false; /* unused once no stream refers to it: a late reader finds it dead, or another */
    xs_lock_release(&g_lock);
    if (destroyed)
        xs_watch_forget(&xs_cuda_watch, &c->watch); /* before their queues get a new use */
    xs_watch_go_on(&c->watch);
    if (destroyed) {
        xsched_priv_marks_void(&c->ctx_entries);
        xs_device_pages_drop(&c->pages, NULL, NULL);
        xs_cuda_mark_stream_gone(c);
    }
    xs_cuda_context_put(c);
}

XS_EXPORT CUcontext xsched_priv_cuda_primary(CUdevice dev)
{
    struct xs_cuda_context *c;
    CUcontext ctx = NULL;

    xs_lock_acquire(&g_lock);
    for (c = g_contexts; c; c = c->next)
        if (c->live && c->primary && c->dev == dev)
            ctx = c->ctx;
    xs_lock_release(&g_lock);
    return ctx;
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
