/* SPDX-License-Identifier: Apache-2.0 */
/* The program's allocations, by reserved addresses and mapped blocks.
 *
 * What differs from the driver's own allocation, as measured on an H200 with driver 580: the end of a context frees
 * nothing (context_gone does), unmapping waits for no work (a free does), access from other devices is given for each
 * range (peer), pointer attributes tell of blocks (the shim mends that), and cuIpcGetMemHandle refuses it.
 *
 * Freed addresses stay ours. Their memory stays as well, up to a bound: reserving, creating and mapping each time takes
 * longer than the driver's allocation, and none of them takes less. */
#include "hal/cuda/swap/serve.h"

#include "base/env.h"
#include "base/log.h"
#include "hal/cuda/swap/pause.h"
#include "hal/cuda/swap/store.h"

#include <string.h>

#define KEEP_MOST      ((size_t)1 << 30)   /* bytes of memory kept, on all devices */
#define CAPTURE_FIRST  900                 /* errors of calls that a capture does not allow */
#define CAPTURE_LAST   910
#define TYPE_PINNED    1
#define WHERE_DEVICE   1
#define READ_WRITE     3

#define BIT(state)     (1u << XS_SWAP_##state)

/* Lock 7: the ranges of served memory. Allocations and frees of the program hold it for a few stores, and release it
 * before each call of the driver. */
static struct xs_lock g_lock;
static struct xs_swap g_swap = {.lock = &g_lock};
static _Atomic bool g_on;         /* the shim serves memory; writer: xsched_priv_cuda_swap_begin */

static bool has_functions(const struct xs_cuda_api *api)
{
    return api->cuMemAddressReserve && api->cuMemAddressFree && api->cuMemCreate && api->cuMemRelease && api->cuMemMap &&
           api->cuMemUnmap && api->cuMemSetAccess && api->cuMemHostRegister_v2 && api->cuMemHostUnregister &&
           api->cuMemcpyDtoHAsync_v2 && api->cuMemcpyHtoDAsync_v2 && api->cuStreamCreateWithPriority &&
           api->cuStreamDestroy_v2 && api->cuEventCreate && api->cuEventRecord && api->cuEventSynchronize &&
           api->cuEventDestroy_v2 && api->cuCtxSynchronize && api->cuThreadExchangeStreamCaptureMode;
}

static bool decide(void)
{
    const struct xs_cuda_api *api;

    if (!xs_env_bool(XS_ENV_XSCHED_SWAP, false) || xs_env_bool(XS_ENV_XSCHED_DISABLE, false))
        return false;
    api = xsched_priv_cuda_api(NULL);
    if (!api || !has_functions(api)) {
        XS_WARN_ONCE("swap: this driver lacks functions that it needs; device memory stays where it is");
        return false;
    }
    g_swap.api = api;
    return true;
}

/* Threads that decide at once find the same. */
XS_EXPORT bool xsched_priv_cuda_swap_begin(void)
{
    if (atomic_load_explicit(&g_on, memory_order_acquire)) /* pairs with the release below */
        return true;
    if (!decide())
        return false;
    xs_swap_pause_init(xs_swap_steer_waits);
    atomic_store_explicit(&g_on, true, memory_order_release);
    xs_swap_steer_begin();
    return true;
}

bool xs_swap_is_on(void)
{
    return atomic_load_explicit(&g_on, memory_order_acquire); /* pairs with xsched_priv_cuda_swap_begin */
}

struct xs_swap *xs_swap_get(void)
{
    return &g_swap;
}

/* ---- memory of a range, for the thread whose range it is ---- */

/* Whether other machines' devices may reach such memory, as they may reach the driver's own allocations. */
static bool takes_rdma(struct xs_swap *s, int dev)
{
    int can = 0;

    if (dev < 0 || dev >= XS_SWAP_DEVICES)
        return false;
    if (!s->asked[dev]) { /* any thread finds the same */
        s->rdma[dev] = s->api->cuDeviceGetAttribute(&can, XS_CU_ATTR_RDMA_MAPPED, dev) == XS_CU_SUCCESS && can;
        s->asked[dev] = true;
    }
    return s->rdma[dev];
}

CUresult xs_swap_create(struct xs_swap *s, int dev, size_t bytes, uint64_t *ret)
{
    struct xs_cu_mem_properties p;

    memset(&p, 0, sizeof(p));
    p.type = TYPE_PINNED;
    p.location = (struct xs_cu_location){WHERE_DEVICE, dev};
    p.rdma = takes_rdma(s, dev);
    return s->api->cuMemCreate(ret, bytes, &p, 0);
}

void xs_swap_release(struct xs_swap *s, uint64_t handle)
{
    if (handle && s->api->cuMemRelease(handle) != XS_CU_SUCCESS)
        XS_WARN_ONCE("swap: the driver did not take a block of memory back");
}

CUresult xs_swap_unmap(struct xs_swap *s, const struct xs_swap_range *r, unsigned block)
{
    return s->api->cuMemUnmap(r->at + block * XS_SWAP_BLOCK, xs_swap_block_bytes(r, block));
}

/* To blocks that are all mapped. */
static CUresult give_access(struct xs_swap *s, const struct xs_swap_range *r, unsigned first, unsigned blocks)
{
    size_t from = first * XS_SWAP_BLOCK, to = XS_MIN(r->bytes, (first + blocks) * XS_SWAP_BLOCK), n = 0;
    struct xs_cu_mem_access access[XS_SWAP_DEVICES];

    for (int dev = 0; dev < XS_SWAP_DEVICES; dev++)
        if (dev == r->dev || (r->dev < XS_SWAP_DEVICES && s->users[r->dev] & 1u << dev))
            access[n++] = (struct xs_cu_mem_access){{WHERE_DEVICE, dev}, READ_WRITE};
    return s->api->cuMemSetAccess(r->at + from, to - from, access, n);
}

CUresult xs_swap_map(struct xs_swap *s, const struct xs_swap_range *r, unsigned first, unsigned n, const uint64_t *handles)
{
    CUresult err = XS_CU_SUCCESS;
    unsigned mapped = 0;

    while (mapped < n && err == XS_CU_SUCCESS) {
        size_t at = (first + mapped) * XS_SWAP_BLOCK;

        err = s->api->cuMemMap(r->at + at, xs_swap_block_bytes(r, first + mapped), 0, handles[mapped], 0);
        mapped += err == XS_CU_SUCCESS;
    }
    if (err == XS_CU_SUCCESS)
        err = give_access(s, r, first, n);
    while (err != XS_CU_SUCCESS && mapped > 0)
        xs_swap_unmap(s, r, first + --mapped);
    return err;
}

bool xs_swap_drop(struct xs_swap *s, struct xs_swap_range *r)
{
    bool all = true;

    for (unsigned i = 0; i < xs_swap_blocks(r->bytes); i++) {
        if (!r->handles[i])
            continue;
        if (xs_swap_unmap(s, r, i) != XS_CU_SUCCESS) {
            all = false;
            continue;
        }
        xs_swap_release(s, r->handles[i]);
        r->handles[i] = 0;
    }
    return all;
}

CUresult xs_swap_drain(struct xs_swap *s, void *ctx)
{
    struct xs_cuda_entered e;
    CUresult err = XS_CU_NOT_FOUND;

    if (xs_cuda_enter(ctx, &e)) {
        err = s->api->cuCtxSynchronize();
        xs_cuda_leave(&e);
    }
    return err;
}

/* ---- states; the caller's range is BUSY ---- */

static bool is_used(enum xs_swap_state state)
{
    return state == XS_SWAP_USED || state == XS_SWAP_OUT;
}

/* Counts it among what can move as long as the program has it. */
static void become_locked(struct xs_swap *s, struct xs_swap_range *r, enum xs_swap_state state)
{
    if (is_used(r->state) != is_used(state) && !r->stays) {
        s->movable = is_used(state) ? s->movable + r->bytes : s->movable - r->bytes;
        xsched_priv_memory_movable(s->movable);
    }
    r->state = state;
}

static void set(struct xs_swap *s, struct xs_swap_range *r, enum xs_swap_state state)
{
    xs_lock_acquire(s->lock);
    become_locked(s, r, state);
    xs_lock_release(s->lock);
}

/* The program no longer uses its memory. A block that the driver does not unmap stays BUSY, and is never used again. */
static void empty(struct xs_swap *s, struct xs_swap_range *r)
{
    bool gone = xs_swap_drop(s, r);

    if (gone)
        r->stays = false;
    set(s, r, gone ? XS_SWAP_EMPTY : XS_SWAP_BUSY);
}

/* Its memory is no longer the program's, and nothing uses it. */
static void retire(struct xs_swap *s, struct xs_swap_range *r)
{
    bool keep;

    xs_lock_acquire(s->lock);
    keep = !r->stays && r->bytes <= KEEP_MOST && xs_swap_table_bytes(&s->table, BIT(KEPT), -1) <= KEEP_MOST - r->bytes;
    if (keep)
        r->state = XS_SWAP_KEPT;
    xs_lock_release(s->lock);
    if (keep)
        return;
    empty(s, r);
}

/* The next range in one of these states becomes BUSY; NULL: there is none.
 * @param owner, before  only of this context, and of allocations up to that number; NULL: any */
static struct xs_swap_range *take_one(struct xs_swap *s, unsigned states, const void *owner, uint64_t before)
{
    struct xs_swap_range *r;
    unsigned from = 0;

    xs_lock_acquire(s->lock);
    do
        r = xs_swap_table_next(&s->table, states, &from);
    while (r && owner && (r->owner != owner || r->number > before));
    if (r)
        become_locked(s, r, XS_SWAP_BUSY);
    xs_lock_release(s->lock);
    return r;
}

XS_EXPORT bool xsched_priv_cuda_swap_give_back(void)
{
    struct xs_swap *s = &g_swap;
    struct xs_swap_range *r;
    bool any = false;

    while ((r = take_one(s, BIT(KEPT), NULL, 0)) != NULL) {
        any = true;
        empty(s, r);
    }
    return any;
}

XS_EXPORT size_t xsched_priv_cuda_swap_kept(CUdevice dev)
{
    size_t bytes;

    xs_lock_acquire(g_swap.lock);
    bytes = xs_swap_table_bytes(&g_swap.table, BIT(KEPT), dev);
    xs_lock_release(g_swap.lock);
    return bytes;
}

/* Memory that was freed within a capture: no context could be waited for. */
static void finish_frees(struct xs_swap *s)
{
    struct xs_swap_range *r;

    if (atomic_load_explicit(&xsched_priv_cuda_captures, memory_order_relaxed)) /* a hint */
        return;
    while ((r = take_one(s, BIT(FREED), NULL, 0)) != NULL) {
        if (xs_swap_drain(s, r->owner) != XS_CU_SUCCESS) {
            set(s, r, XS_SWAP_FREED);
            return;
        }
        retire(s, r);
    }
}

/* ---- contexts, under the lock ---- */

static struct xs_swap_context *context_locked(struct xs_swap *s, CUcontext ctx)
{
    for (unsigned i = 0; i < XS_SWAP_CONTEXTS; i++)
        if (s->contexts[i].ctx == ctx)
            return &s->contexts[i];
    return NULL;
}

static void context_made_locked(struct xs_swap *s, CUcontext ctx, CUdevice dev)
{
    struct xs_swap_context *c = context_locked(s, ctx);

    if (!c)
        c = context_locked(s, NULL);
    if (c)
        *c = (struct xs_swap_context){ctx, dev, ++s->allocations};
    else
        s->more_contexts = true;
}

/* With whose end memory ends that is allocated in a context. One that nobody made is a green one. */
static CUcontext owner_locked(struct xs_swap *s, CUcontext ctx, CUdevice dev)
{
    if (!context_locked(s, ctx))
        for (unsigned i = 0; i < XS_SWAP_CONTEXTS; i++)
            if (s->contexts[i].ctx && s->contexts[i].primary_of == dev)
                return s->contexts[i].ctx;
    return ctx;
}

XS_EXPORT void xsched_priv_cuda_swap_context_made(CUcontext ctx, CUdevice dev)
{
    if (!ctx)
        return;
    xs_lock_acquire(g_swap.lock);
    context_made_locked(&g_swap, ctx, dev);
    xs_lock_release(g_swap.lock);
}

/* ---- allocate ---- */

static CUresult create_all(struct xs_swap *s, struct xs_swap_range *r)
{
    unsigned n = xs_swap_blocks(r->bytes), made = 0;
    CUresult err = XS_CU_SUCCESS;

    while (made < n && err == XS_CU_SUCCESS) {
        err = xs_swap_create(s, r->dev, xs_swap_block_bytes(r, made), &r->handles[made]);
        made += err == XS_CU_SUCCESS;
    }
    if (err == XS_CU_SUCCESS)
        return err;
    r->handles[made] = 0;
    while (made > 0) {
        xs_swap_release(s, r->handles[--made]);
        r->handles[made] = 0;
    }
    return err;
}

static CUresult map_all(struct xs_swap *s, struct xs_swap_range *r)
{
    unsigned n = xs_swap_blocks(r->bytes);
    CUresult err = xs_swap_map(s, r, 0, n, r->handles);

    for (unsigned i = 0; err != XS_CU_SUCCESS && i < n; i++) {
        xs_swap_release(s, r->handles[i]);
        r->handles[i] = 0;
    }
    return err;
}

static CUresult fill(struct xs_swap *s, struct xs_swap_range *r)
{
    CUresult err = create_all(s, r);

    if (err == XS_CU_OUT_OF_MEMORY && xsched_priv_cuda_swap_give_back())
        err = create_all(s, r);
    return err == XS_CU_SUCCESS ? map_all(s, r) : err;
}

static CUresult reserve(struct xs_swap *s, size_t bytes, int dev, struct xs_swap_range **ret)
{
    CUdeviceptr at;
    CUresult err = s->api->cuMemAddressReserve(&at, bytes, 0, 0, 0);
    struct xs_swap_range *r;
    bool added;

    if (err != XS_CU_SUCCESS)
        return err;
    r = xs_swap_range_new(at, bytes, dev);
    xs_lock_acquire(s->lock);
    added = r && xs_swap_table_add(&s->table, r);
    xs_lock_release(s->lock);
    if (added) {
        *ret = r;
        return XS_CU_SUCCESS;
    }
    s->api->cuMemAddressFree(at, bytes);
    if (r)
        xs_swap_range_free(r);
    return XS_CU_OUT_OF_MEMORY;
}

XS_EXPORT CUresult xsched_priv_cuda_swap_alloc(CUdeviceptr *ret, size_t wanted)
{
    struct xs_swap *s = &g_swap;
    size_t bytes = xs_swap_round(wanted);
    CUresult err = XS_CU_SUCCESS;
    struct xs_swap_range *r;
    CUcontext ctx = NULL;
    bool memory = false;
    CUdevice dev;

    if (!ret || !bytes || wanted < XS_SWAP_LEAST)
        return XS_SWAP_NOT_SERVED;
    if (s->api->cuCtxGetCurrent(&ctx) != XS_CU_SUCCESS || !ctx || s->api->cuCtxGetDevice(&dev) != XS_CU_SUCCESS)
        return XS_SWAP_NOT_SERVED; /* the driver's own error */
    finish_frees(s);
    xs_lock_acquire(s->lock);
    r = xs_swap_table_take(&s->table, bytes, dev, &memory);
    xs_lock_release(s->lock);
    if (!r)
        err = reserve(s, bytes, dev, &r);
    if (err == XS_CU_SUCCESS && !memory) {
        r->bytes = bytes;
        err = fill(s, r);
        while (err == XS_CU_OUT_OF_MEMORY && xsched_priv_cuda_swap_want(bytes))
            err = fill(s, r);
        if (err != XS_CU_SUCCESS)
            set(s, r, XS_SWAP_EMPTY);
    }
    if (err != XS_CU_SUCCESS) {
        if (err == XS_CU_OUT_OF_MEMORY)
            return err;
        xsched_priv_cuda_swap_other(XS_SWAP_OTHER_REFUSED);
        return XS_SWAP_NOT_SERVED;
    }
    *ret = r->at;
    xs_lock_acquire(s->lock);
    r->owner = owner_locked(s, ctx, dev);
    r->wanted = wanted;
    r->number = ++s->allocations;
    become_locked(s, r, XS_SWAP_USED);
    xs_lock_release(s->lock);
    return XS_CU_SUCCESS;
}

/* ---- free ---- */

XS_EXPORT CUresult xsched_priv_cuda_swap_free(CUdeviceptr at)
{
    struct xs_swap *s = &g_swap;
    struct xs_swap_range *r;
    bool out = false;
    CUresult err;

    xs_lock_acquire(s->lock);
    r = xs_swap_table_find(&s->table, at);
    if (r && (r->at != at || (r->state != XS_SWAP_USED && r->state != XS_SWAP_OUT)))
        r = NULL;
    if (r) {
        out = r->state == XS_SWAP_OUT;
        become_locked(s, r, XS_SWAP_BUSY);
    }
    xs_lock_release(s->lock);
    if (!r)
        return XS_SWAP_NOT_SERVED;
    if (out) { /* its bytes in the store are nobody's, and nothing runs */
        empty(s, r);
        return XS_CU_SUCCESS;
    }
    err = xs_swap_drain(s, r->owner);
    if (err >= CAPTURE_FIRST && err <= CAPTURE_LAST) {
        set(s, r, XS_SWAP_FREED);
        return XS_CU_SUCCESS;
    }
    if (err != XS_CU_SUCCESS) {
        set(s, r, XS_SWAP_USED);
        return err;
    }
    retire(s, r);
    return XS_CU_SUCCESS;
}

XS_EXPORT uint64_t xsched_priv_cuda_swap_before(void)
{
    uint64_t before;

    xs_lock_acquire(g_swap.lock);
    before = g_swap.allocations;
    xs_lock_release(g_swap.lock);
    return before;
}

XS_EXPORT void xsched_priv_cuda_swap_context_gone(CUcontext ctx, uint64_t before)
{
    struct xs_swap *s = &g_swap;
    struct xs_swap_context *c;
    struct xs_swap_range *r;

    xs_lock_acquire(s->lock);
    c = ctx ? context_locked(s, ctx) : NULL;
    if (c && c->number <= before)
        c->ctx = NULL;
    xs_lock_release(s->lock);
    while ((r = take_one(s, BIT(USED) | BIT(OUT) | BIT(FREED) | BIT(KEPT), ctx, before)) != NULL)
        empty(s, r);
    xs_swap_store_context_gone(ctx);
}

/* ---- what the program and others know of it ---- */

XS_EXPORT bool xsched_priv_cuda_swap_find(CUdeviceptr at, struct xs_swap_served *ret)
{
    struct xs_swap *s = &g_swap;
    const struct xs_swap_range *r;
    bool found;

    xs_lock_acquire(s->lock);
    r = xs_swap_table_find(&s->table, at);
    found = r && (r->state == XS_SWAP_USED || r->state == XS_SWAP_OUT) && at - r->at < r->bytes;
    if (found)
        *ret = (struct xs_swap_served){r->at, r->wanted, r->bytes, r->owner};
    xs_lock_release(s->lock);
    return found;
}

XS_EXPORT void xsched_priv_cuda_swap_stays(CUdeviceptr at)
{
    struct xs_swap *s = &g_swap;
    struct xs_swap_range *r;
    bool first;

    xs_lock_acquire(s->lock);
    r = xs_swap_table_find(&s->table, at);
    first = r && r->state == XS_SWAP_USED && !r->stays;
    if (first) {
        become_locked(s, r, XS_SWAP_BUSY); /* no longer among what can move */
        r->stays = true;
        become_locked(s, r, XS_SWAP_USED);
    }
    xs_lock_release(s->lock);
    if (first)
        xsched_priv_cuda_swap_other(XS_SWAP_OTHER_EXPORTED);
}

XS_EXPORT void xsched_priv_cuda_swap_peer(CUdevice memory, CUdevice user)
{
    struct xs_swap *s = &g_swap;
    struct xs_swap_range *r;
    unsigned from = 0;

    if (memory < 0 || memory >= XS_SWAP_DEVICES || user < 0 || user >= XS_SWAP_DEVICES)
        return;
    xs_lock_acquire(s->lock);
    s->users[memory] |= 1u << user;
    while ((r = xs_swap_table_next(&s->table, BIT(USED) | BIT(KEPT) | BIT(FREED), &from)) != NULL) {
        enum xs_swap_state state = r->state;

        if (r->dev != memory)
            continue;
        r->state = XS_SWAP_BUSY;
        xs_lock_release(s->lock);
        give_access(s, r, 0, xs_swap_blocks(r->bytes));
        xs_lock_acquire(s->lock);
        r->state = state;
    }
    xs_lock_release(s->lock);
}

const char *xs_swap_other_text(enum xs_swap_other what)
{
    static const char *const texts[] = {
#define OTHER(symbol, text) [XS_SWAP_OTHER_##symbol] = text,
#include "hal/cuda/swap/others.def"
#undef OTHER
    };

    return texts[what];
}

XS_EXPORT void xsched_priv_cuda_swap_other(enum xs_swap_other what)
{
    atomic_fetch_add_explicit(&g_swap.others[what], 1, memory_order_relaxed); /* for people */
}
