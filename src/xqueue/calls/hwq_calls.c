/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of platforms and of programs on hardware queues: making, finding, forgetting. */
#include "xqueue/calls/deferred.h"
#include "xqueue/calls/queue_table.h"
#include "xqueue/calls/state_make.h"
#include "xqueue/hwq.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

#include "xsched/xqueue.h"

#include <stdlib.h>

XResult xsched_priv_hwq_create(const struct xs_hal_ops *ops, uint64_t native, void *hw, XDevice device,
                               HwQueueHandle *ret, bool *ret_created)
{
    struct xs_state *st;
    struct xs_hwq *h;
    uint64_t key;

    if (!ops || ops->abi != XS_HAL_ABI || !ret)
        return kXSchedErrorInvalidValue;
    st = xs_state_get_or_make();
    if (!st)
        return kXSchedErrorUnknown;
    xs_hwq_reap(st);
    key = xs_native_key(ops->platform, native);
    xs_lock_acquire(&st->lock);
    h = xs_map_get(&st->native_to_hwq, key);
    if (!h) {
        h = calloc(1, sizeof(*h));
        if (!h || (h->handle = xs_handle_make(st), h->native_key = key,
                   xs_map_put(&st->native_to_hwq, key, h) < 0 || xs_map_put(&st->handle_to_hwq, h->handle, h) < 0)) {
            xs_map_remove(&st->native_to_hwq, key);
            free(h);
            xs_lock_release(&st->lock);
            return kXSchedErrorUnknown;
        }
        xs_list_init(&h->link);
        h->ops = ops;
        h->hw = hw;
        h->device = device;
        if (ret_created)
            *ret_created = true;
    } else if (ret_created) {
        *ret_created = false;
    }
    *ret = h->handle;
    xs_lock_release(&st->lock);
    return kXSchedSuccess;
}

void xsched_priv_join(void)
{
    struct xs_state *st = xs_state_get_or_make();

    if (!st || atomic_exchange(&st->joins, true))
        return;
    st->kick(st);
}

HwQueueHandle xsched_priv_hwq_find(int platform, uint64_t native)
{
    struct xs_state *st = xs_state_get();
    HwQueueHandle handle = 0;
    struct xs_hwq *h;

    if (!st)
        return 0;
    xs_lock_acquire(&st->lock);
    h = xs_map_get(&st->native_to_hwq, xs_native_key(platform, native));
    if (h)
        handle = h->handle;
    xs_lock_release(&st->lock);
    return handle;
}

/* Under the lock; the caller holds a reference. */
static void hwq_forget_locked(struct xs_state *st, struct xs_hwq *h)
{
    xs_map_remove(&st->native_to_hwq, h->native_key);
    xs_map_remove(&st->handle_to_hwq, h->handle);
    h->gone = true;
    xs_list_add(&st->gone_hwqs, &h->link);
}

XResult HwQueueDestroy(HwQueueHandle hwq)
{
    struct xs_state *st;
    struct xs_hwq *h = xs_hwq_use(hwq, &st);
    XResult r = kXSchedSuccess;

    if (!h)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    if (h->gone)
        r = kXSchedErrorNotFound;
    else if (h->queue)
        r = kXSchedErrorNotAllowed;
    else
        hwq_forget_locked(st, h);
    xs_lock_release(&st->lock);
    xs_hwq_done(st, h);
    return r;
}

XResult HwQueueSynchronize(HwQueueHandle hwq)
{
    struct xs_state *st;
    struct xs_hwq *h = xs_hwq_use(hwq, &st);
    XResult r;

    if (!h)
        return kXSchedErrorNotFound;
    r = h->ops->synchronize(h->hw);
    xs_hwq_done(st, h);
    return r;
}

void xsched_priv_hwq_gone(int platform, uint64_t native)
{
    struct xs_state *st = xs_state_get();
    struct xs_queue *q = NULL;
    struct xs_hwq *h;

    if (!st)
        return;
    xs_lock_acquire(&st->lock);
    h = xs_map_get(&st->native_to_hwq, xs_native_key(platform, native));
    if (h) {
        h->refs++;
        q = h->queue;
        if (q) {
            atomic_fetch_add(&q->refs, 1);
            xs_queue_unlink_locked(st, q);
        }
        hwq_forget_locked(st, h);
    }
    xs_lock_release(&st->lock);
    if (q) {
        xs_deferred_drop(q);
        xs_queue_unref(q);
    }
    if (h)
        xs_hwq_done(st, h);
}
