/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each reason to wait. After each wait the thread looks at all reasons again. */
#include "xqueue/submit/turn.h"

#include "base/clock.h"
#include "base/static_probe.h"
#include "xqueue/gates/gate.h"
#include "xqueue/gates/gather_open.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/submit/context_full.h"
#include "xqueue/submit/in_flight.h"
#include "xqueue/submit/permission.h"
#include "xqueue/submit/progress.h"
#include "xqueue/wait.h"

#define FULL_SLEEP_NS   (200 * XS_NS_PER_US)

/* Commands that are still in flight after so long without a permit may wait for this thread, too. */
#define SUSPENDED_LONG_NS         (50 * XS_NS_PER_MS)

/* One submit that waits. */
struct turn {
    struct xs_queue *q;
    uint64_t n, est_ns;
    uint32_t flags;
    bool managed;
    bool late;                    /* the commands that completed meanwhile did so some time ago */
    bool slept;                   /* the last wait was for commands in flight */
    uint64_t suspended_ns;        /* time without a permit */
    uint64_t patience_from_ns;    /* nothing completes since then; 0: no look yet */
    uint64_t seen_completed;
    uint64_t outstanding_ns;      /* estimated time of the commands in flight */
};

/* Level 2: the command may go although the queue is suspended, and wait behind a gate in the stream. */
static bool may_gather(const struct turn *t)
{
    struct xs_queue *q = t->q;
    uint64_t out, told_ns = xs_in_flight_bound_ns(q);

    if (!t->managed || !xs_queue_gated(q) || (t->flags & (XS_SUBMIT_NO_MARK | XS_SUBMIT_OUTSIDE)) ||
        t->n > atomic_load(&q->app_permitted) || atomic_load(&q->state->inside))
        return false;
    xs_queue_look(q, false);
    return xs_in_flight_wait_ns(q, t->est_ns, xs_gates_bound_ns(told_ns, t->est_ns), xs_now_ns(), &out) == 0 &&
           !xs_context_full(q, true);
}

/* The application or the scheduler suspends the queue (permission.c says which). */
static void wait_for_permits(struct turn *t)
{
    struct xs_queue *q = t->q;
    struct xs_permit_wait w = {.reasons = XS_PERMIT_REASON_SUSPENDED, .place = XS_PERMIT_ENTERED, .n = t->n,
                               .timeout_ns = UINT64_MAX, .since_ns = xs_now_ns()};
    uint64_t now_ns, took_ns;

    XS_PROBE2(gate_wait, q->handle, t->n);
    if (t->managed && !(t->flags & XS_SUBMIT_NO_MARK) && !xs_queue_gated(q) &&
        atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE)
        xsched_priv_milestone(q); /* the next turn waits for the commands in flight here */
    xs_permit_wait(q, &w);
    now_ns = xs_now_ns();
    took_ns = now_ns - XS_MIN(w.since_ns, now_ns);
    t->suspended_ns += took_ns;
    XS_PROBE2(gate_pass, q->handle, t->suspended_ns);
    if (t->patience_from_ns)      /* only time with a permit counts: a suspension of every few ms must not begin it anew */
        t->patience_from_ns += took_ns;
    t->late = true;
    t->slept = false;             /* nothing is in flight now for another reason than the bound */
    if (took_ns > SUSPENDED_LONG_NS)
        xs_queues_distrust(q->state);
}

/* Program order: XQueueSubmit got commands before this one and has not launched them yet. @return whether it
 * slept */
static bool wait_for_list(const struct turn *t, uint32_t seen)
{
    if (!atomic_load(&t->q->deferred_count) || (t->flags & XS_SUBMIT_FROM_LIST))
        return false;
    xs_progress_sleep(&t->q->progress, seen, 100 * XS_NS_PER_MS);
    return true;
}

/* Too much is in flight. @param was_dry  nothing was in flight when the wait before ended  @return 0: it may
 * go, else for how long to sleep */
static uint64_t in_flight_ns(struct turn *t, uint64_t now, bool gated, bool was_dry)
{
    uint64_t told_ns = xs_in_flight_bound_ns(t->q), bound_ns = told_ns, sleep_ns;

    if (gated && !(t->flags & XS_SUBMIT_OUTSIDE))
        bound_ns = xs_gates_bound_ns(told_ns, t->est_ns);
    else
        bound_ns += xs_bound_slack_ns(&t->q->bound);
    sleep_ns = xs_in_flight_wait_ns(t->q, t->est_ns, bound_ns, now, &t->outstanding_ns);
    if (t->slept && (was_dry || sleep_ns == 0))
        xs_in_flight_learn(t->q, told_ns, was_dry);
    return sleep_ns;
}

/* Too many entries stand in the streams of the context. @return 0: it may go, else for how long to sleep */
static uint64_t context_full_ns(const struct turn *t, bool gated)
{
    return gated && xs_context_full(t->q, false) ? FULL_SLEEP_NS : 0;
}

/* Nothing has completed for so long that the work in flight may wait for this thread. @return for how long
 * not to say so yet */
static uint64_t patience_left_ns(struct turn *t, uint64_t now, uint64_t completed)
{
    uint64_t patience_ns = xs_in_flight_patience_ns(t->q, t->outstanding_ns);

    if (t->patience_from_ns == 0 || completed != t->seen_completed) {
        t->patience_from_ns = now;
        t->seen_completed = completed;
    }
    return patience_ns - XS_MIN(now - t->patience_from_ns, patience_ns);
}

/* No mark in flight would wake this thread, and it can put none there. */
static bool is_untold(const struct turn *t, uint64_t completed)
{
    return !xs_completion_pending(&t->q->completion) && atomic_load(&t->q->cc->returned) > completed &&
           ((t->flags & XS_SUBMIT_NO_MARK) || !xs_queue_mark_now(t->q));
}

/* Waits until the bound in flight and the context take the command. @return whether it slept; else the
 * command may go */
static bool wait_for_room(struct turn *t, uint32_t seen)
{
    struct xs_queue *q = t->q;
    bool gated = xs_queue_gated(q), was_dry = t->slept && xs_in_flight_ran_dry(q);
    uint64_t now, sleep_ns, completed, patience_ns;

    xs_queue_look(q, t->late);
    t->late = false;
    now = xs_now_ns();
    sleep_ns = in_flight_ns(t, now, gated, was_dry);
    if (sleep_ns == 0)
        sleep_ns = context_full_ns(t, gated);
    completed = atomic_load(&q->cc->completed);
    if (t->patience_from_ns && completed != t->seen_completed)
        xs_in_flight_went_on(q);
    if (sleep_ns == 0 || xs_in_flight_take_pass(q) ||
        (!t->patience_from_ns && XS_UNLIKELY(xs_in_flight_is_futile(q))))
        return false;
    if (!t->patience_from_ns)
        xs_queue_distrust(q);
    patience_ns = patience_left_ns(t, now, completed);
    if (patience_ns == 0) {
        xs_in_flight_gave_up(q);
        xs_queues_distrust(q->state);
        return false;
    }
    if (is_untold(t, completed))
        return false;
    sleep_ns = XS_MIN(sleep_ns, patience_ns);
    t->slept = q->device_marks;
    if (t->slept)
        xs_progress_sleep_look(&q->progress, q->cc, seen, sleep_ns);
    else
        xs_progress_sleep(&q->progress, seen, sleep_ns);
    if (XS_UNLIKELY(atomic_load_explicit(&xsched_priv_beside, memory_order_relaxed)))
        xs_queue_waited(q, now);
    return true;
}

void xs_turn_wait(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool managed, uint32_t flags)
{
    struct turn t = {.q = q, .n = n, .est_ns = est_ns, .flags = flags, .managed = managed};

    for (;;) {
        uint32_t seen = xs_progress_seen(&q->progress);
        bool permitted = xs_queue_permitted(q, n);

        if (!permitted) {
            uint64_t to = xs_gathers_to(q);
            bool stays = (!to || n < to) && q->ctx_entries && may_gather(&t);

            if (XS_UNLIKELY(to) && xs_gather_goes_on(q, n, stays))
                continue;
            if (!stays) {
                wait_for_permits(&t);
                continue;
            }
        }
        if (!wait_for_list(&t, seen) && (!managed || !permitted || !wait_for_room(&t, seen)))
            break;
    }
    if (t.suspended_ns)
        atomic_fetch_add_explicit(&q->cc->held_ns, t.suspended_ns, memory_order_relaxed);
}

bool xs_queue_would_wait(struct xs_queue *q)
{
    uint64_t bound_ns = xs_in_flight_bound_ns(q), out;

    if (!xs_queue_permitted(q, atomic_load(&q->cc->entered) + 1))
        return true;
    return xs_queue_managed(q, atomic_load(&q->sc)) && !xs_bound_passes(&q->bound) &&
           xs_in_flight_wait_ns(q, bound_ns / 4, bound_ns, xs_now_ns(), &out) != 0;
}
