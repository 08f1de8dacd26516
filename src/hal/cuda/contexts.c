/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: their device, the streams in them that have hardware queues, and where their device
 * sees the words of the client page.
 *
 * Each context gets mappings of its own of the pages that it needs (the same memory at another
 * address) and registers those, so that a registration lives exactly as long as its context. One
 * registration for all contexts would have to outlive the context it was made in, hence keep a
 * primary context alive that the program wants gone. */
#include "base/lock.h"
#include "base/log.h"
#include "hal/cuda/hal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES   4096u
#define MAYMOVE      1u

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
    xs_cuda_gates_offer(api, dev);
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

static CUdeviceptr known_page(struct xs_cuda_context *c, uintptr_t page, uint64_t serial)
{
    CUdeviceptr at = 0;

    xs_lock_acquire(&g_lock);
    for (size_t i = 0; i < c->pages; i++)
        if (c->page[i].page == page && c->page[i].serial == serial)
            at = c->page[i].at;
    xs_lock_release(&g_lock);
    return at;
}

static bool keep_page(struct xs_cuda_context *c, uintptr_t page, uint64_t serial, void *alias, CUdeviceptr at)
{
    bool kept = false;

    xs_lock_acquire(&g_lock);
    for (size_t i = 0; i < c->pages; i++)
        if (c->page[i].page == page && c->page[i].serial == serial)
            goto out; /* another thread was first */
    if (c->live && c->pages < XS_CUDA_PAGES) {
        c->page[c->pages].page = page;
        c->page[c->pages].serial = serial;
        c->page[c->pages].alias = alias;
        c->page[c->pages++].at = at;
        kept = true;
    }
out:
    xs_lock_release(&g_lock);
    return kept;
}

CUdeviceptr xs_cuda_device_address(struct xs_cuda_context *c, const void *word, uint64_t serial)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    uintptr_t page = (uintptr_t)word & ~(uintptr_t)(PAGE_BYTES - 1);
    CUdeviceptr at = known_page(c, page, serial);
    struct xs_cuda_entered e;
    bool kept = false;
    CUresult r;
    long alias;

    if (at)
        return at + ((uintptr_t)word - page);
    if (!api->cuMemHostRegister_v2 || !api->cuMemHostGetDevicePointer_v2 || !xs_cuda_enter(c->ctx, &e))
        return 0;
    /* an old size of 0 maps shared memory a second time */
    alias = syscall(SYS_mremap, page, 0L, (long)PAGE_BYTES, (long)MAYMOVE, 0L);
    if (alias == -1) {
        xs_cuda_leave(&e);
        return 0;
    }
    madvise((void *)alias, PAGE_BYTES, 10 /* MADV_DONTFORK */);
    r = api->cuMemHostRegister_v2((void *)alias, PAGE_BYTES, XS_CU_HOST_REGISTER_DEVICEMAP);
    if (r == XS_CU_SUCCESS) {
        r = api->cuMemHostGetDevicePointer_v2(&at, (void *)alias, 0);
        kept = r == XS_CU_SUCCESS && keep_page(c, page, serial, (void *)alias, at);
        if (!kept)
            api->cuMemHostUnregister((void *)alias);
    }
    if (!kept)
        munmap((void *)alias, PAGE_BYTES);
    xs_cuda_leave(&e);
    if (r != XS_CU_SUCCESS) {
        XS_WARN_ONCE("CUDA: the device cannot see the words of the shared pages (error %d)", r);
        return 0;
    }
    at = known_page(c, page, serial);
    return at ? at + ((uintptr_t)word - page) : 0;
}

void xs_cuda_context_add(struct xs_cuda_context *c, struct xs_cuda_hw *hw)
{
    xs_lock_acquire(&g_lock);
    hw->next = c->streams;
    c->streams = hw;
    xs_cuda_ordered_add_locked(c, hw);
    xs_lock_release(&g_lock);
}

void xs_cuda_context_remove(struct xs_cuda_hw *hw)
{
    struct xs_cuda_hw **at;

    xs_lock_acquire(&g_lock);
    for (at = &hw->context->streams; *at; at = &(*at)->next) {
        if (*at == hw) {
            *at = hw->next;
            break;
        }
    }
    xs_cuda_ordered_remove_locked(hw->context, hw);
    xs_lock_release(&g_lock);
}

struct xs_cuda_going {
    struct xs_queue *queue;
    uint64_t queue_id, native;
};

XS_EXPORT struct xs_cuda_context *xsched_priv_cuda_context_going(CUcontext ctx)
{
    struct xs_cuda_context *c;
    struct xs_cuda_going *list;
    size_t n = 0, room = 0;

    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    for (struct xs_cuda_hw *hw = c ? c->streams : NULL; hw; hw = hw->next)
        room++;
    xs_lock_release(&g_lock);
    list = c ? calloc(room + 1, sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    xs_lock_acquire(&g_lock);
    /* Nobody adds to a context that is being destroyed. From here on the storage may be given back. */
    for (struct xs_cuda_hw *hw = c->streams; hw && n < room; hw = hw->next, n++) {
        atomic_store(&hw->gone, true);
        xs_cuda_ordered_remove_locked(c, hw);
        list[n].queue = hw->queue;
        list[n].queue_id = hw->queue_id;
        list[n].native = hw->native;
    }
    c->streams = NULL;
    free(c->going);
    c->going = list;
    c->going_count = n;
    xs_lock_release(&g_lock);
    for (size_t i = 0; i < n; i++)
        xs_cuda_stream_forget(list[i].native);
    return c;
}

XS_EXPORT void xsched_priv_cuda_context_gone(struct xs_cuda_context *c, bool destroyed)
{
    struct xs_cuda_going *list;
    size_t n;

    if (!c)
        return;
    xs_lock_acquire(&g_lock);
    list = c->going;
    n = list ? c->going_count : 0;
    c->going = NULL;
    if (destroyed)
        c->live = false; /* the storage stays: a late reader finds it dead */
    xs_lock_release(&g_lock);
    for (size_t i = 0; destroyed && i < n; i++)
        if (list[i].queue)
            xsched_priv_marks_void(list[i].queue, list[i].queue_id);
    free(list);
    for (size_t i = 0; destroyed && i < c->pages; i++)
        munmap(c->page[i].alias, PAGE_BYTES);
    if (destroyed)
        c->pages = 0;
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
    uint64_t natives[64];
    size_t n = 0;

    if (!ctx && (!api || api->cuCtxGetCurrent(&ctx) != XS_CU_SUCCESS))
        return;
    xs_lock_acquire(&g_lock);
    c = find_locked(ctx);
    for (struct xs_cuda_hw *hw = c ? c->streams : NULL; hw && n < XS_ARRAY_LEN(natives); hw = hw->next)
        natives[n++] = hw->native;
    xs_lock_release(&g_lock);
    for (size_t i = 0; i < n; i++) {
        struct xs_queue *q = xsched_priv_queue_find(kPlatformCUDA, natives[i]);

        if (q)
            fn(q, arg);
    }
}
