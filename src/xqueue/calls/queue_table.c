/* SPDX-License-Identifier: Apache-2.0 */
/* XQueues: making, finding, forgetting. */
#include "xqueue/calls/queue_table.h"

#include "base/log.h"
#include "xqueue/config.h"
#include "xqueue/control/server_page.h"
#include "xqueue/control/wish.h"
#include "xqueue/gates/crowded.h"
#include "xqueue/gates/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/shim_presence.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"
#include "xqueue/submit/progress.h"

#include "xsched/xqueue.h"

#include <stdlib.h>

static void wake(struct xs_queue *q)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);

    xs_futex_wake(xs_futex_low(&q->app_permitted), INT32_MAX);
    if (sc != &xs_open_cell)
        xs_futex_wake(xs_futex_low(&sc->permitted), INT32_MAX);
    xs_progress_make(&q->progress);
}

/* Storage that nothing refers to, or new. Under the lock. */
static struct xs_queue *queue_storage(struct xs_state *st)
{
    struct xs_queue *q;

    XS_LIST_FOR(free_q, &st->free_queues, struct xs_queue, link) {
        if (xs_queue_unused(free_q) &&
            /* no device writes the marks or reads the permit */
            atomic_load(&free_q->cc->marked) >= xs_completion_device_issued(&free_q->completion) &&
            xs_gates_passed(free_q)) {
            xs_list_remove(&free_q->link);
            return free_q;
        }
    }
    if (posix_memalign((void **)&q, XS_CACHE_LINE, sizeof(*q)) != 0)
        return NULL;
    __builtin_memset(q, 0, sizeof(*q));
    q->state = st;
    xs_list_init(&q->link);
    if (st->cells_used == XS_PAGE_QUEUES) {
        free(q);
        return NULL;
    }
    q->cell = st->cells_used++;
    q->cc = &st->client->cells[q->cell];
    atomic_store(&q->sc, &xs_open_cell);
    q->pool_next = atomic_load(&st->pool);
    atomic_store(&st->pool, q);
    return q;
}

static void queue_reset(struct xs_queue *q)
{
    struct xs_client_cell *cc = q->cc;

    xs_gates_reset(q);
    atomic_store(&cc->entered, 0);
    atomic_store(&cc->returned, 0);
    atomic_store(&cc->completed, 0);
    atomic_store(&cc->est_entered_ns, 0);
    atomic_store(&cc->est_completed_ns, 0);
    atomic_store(&cc->held_ns, 0);
    atomic_store(&cc->inherit_priority, INT32_MIN);
    atomic_store(&cc->lent, 0);
    atomic_store(&cc->waited_to, 0);
    atomic_store(&cc->waited_ns, 0);
    atomic_store(&cc->graphs, 0);
    atomic_store(&cc->lanes, 0);
    atomic_store(&cc->multiprocessors, 0);
    atomic_store(&cc->collective, 0);
    atomic_store(&cc->let_through, 0);
    atomic_store(&q->waits_for.queue, NULL);
    atomic_store(&cc->marked, 0);
    atomic_store(&cc->marked_to, 0);
    xs_queue_app_set_locked(q, XS_PERMIT_OPEN);
    atomic_store(&q->entered_before, 0);
    atomic_store(&q->awaits_to, 0);
    atomic_store(&q->ours, 0);
    atomic_store(&q->trust, 0);
    atomic_store(&q->futile, 0);
    atomic_store(&q->unbounded, 0);
    atomic_store(&q->busy_since_ns, 0);
    atomic_store(&q->whole_ns, 0);
    atomic_store(&q->deferred_count, 0);
    xs_bound_reset(&q->bound);
    xs_ends_reset(&q->ends);
    xs_completion_reset(&q->completion);
    xs_list_init(&q->deferred.list);
    q->flags = 0;
}

static XResult queue_create(XQueueHandle *ret, HwQueueHandle hwq, int32_t level, int64_t flags,
                            const struct xs_queue_defaults *d, bool explicit_queue)
{
    struct xs_state *st;
    struct xs_hwq *h = xs_hwq_use(hwq, &st);
    struct xs_queue *q;
    XResult r = kXSchedSuccess;

    if (!h)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    if (h->gone) {
        r = kXSchedErrorNotFound;
        goto out;
    }
    if (h->queue) {
        *ret = h->queue->handle;
        if (explicit_queue) /* the application takes an interest: bound its commands in flight */
            atomic_store(&h->queue->bounded, XS_BOUNDED_APP);
        goto out;
    }
    q = queue_storage(st);
    if (!q) {
        XS_WARN_ONCE("no room for another XQueue (%u in use); its stream stays unscheduled", st->cells_used);
        r = kXSchedErrorUnknown;
        goto out;
    }
    queue_reset(q);
    xs_hwq_take(h, q);
    q->device_marks = h->ops->device_marks;
    q->marks_from_outside = h->ops->marks_from_outside;
    q->ctx_entries = h->ops->gate && h->ops->ctx_entries ? h->ops->ctx_entries(h->hw) : NULL;
    q->hwq_device = h->device;
    q->hwq_levels = h->ops->levels;
    q->hwq_platform = (uint32_t)h->ops->platform;
    q->handle = xs_handle_make(st);
    q->flags = (uint64_t)flags;
    /* before any thread finds it */
    atomic_store(&q->bounded, explicit_queue || d->threshold > 0 ? XS_BOUNDED_APP : XS_BOUNDED_JOINING);
    if (!atomic_load(&st->awaited)) /* seq_cst: see xs_state_decided() */
        atomic_fetch_and(&q->bounded, ~(uint32_t)XS_BOUNDED_JOINING);
    if (xs_map_put(&st->handle_to_queue, q->handle, q) < 0 ||
        xs_map_put(&st->native_to_queue, h->native_key, q) < 0) {
        xs_map_remove(&st->handle_to_queue, q->handle);
        xs_list_add(&st->free_queues, &q->link);
        r = kXSchedErrorUnknown;
        goto out;
    }
    atomic_store(&q->threshold, d->threshold);
    atomic_store(&q->batch, d->batch);
    q->live = true;
    h->queue = q;
    xs_crowded_join(q);
    q->wish.config_changes++;
    q->wish.dated = (struct xs_dated_hints){.hints = d->hints, .later = d->later};
    q->wish.level = xs_level_in_force(h->ops, level, d->level_auto);
    xs_gates_set_level(q, q->wish.level);
    q->wish.threshold = d->threshold > 0 ? d->threshold : XS_DEFAULT_THRESHOLD;
    q->wish.batch = d->batch > 0 ? d->batch : XS_DEFAULT_BATCH;
    xs_queue_wish_write(q);                                   /* first: a new session announces this wish */
    atomic_store(&q->announced.wanted, 1);
    atomic_fetch_add(&st->page_users, 1);            /* before the look: see xs_state_fail_open */
    xs_queue_open_cell(q, atomic_load(&st->server)); /* a fresh page is all zero: closed */
    atomic_fetch_sub(&st->page_users, 1);
    xs_queue_wish_publish(q);
    xs_queue_repoint(q);
    atomic_fetch_add(&st->epoch, 1);
    *ret = q->handle;
    if (level > q->wish.level && !d->level_auto)
        XS_WARN_ONCE("%s has no preemption level %d here; level %d takes its place",
                     h->ops->name, level, q->wish.level);
out:
    xs_lock_release(&st->lock);
    if (explicit_queue && r == kXSchedSuccess)
        xs_shim_expect(h->ops, atomic_load(&st->mode));
    xs_hwq_done(st, h);
    return r;
}

XResult XQueueCreate(XQueueHandle *xq, HwQueueHandle hwq, int64_t level, int64_t flags)
{
    struct xs_queue_defaults d;

    if (!xq || level < kPreemptLevelBlock || level >= kPreemptLevelMax)
        return kXSchedErrorInvalidValue;
    if (flags != kQueueCreateFlagMaskAll && (flags & ~(int64_t)kQueueCreateFlagBlockingSubmit))
        return kXSchedErrorInvalidValue;
    xs_queue_defaults_plain(&d);
    return queue_create(xq, hwq, (int32_t)level, flags, &d, true);
}

bool xsched_priv_auto(void)
{
    return xs_auto_enabled();
}

XResult xsched_priv_auto_queue(HwQueueHandle hwq, int32_t priority_offset)
{
    struct xs_queue_defaults d;
    XQueueHandle unused;

    if (!xs_auto_enabled())
        return kXSchedErrorNotAllowed;
    xs_queue_defaults_from_env(&d);
    if (d.hints.priority != PRIORITY_NO_EXECUTE)
        d.hints.priority = (int32_t)XS_MIN(XS_MAX((int64_t)d.hints.priority + priority_offset, PRIORITY_MIN), PRIORITY_MAX);
    return queue_create(&unused, hwq, d.level, 0, &d, false);
}

/* Takes the queue away from the scheduler's permit; threads that sleep there go on. */
static void gate_detach(struct xs_queue *q)
{
    struct xs_server_cell *sc = atomic_exchange(&q->sc, &xs_open_cell);

    if (sc != &xs_open_cell) {
        atomic_store(&sc->permitted, XS_PERMIT_OPEN); /* the process may open at any time */
        xs_futex_wake(xs_futex_low(&sc->permitted), INT32_MAX);
    }
}

/* Commands in its stream go on, too, also if the scheduler, which still knows the queue, suspends it once
 * more. Under the lock. */
static void open_for_good_locked(struct xs_queue *q)
{
    if (q->ctx_entries)
        xs_gates_open_locked(q);
    gate_detach(q);
}

void xs_queue_unlink_locked(struct xs_state *st, struct xs_queue *q)
{
    struct xs_hwq *h = atomic_load(&q->hwq);

    xs_map_remove(&st->native_to_queue, h->native_key);
    xs_map_remove(&st->handle_to_queue, q->handle);
    xs_queue_app_set_locked(q, XS_PERMIT_OPEN);
    open_for_good_locked(q);
    xs_gates_forget(q);
    xs_crowded_leave(q);
    wake(q);
    atomic_fetch_add(&st->scheduled, xs_queue_submitted(q));
    h->queue = NULL;
    atomic_store(&q->announced.wanted, 0);
    xs_queue_wish_publish(q);
    q->live = false;
    xs_list_add(&st->free_queues, &q->link);
    atomic_fetch_add(&st->epoch, 1);
}

XResult XQueueDestroy(XQueueHandle xq)
{
    struct xs_state *st;
    struct xs_queue *q = xs_queue_ref(xq, &st);
    bool mine = false;

    if (!q)
        return kXSchedErrorNotFound;
    /* never wait for permission: resume it first, for the application and for the scheduler */
    XQueueResume(xq, kQueueResumeFlagNone);
    xs_lock_acquire(&st->lock);
    open_for_good_locked(q);
    xs_lock_release(&st->lock);
    XQueueWaitAll(xq);
    xs_lock_acquire(&st->lock);
    if (q->live && q->handle == xq) {
        xs_queue_unlink_locked(st, q);
        mine = true;
    }
    xs_lock_release(&st->lock);
    xs_queue_unref(q);
    return mine ? kXSchedSuccess : kXSchedErrorNotFound;
}

XResult XQueueGet(XQueueHandle *xq, HwQueueHandle hwq)
{
    struct xs_state *st = xs_state_get();
    XResult r = kXSchedErrorNotFound;
    struct xs_hwq *h;

    if (!xq)
        return kXSchedErrorInvalidValue;
    if (!st)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    h = xs_map_get(&st->handle_to_hwq, hwq);
    if (h && h->queue) {
        *xq = h->queue->handle;
        atomic_store(&h->queue->bounded, XS_BOUNDED_APP);
        r = kXSchedSuccess;
    }
    xs_lock_release(&st->lock);
    return r;
}

static __attribute__((noinline)) struct xs_queue *queue_find_anew(struct xs_state *st, uint64_t key, uint32_t epoch)
{
    xs_tls.queue = xs_map_get(&st->native_to_queue, key);
    xs_tls.native_key = key;
    xs_tls.state = st;
    xs_tls.epoch = epoch;
    return xs_tls.queue;
}

struct xs_queue *xsched_priv_queue_find(int platform, uint64_t native)
{
    struct xs_state *st = xs_state_get();
    uint64_t key = xs_native_key(platform, native);
    uint32_t epoch;

    if (XS_UNLIKELY(!st))
        return NULL;
    epoch = atomic_load_explicit(&st->epoch, memory_order_acquire); /* pairs with the changes of the map before it */
    if (XS_UNLIKELY(xs_tls.native_key != key || xs_tls.state != st || xs_tls.epoch != epoch))
        return queue_find_anew(st, key, epoch);
    return xs_tls.queue;
}

struct xs_queue *xsched_priv_queue_pin(int platform, uint64_t native)
{
    struct xs_queue *q = xsched_priv_queue_find(platform, native);

    if (!q)
        return NULL;
    /* seq_cst pairs with queue_storage: takes the queue out of the map, then looks at refs */
    atomic_fetch_add(&q->refs, 1);
    if (xsched_priv_queue_find(platform, native) == q)
        return q;
    xs_queue_unref(q);
    return NULL;
}

void xsched_priv_marks_void(const struct xs_ctx_entries *context)
{
    struct xs_state *st = xs_state_get();

    if (!st)
        return;
    xs_lock_acquire(&st->lock);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next) {
        if (q->live || q->ctx_entries != context)
            continue;
        atomic_store(&q->cc->marked, xs_completion_device_issued(&q->completion));
        xs_gates_void(&q->gates);
    }
    xs_lock_release(&st->lock);
}

uint64_t xsched_priv_scheduled_count(void)
{
    struct xs_state *st = xs_state_get();
    uint64_t sum;

    if (!st)
        return 0;
    xs_lock_acquire(&st->lock);
    sum = atomic_load(&st->scheduled);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (q->live)
            sum += xs_queue_submitted(q);
    xs_lock_release(&st->lock);
    return sum;
}

void xsched_priv_queue_lanes(struct xs_queue *q, uint32_t lanes, uint32_t multiprocessors)
{
    atomic_store(&q->cc->multiprocessors, multiprocessors);
    atomic_store(&q->cc->lanes, lanes);
    xs_queue_ring(q);
}
