/* SPDX-License-Identifier: Apache-2.0 */
#include "xsched/hint.h"

#include "base/clock.h"
#include "base/log.h"
#include "xqueue/calls/state_make.h"
#include "xqueue/control/awaited.h"
#include "xqueue/control/control_thread.h"
#include "xqueue/control/server_page.h"
#include "xqueue/control/wish.h"
#include "xqueue/inherit.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/shim_presence.h"
#include "xqueue/state.h"

static bool is_value(enum xs_hint_kind kind, int64_t value)
{
    return xs_value_has(&xs_hint_rows[kind].type, value);
}

/* Opens the wish of a queue; NULL when there is none. hint_end() closes it. */
static struct xs_queue *hint_begin(XQueueHandle xq)
{
    struct xs_state *st;
    struct xs_queue *q = xs_queue_ref(xq, &st);

    if (!q)
        return NULL;
    xs_lock_acquire(&st->lock);
    if (!q->live || q->handle != xq) {
        xs_lock_release(&st->lock);
        xs_queue_unref(q);
        return NULL;
    }
    return q;
}

static XResult hint_end(struct xs_queue *q, enum xs_hint_part changed)
{
    q->wish.dated.changed_ns[changed] = xs_now_ns();
    xs_queue_wish_publish(q);
    xs_lock_release(&q->state->lock);
    xs_queue_unref(q);
    return kXSchedSuccess;
}

/* Sets a hint with one field. */
static XResult hint_set(XQueueHandle xq, enum xs_hint_kind kind, int64_t value)
{
    struct xs_queue *q;

    if (!is_value(kind, value))
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    switch (kind) {
#define CASE(symbol, place)                                                     \
    case XS_HINT_##symbol:                                                      \
        q->wish.dated.place = (__typeof__(q->wish.dated.place))value;           \
        return hint_end(q, XS_PART_##symbol);
#define QUEUE_HINT(symbol, number, field, ...)              CASE(symbol, hints.field)
#define LATER_HINT(since, fold, symbol, number, field, ...) CASE(symbol, later.field)
#include "base/settings/hints.def"
    default:
        break;
    }
    xs_lock_release(&q->state->lock);
    xs_queue_unref(q);
    return kXSchedErrorInvalidValue;
}

XResult xsched_priv_hint(XQueueHandle xq, int32_t number, int64_t value)
{
    if (number < 0 || (size_t)number >= xs_hint_rows_count || !xs_hint_rows[number].of_queue)
        return kXSchedErrorInvalidValue;
    return hint_set(xq, (enum xs_hint_kind)number, value);
}

XResult XHintPriority(XQueueHandle xq, Priority prio)
{
    return hint_set(xq, XS_HINT_PRIORITY, prio);
}

XResult XHintSwapPriority(XQueueHandle xq, Priority prio, Priority *old)
{
    struct xs_queue *q;

    if (!is_value(XS_HINT_PRIORITY, prio))
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    if (old)
        *old = q->wish.dated.hints.priority;
    if (q->wish.dated.hints.priority == prio) { /* programs enter scopes often: wake no thread */
        xs_lock_release(&q->state->lock);
        xs_queue_unref(q);
        return kXSchedSuccess;
    }
    q->wish.dated.hints.priority = prio;
    return hint_end(q, XS_PART_PRIORITY);
}

XResult XHintUtilization(XQueueHandle xq, Utilization util)
{
    return hint_set(xq, XS_HINT_UTILIZATION, util);
}

XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio)
{
    struct xs_queue *q;

    if (!is_value(XS_HINT_LAXITY, lax_us) || !is_value(XS_HINT_PRIORITY, lax_prio) || !is_value(XS_HINT_PRIORITY, crit_prio))
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    q->wish.dated.hints.laxity_us = lax_us;
    q->wish.dated.hints.lax_priority = lax_prio;
    q->wish.dated.hints.critical_priority = crit_prio;
    return hint_end(q, XS_PART_LAXITY);
}

XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us)
{
    return hint_set(xq, XS_HINT_DEADLINE, ddl_us);
}

XResult XHintTimeslice(Timeslice ts_us)
{
    struct xs_state *st;

    if (!is_value(XS_HINT_TIMESLICE, ts_us) && (uint64_t)ts_us != TIMESLICE_UNLIMITED)
        return kXSchedErrorInvalidValue;
    st = xs_state_get_or_make();
    if (!st)
        return kXSchedErrorUnknown;
    atomic_store(&st->timeslice_us, (uint64_t)ts_us);
    atomic_fetch_add(&st->sched_hints_changes, 1);
    xs_control_kick(st);
    return kXSchedSuccess;
}

XResult XHintKDeadline(size_t k)
{
    struct xs_state *st;

    if (k > INT64_MAX || !is_value(XS_HINT_KDEADLINE, (int64_t)k))
        return kXSchedErrorInvalidValue;
    st = xs_state_get_or_make();
    if (!st)
        return kXSchedErrorUnknown;
    atomic_store(&st->k, (uint32_t)k);
    atomic_fetch_add(&st->sched_hints_changes, 1);
    xs_control_kick(st);
    return kXSchedSuccess;
}

XResult XHintSetScheduler(XSchedulerType scheduler, XPolicyType policy)
{
    struct xs_state *st;

    if ((int)scheduler < kSchedulerAppManaged || scheduler >= kSchedulerMax)
        return kXSchedErrorInvalidValue;
    if (scheduler == kSchedulerLocal && !xs_policy_by_type(policy))
        return kXSchedErrorInvalidValue;
    st = xs_state_get_or_make();
    if (!st)
        return kXSchedErrorUnknown;
    if (scheduler == kSchedulerLocal)
        atomic_store(&st->local_policy, (int)policy);
    atomic_store(&st->mode, (int)scheduler);
    xs_state_await(st);           /* before the control thread learns of it, and decides */
    atomic_fetch_add(&st->mode_changes, 1);
    xs_state_update_intra(st);
    xs_state_fail_open(st, atomic_load(&st->server)); /* resumes every suspended queue at once */
    xs_scheduler_say((int)scheduler, scheduler == kSchedulerLocal ? xs_policy_by_type(policy)->name : "");
    xs_control_kick(st);
    return kXSchedSuccess;
}
