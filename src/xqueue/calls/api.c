/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on one XQueue: state, suspension, level, launch configuration. */
#include "base/clock.h"
#include "base/static_probe.h"
#include "xqueue/calls/deferred.h"
#include "xqueue/control/wish.h"
#include "xqueue/gates/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/progress.h"

#include "xsched/xqueue.h"

/* Waits for deferred commands handed in so far and for calls that are under way. */
static void wait_entered(struct xs_queue *q)
{
    uint64_t deferred = atomic_load(&q->deferred.submitted), entered;

    for (;;) {
        uint32_t seen = xs_progress_seen(&q->progress);

        if (atomic_load(&q->deferred.done) >= deferred)
            break;
        xs_progress_sleep(&q->progress, seen, 100 * XS_NS_PER_MS);
    }
    entered = atomic_load(&q->cc->entered);
    while (atomic_load(&q->cc->returned) < entered)
        xs_progress_sleep(&q->progress, xs_progress_seen(&q->progress), XS_NS_PER_MS);
}

/* Waits for calls under way that had already passed the gate. */
static void wait_launching(struct xs_queue *q)
{
    for (;;) {
        /* returned first: a call between the two reads makes the difference larger, not smaller */
        uint64_t returned = atomic_load(&q->cc->returned);
        uint64_t entered = atomic_load(&q->cc->entered);

        if (entered - returned <= atomic_load(&q->blocked))
            return;
        xs_progress_sleep(&q->progress, xs_progress_seen(&q->progress), 200 * XS_NS_PER_US);
    }
}

XResult XQueueWaitAll(XQueueHandle xq)
{
    struct xs_queue *q = xs_queue_ref(xq, NULL);
    XResult r;

    if (!q)
        return kXSchedErrorNotFound;
    wait_entered(q);
    r = xs_queue_finish(q, atomic_load(&q->cc->returned));
    xs_queue_unref(q);
    return r;
}

XResult XQueueQuery(XQueueHandle xq, XQueueState *state)
{
    struct xs_queue *q;

    if (!state)
        return kXSchedErrorInvalidValue;
    q = xs_queue_ref(xq, NULL);
    if (!q)
        return kXSchedErrorNotFound;
    xs_queue_look(q, true);
    if (!xs_completion_pending(&q->completion) &&
        atomic_load(&q->cc->completed) < atomic_load(&q->cc->returned))
        xs_queue_mark_now(q); /* a later query then knows */
    *state = atomic_load(&q->deferred_count) == 0 &&
                     atomic_load(&q->cc->completed) >= atomic_load(&q->cc->entered)
                 ? kQueueStateIdle
                 : kQueueStateReady;
    xs_queue_unref(q);
    return kXSchedSuccess;
}

XResult XQueueProfileHwCommandCount(XQueueHandle xq, int64_t *count)
{
    struct xs_queue *q;
    uint64_t entered;
    unsigned tries = 0;

    if (!count)
        return kXSchedErrorInvalidValue;
    q = xs_queue_ref(xq, NULL);
    if (!q)
        return kXSchedErrorNotFound;
    /* XQueueSubmit counts a waiting command in `entered` first and takes it off the list then. If no command
     * enters between the two reads, each counts once; at most the one on its way counts twice. */
    do {
        entered = xs_queue_submitted(q);
        *count = (int64_t)(entered + atomic_load(&q->deferred_count));
    } while (entered != xs_queue_submitted(q) && tries++ < 1000);
    xs_queue_unref(q);
    return kXSchedSuccess;
}

/* @return false: another thread destroyed the XQueue meanwhile, so no call could resume it */
static bool close_live(struct xs_queue *q, XQueueHandle xq)
{
    bool live;

    xs_lock_acquire(&q->state->lock);
    live = q->live && q->handle == xq;
    if (live)
        xs_queue_app_set_locked(q, XS_PERMIT_CLOSED);
    xs_lock_release(&q->state->lock);
    return live;
}

XResult XQueueSuspend(XQueueHandle xq, int64_t flags)
{
    struct xs_queue *q;
    XResult r = kXSchedSuccess;

    if (flags != kQueueSuspendFlagMaskAll &&
        (flags & ~(int64_t)(kQueueSuspendFlagSyncHwQueue | kQueueSuspendFlagWaitAll | kQueueSuspendFlagWaitIdle)))
        return kXSchedErrorInvalidValue;
    q = xs_queue_ref(xq, NULL);
    if (!q)
        return kXSchedErrorNotFound;
    XS_PROBE2(xqueue_suspend, xq, flags);
    atomic_store(&q->bounded, XS_BOUNDED_APP);
    if (flags & kQueueSuspendFlagWaitAll)
        r = XQueueWaitAll(xq);
    if (!close_live(q, xq)) {
        xs_queue_unref(q);
        return kXSchedErrorNotFound;
    }
    if (flags & (kQueueSuspendFlagSyncHwQueue | kQueueSuspendFlagWaitIdle)) {
        wait_launching(q);
        if (q->ctx_entries) { /* also commands behind gates in the stream */
            xs_lock_acquire(&q->state->lock);
            xs_gates_open_locked(q);
            xs_lock_release(&q->state->lock);
        }
        if (flags & kQueueSuspendFlagSyncHwQueue) {
            uint64_t returned = atomic_load(&q->cc->returned);
            struct xs_hwq *h = atomic_load(&q->hwq);

            r = h->ops->synchronize(h->hw);
            if (r == kXSchedSuccess)
                xs_queue_complete(q, returned, false);
        } else {
            r = xs_queue_finish(q, atomic_load(&q->cc->returned));
        }
    }
    xs_queue_unref(q);
    return r;
}

XResult XQueueResume(XQueueHandle xq, int64_t flags)
{
    struct xs_queue *q;

    if (flags != kQueueResumeFlagMaskAll && (flags & ~(int64_t)kQueueResumeFlagDropCommands))
        return kXSchedErrorInvalidValue;
    q = xs_queue_ref(xq, NULL);
    if (!q)
        return kXSchedErrorNotFound;
    XS_PROBE2(xqueue_resume, xq, flags);
    if (flags & kQueueResumeFlagDropCommands)
        xs_deferred_drop(q);
    xs_queue_app_set(q, XS_PERMIT_OPEN);
    xs_futex_wake(xs_futex_low(&q->app_permitted), INT32_MAX);
    xs_progress_make(&q->progress);
    xs_queue_unref(q);
    return kXSchedSuccess;
}

XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level)
{
    struct xs_state *st;
    struct xs_queue *q;
    XResult r = kXSchedSuccess;

    if ((int)level < kPreemptLevelBlock || level >= kPreemptLevelMax)
        return kXSchedErrorInvalidValue;
    q = xs_queue_ref(xq, &st);
    if (!q)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    if (!q->live || q->handle != xq) {
        r = kXSchedErrorNotFound;
    } else if (!(atomic_load(&q->hwq)->ops->levels & (1u << level)) && level != kPreemptLevelBlock) {
        r = kXSchedErrorNotSupported;
    } else {
        q->wish.level = level;
        xs_gates_set_level(q, level);
        q->wish.config_changes++;
        xs_queue_wish_publish(q);
    }
    xs_lock_release(&st->lock);
    xs_queue_unref(q);
    return r;
}

XResult XQueueSetLaunchConfig(XQueueHandle xq, int64_t threshold, int64_t batch_size)
{
    struct xs_state *st;
    struct xs_queue *q = xs_queue_ref(xq, &st);
    XResult r = kXSchedErrorNotFound;

    if (!q)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    if (q->live && q->handle == xq)
        r = xs_queue_set_launch_config(q, threshold, batch_size);
    xs_lock_release(&st->lock);
    xs_queue_unref(q);
    return r;
}
