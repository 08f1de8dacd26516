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
#include "xqueue/queue.h"
#include "xqueue/shim_presence.h"
#include "xqueue/state.h"

static bool priority_ok(Priority p)
{
    return p >= PRIORITY_NO_EXECUTE && p <= PRIORITY_MAX;
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

XResult XHintPriority(XQueueHandle xq, Priority prio)
{
    struct xs_queue *q;

    if (!priority_ok(prio))
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    q->wish.dated.hints.priority = prio;
    return hint_end(q, XS_PART_PRIORITY);
}

XResult XHintSwapPriority(XQueueHandle xq, Priority prio, Priority *old)
{
    struct xs_queue *q;

    if (!priority_ok(prio))
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
    struct xs_queue *q;

    if (util < UTILIZATION_MIN || util > UTILIZATION_MAX)
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    q->wish.dated.hints.utilization = util;
    return hint_end(q, XS_PART_UTILIZATION);
}

XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio)
{
    struct xs_queue *q;

    if (lax_us < NO_LAXITY || !priority_ok(lax_prio) || !priority_ok(crit_prio))
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
    struct xs_queue *q;

    if (ddl_us <= 0 && ddl_us != NO_DEADLINE)
        return kXSchedErrorInvalidValue;
    if (!(q = hint_begin(xq)))
        return kXSchedErrorNotFound;
    q->wish.dated.hints.deadline_us = ddl_us;
    return hint_end(q, XS_PART_DEADLINE);
}

XResult XHintTimeslice(Timeslice ts_us)
{
    struct xs_state *st;

    if ((ts_us < TIMESLICE_MIN || ts_us > TIMESLICE_MAX) && (uint64_t)ts_us != TIMESLICE_UNLIMITED)
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

    if (k < 1 || k > UINT32_MAX)
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
