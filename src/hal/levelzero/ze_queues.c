/* SPDX-License-Identifier: Apache-2.0 */
/* Which queues and immediate lists there are, and how long. */
#include "hal/levelzero/hal.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static struct xs_map g_queues;    /* by handle */
/* Lock 5: lists of queues and marks, used and free, and changes of g_queues. */
static struct xs_lock g_lock;
static struct xs_ze_hw *g_all, *g_free;
static struct xs_ze_mark *g_free_marks;

/* Most of a thread's calls are on the queue of the last one. An ended queue is `gone` before its record gets
 * another. */
static _Thread_local struct xs_ze_hw *t_last;

XS_EXPORT struct xs_ze_hw *xsched_priv_ze_find(xs_ze_handle native)
{
    struct xs_ze_hw *hw = t_last;

    if (XS_LIKELY(hw && atomic_load_explicit(&hw->native, memory_order_relaxed) == native &&
                  !atomic_load_explicit(&hw->gone, memory_order_acquire)))
        return hw;
    hw = native ? xs_map_get(&g_queues, xs_ze_key(native)) : NULL;
    if (hw)
        t_last = hw;
    return hw;
}

struct xs_ze_mark *xs_ze_mark_new(struct xs_ze_hw *hw)
{
    struct xs_ze_mark *m;

    xs_lock_acquire(&g_lock);
    m = g_free_marks;
    if (m)
        g_free_marks = m->next;
    else
        m = calloc(1, sizeof(*m));
    if (m) {
        *m = (struct xs_ze_mark){.hw = hw, .next = hw->marks};
        hw->marks = m;
    }
    xs_lock_release(&g_lock);
    return m;
}

static void free_hw_locked(struct xs_ze_hw *hw)
{
    if (hw->held || !hw->forgotten)
        return;
    hw->next = g_free;
    g_free = hw;
}

void xs_ze_hw_release(struct xs_ze_hw *hw)
{
    xs_lock_acquire(&g_lock);
    if (hw->held) {
        hw->held = false;
        free_hw_locked(hw);
    }
    xs_lock_release(&g_lock);
}

/* The vendor gives a handle again when its last object is gone. If a record still has it, we did not see that
 * object's end. */
static void forget_stale(xs_ze_handle native)
{
    struct xs_ze_hw *old = xsched_priv_ze_find(native);

    if (old)
        xsched_priv_ze_ends(old);
}

struct xs_ze_hw *xs_ze_hw_new(const struct xs_ze_hw *as)
{
    struct xs_ze_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = g_free;
    if (hw)
        g_free = hw->next;
    else
        hw = calloc(1, sizeof(*hw));
    if (hw) {
        hw->native = as->native;
        hw->context = as->context;
        hw->device = as->device;
        hw->api = as->api;
        hw->ordinal = as->ordinal;
        hw->immediate = as->immediate;
        hw->in_order = as->in_order;
        hw->synchronous = as->synchronous;
        hw->priority = as->priority;
        hw->identity = as->identity;
        hw->pool = NULL;
        hw->events = 0;
        hw->marks = NULL;
        hw->held = false;
        hw->forgotten = false;
        atomic_store(&hw->submitter, 0);
        atomic_store(&hw->capturing, false);
        atomic_store(&hw->settled, XS_ZE_OPEN);
        atomic_store(&hw->gone, false); /* last: a look without the map may find it from here on */
        if (xs_map_put(&g_queues, xs_ze_key(hw->native), hw) < 0) {
            hw->forgotten = true;
            free_hw_locked(hw);
            hw = NULL;
        } else {
            hw->next = g_all;
            hw->at = &g_all;
            if (g_all)
                g_all->at = &hw->next;
            g_all = hw;
        }
    }
    xs_lock_release(&g_lock);
    return hw;
}

XS_EXPORT struct xs_ze_hw *xsched_priv_ze_made(const struct xs_ze_api *api, xs_ze_handle native, xs_ze_handle context,
                                               xs_ze_handle device, const struct xs_ze_queue_desc *desc, bool immediate)
{
    struct xs_ze_hw as = {.native = native, .context = context, .device = device, .api = api, .ordinal = desc->ordinal,
                          .immediate = immediate, .in_order = !immediate || (desc->flags & XS_ZE_QUEUE_IN_ORDER),
                          .synchronous = desc->mode == XS_ZE_MODE_SYNCHRONOUS,
                          .priority = desc->priority == XS_ZE_PRIORITY_LOW ? -1 : desc->priority == XS_ZE_PRIORITY_HIGH};

    forget_stale(native);
    as.identity = xs_ze_device_identity(api, device);
    return xs_ze_hw_new(&as);
}

XS_EXPORT void xsched_priv_ze_ends(struct xs_ze_hw *hw)
{
    struct xs_ze_mark *last;

    xsched_priv_hwq_gone(kPlatformLevelZero, xs_ze_key(hw->native));
    xs_map_remove(&g_queues, xs_ze_key(hw->native));
    atomic_store(&hw->gone, true);
    xs_watch_hold(&hw->watch);
    xs_ze_marks_destroy(hw);
    xs_watch_forget(&xs_ze_watch, &hw->watch);
    xs_watch_go_on(&hw->watch);
    xs_lock_acquire(&g_lock);
    for (last = hw->marks; last && last->next; last = last->next)
        ;
    if (last) {
        last->next = g_free_marks;
        g_free_marks = hw->marks;
        hw->marks = NULL;
    }
    *hw->at = hw->next;
    if (hw->next)
        hw->next->at = hw->at;
    hw->forgotten = true;
    free_hw_locked(hw);
    xs_lock_release(&g_lock);
}

XS_EXPORT unsigned xsched_priv_ze_queues(xs_ze_handle device, struct xs_queue **ret_queues, unsigned max)
{
    uint64_t natives[64];
    unsigned n = 0, found = 0;

    xs_lock_acquire(&g_lock);
    for (const struct xs_ze_hw *hw = g_all; hw && n < XS_ARRAY_LEN(natives); hw = hw->next) {
        if (hw->device == device && hw->held)
            natives[n++] = xs_ze_key(hw->native);
    }
    xs_lock_release(&g_lock);
    for (unsigned i = 0; i < n && found < max; i++) {
        ret_queues[found] = xsched_priv_queue_find(kPlatformLevelZero, natives[i]);
        if (ret_queues[found])
            found++;
    }
    return found;
}

XS_EXPORT XResult xsched_priv_ze_adopt(struct xs_ze_hw *hw, HwQueueHandle *ret)
{
    bool created;
    XResult r;

    *ret = xsched_priv_hwq_find(kPlatformLevelZero, xs_ze_key(hw->native));
    if (*ret)
        return kXSchedSuccess;
    xs_lock_acquire(&g_lock);
    hw->held = true;              /* before libpreempt may release it */
    xs_lock_release(&g_lock);
    r = xsched_priv_hwq_create(&xs_ze_ops, xs_ze_key(hw->native), hw, hw->identity, ret, &created);
    if (r != kXSchedSuccess)      /* else it has the record, from this call or from another thread's */
        xs_ze_hw_release(hw);
    return r;
}
