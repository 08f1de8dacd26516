/* SPDX-License-Identifier: Apache-2.0 */
/* Completion: marks in flight, the completed count, and estimates from measured durations. */
#include "xqueue/mark.h"

#include "base/clock.h"
#include "xqueue/estimate.h"
#include "xqueue/gates/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/inherit.h"
#include "xqueue/interface.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"
#include "xqueue/submit/end_mark.h"
#include "xqueue/submit/in_flight.h"
#include "xqueue/submit/progress.h"

static void head_update(struct xs_queue *q)
{
    struct xs_queue_completion *c = &q->completion;

    const struct xs_mark *head = c->mark_count ? &c->marks[c->mark_first] : NULL;
    uint64_t est_ns = head ? head->span_est_ns : 0;

    /* a mark is before such a command, too (submit.c): once that is complete, the stream stands at the command */
    atomic_store_explicit(&c->head_est_ns, head && head->key == XS_KEY_AWAITS ? XS_HEAD_AWAITS : est_ns, memory_order_relaxed);
    /* relaxed: written under mark_lock alone */
    if (atomic_load_explicit(&c->marks_pending, memory_order_relaxed) != c->mark_count)
        atomic_store(&c->marks_pending, c->mark_count);
}

/* Accounts one measured stretch of device time, which the commands before the popped marks took.
 * Adds the error to est_entered, so that the estimate of commands that are not complete stays, and
 * the measured time to est_completed. Under mark_lock. */
static void charge(struct xs_queue *q, uint64_t est_ns, uint64_t measured_ns)
{
    struct xs_client_cell *cc = q->cc;
    uint64_t error_ns = measured_ns - est_ns; /* modulo 2^64 */

    q->completion.correction_ns += error_ns;
    if (error_ns)
        atomic_fetch_add_explicit(&cc->est_entered_ns, error_ns, memory_order_relaxed);
    atomic_fetch_add(&cc->est_completed_ns, measured_ns); /* seq_cst: then all_reached looks at entered */
}

#define ACCOUNT_NOW  1u           /* a command completed just now */
#define ACCOUNT_LATE 2u           /* a command had completed before we looked */
#define TRAVEL_NS    (6 * XS_NS_PER_US)
#define SHORT_NS     (4 * XS_NS_PER_US) /* a launch and its wait take longer on any device */

/* The marked command's part of a measured span. A command without an estimate gets all but the estimate of
 * the others. Another gets its share of the estimate. If it got the others' error as well, a span of n like
 * commands would correct it n - 1 times too much, and it would never settle. */
static uint64_t own_share(const struct xs_mark *m, uint64_t est_ns, uint64_t measured_ns)
{
    uint64_t others_ns = est_ns - XS_MIN(est_ns, (uint64_t)m->key_est_ns);

    if (!xs_estimate_get(m->key))
        return measured_ns > others_ns ? measured_ns - others_ns : XS_MAX(measured_ns / 8, 1);
    return est_ns ? (uint64_t)((double)measured_ns * (double)m->key_est_ns / (double)est_ns) : measured_ns;
}

/* The stretch of device time that ends now. */
struct span {
    uint64_t now_ns, ns;
    bool from_late;               /* we noticed the end before it late */
};

static inline struct span span_until_now(const struct xs_queue *q)
{
    uint64_t done_ns = atomic_load_explicit(&q->completion.last_done_ns, memory_order_relaxed);
    uint64_t busy_ns = atomic_load_explicit(&q->busy_since_ns, memory_order_relaxed);
    uint64_t since_ns = XS_MAX(done_ns, busy_ns);
    struct span s = {.now_ns = xs_now_ns(), .from_late = q->completion.last_done_late && done_ns > busy_ns};

    s.ns = s.now_ns > since_ns ? s.now_ns - since_ns : 0;
    /* On an empty queue the first command travels to the device, and back comes its mark. */
    if (q->device_marks && since_ns == busy_ns)
        s.ns -= XS_MIN(s.ns / 4 * 3, TRAVEL_NS);
    return s;
}

#define ABOVE_MANY 8u

/* Whether a time counts although we noticed one of its ends late. Late notice does no harm if the device had
 * the next command already at the last end, and has another one now. Then the queue's commands follow each
 * other without a gap, and an excess of one time is missing from the next. But such a time can contain
 * commands of other programs. So it counts only when each of ABOVE_MANY times in a row exceeds its estimate
 * by a quarter. */
static __attribute__((noinline)) bool longer_than_thought(struct xs_queue *q, uint64_t ns, uint64_t est_ns, bool held)
{
    struct xs_queue_completion *c = &q->completion;

    if (held || c->had <= atomic_load(&q->cc->completed) || xs_gates_held_since(q))
        return false;
    c->above = ns > est_ns + est_ns / 4 ? XS_MIN(c->above + 1, ABOVE_MANY) : 0;
    return c->above == ABOVE_MANY;
}

/* @param last    the last of the `count` marks that the stream has reached
 * @param est_ns  the estimate of the commands that they cover
 * @param doubts  XS_MARK_*: it shows only that the commands took no longer */
static inline __attribute__((always_inline)) void marks_reached(struct xs_queue *q, const struct xs_mark *last,
                                                                 uint32_t count, uint64_t est_ns, uint32_t doubts, bool late)
{
    struct xs_queue_completion *c = &q->completion;
    struct span s = span_until_now(q);
    bool known = xs_estimate_get(last->key) != 0;
    uint64_t had = c->had;

    c->had = atomic_load_explicit(&q->cc->returned, memory_order_relaxed); /* a count by itself */

    /* If we noticed this end late, the time is too long; if we noticed the end before it late, too short. */
    if (known && (late || s.from_late)) {
        if (XS_UNLIKELY(had >= last->number) && longer_than_thought(q, s.ns, est_ns, doubts != 0))
            s.from_late = false;
        else
            s.ns = s.from_late ? est_ns : XS_MIN(s.ns, est_ns);
    }
    if (doubts)
        s.ns = XS_MIN(s.ns, est_ns);
    if (q->ctx_entries)
        xs_gates_done(q, last->weight);
    c->last_done_late = late;
    /* one that nobody has timed stands behind a gate of its own at level 2 */
    if (!s.from_late && (!doubts || (!(doubts & XS_MARK_SHUT) && (known || !xs_queue_gated(q)))) &&
        (count == 1 || (!q->device_marks && known)))
        xs_estimate_learn(last->key, own_share(last, est_ns, s.ns));
    charge(q, est_ns, s.ns);
    atomic_store_explicit(&c->last_done_ns, s.now_ns, memory_order_relaxed);
}

/* All commands are complete, also those that no mark covers. */
static inline __attribute__((always_inline)) void all_reached(struct xs_queue *q, uint64_t completed,
                                                               bool measured)
{
    struct xs_queue_completion *c = &q->completion;
    struct xs_client_cell *cc = q->cc;
    uint64_t entered_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    uint64_t charged_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    uint64_t rest_ns = entered_ns > charged_ns ? entered_ns - charged_ns : 0;

    if (rest_ns)
        charge(q, rest_ns, measured || rest_ns <= SHORT_NS ? rest_ns : XS_MIN(span_until_now(q).ns, rest_ns));
    c->last_mark_raw_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed) - c->correction_ns;
    /* A submit that finds the queue idle stores busy_since_ns. One that came meanwhile may have found it
     * busy. */
    if (XS_UNLIKELY(atomic_load(&cc->entered) > completed))
        atomic_store_explicit(&c->last_done_ns, xs_now_ns(), memory_order_relaxed);
}

/* A thread of the program waited because of us while these commands were in flight. @return whether they may have
 * waited for that thread, so that their time may be too long */
static __attribute__((noinline)) bool complete_after_wait(struct xs_queue *q, const struct xs_mark *last, bool late)
{
    /* else a thread sleeps until this completion */
    bool after = q->device_marks ? late : !xs_progress_sleepers(&q->progress);

    xs_in_flight_trust(q, !after);
    return after && xs_estimate_get(last->key) != 0;
}

static void account_locked(struct xs_queue *q, bool late)
{
    struct xs_queue_completion *c = &q->completion;
    struct xs_client_cell *cc = q->cc;
    uint64_t completed = atomic_load(&cc->completed);
    uint64_t est_ns = 0, weight = xs_gates_weight(&q->gates);
    uint32_t count = 0;
    const struct xs_mark *last = NULL; /* its place gets no new use under this lock */
    uint32_t doubts = 0;

    while (c->mark_count && c->marks[c->mark_first].number <= completed) {
        last = &c->marks[c->mark_first];
        est_ns += last->span_est_ns;
        doubts |= last->doubts;
        c->mark_first = (c->mark_first + 1) % XS_QUEUE_MARKS;
        c->mark_count--;
        count++;
    }
    if (XS_UNLIKELY(doubts & XS_MARK_WAITED) && !complete_after_wait(q, last, late))
        doubts &= ~(uint32_t)XS_MARK_WAITED;
    if (q->ctx_entries && xs_gates_held_since(q))
        doubts |= XS_MARK_SHUT;
    if (last)
        marks_reached(q, last, count, est_ns, doubts, late);
    if (completed >= atomic_load(&cc->entered)) {
        if (q->ctx_entries) /* a command enters, then adds its entries */
            xs_gates_done(q, weight);
        if (c->mark_count == 0)
            all_reached(q, completed, count != 0);
    }
    head_update(q);
}

/* No thread waits for the lock: one that does not get it leaves a note, and the holder looks again. */
static void account(struct xs_queue *q, bool late)
{
    struct xs_queue_completion *c = &q->completion;
    uint32_t note = late ? ACCOUNT_LATE : ACCOUNT_NOW;

    if (!xs_lock_try(&c->mark_lock)) {
        atomic_fetch_or(&c->account_pending, note);
        if (!xs_lock_try(&c->mark_lock)) /* the holder looked before, or looks yet */
            return;
        note = 0;
    }
    do {
        if (atomic_load(&c->account_pending))
            note |= atomic_exchange(&c->account_pending, 0);
        account_locked(q, (note & ACCOUNT_LATE) != 0);
        xs_lock_release(&c->mark_lock);
        note = 0;
    } while (atomic_load(&c->account_pending) && xs_lock_try(&c->mark_lock));
}

/* After this thread had mark_lock: a completion may have found it taken. */
static void account_rest(struct xs_queue *q)
{
    if (atomic_load(&q->completion.account_pending))
        account(q, true);
}

/* Of several that change it at once, the last one to look leaves it right: seq_cst, so that its
 * store is before its look. */
void xs_queue_tell_marked(struct xs_queue *q)
{
    uint64_t to;
    uint32_t word;

    do {
        to = atomic_load(&q->completion.marked_to);
        word = (uint32_t)to;
        if (XS_UNLIKELY(!word && to)) /* 0 says nothing; one too few is no harm */
            word = UINT32_MAX;
        atomic_store(&q->cc->marked_to, word);
    } while (XS_UNLIKELY(atomic_load(&q->completion.marked_to) != to));
}

void xs_queue_push_mark(struct xs_queue *q, uint64_t number, uint64_t key, uint32_t key_est_ns)
{
    struct xs_queue_completion *c = &q->completion;
    uint64_t marked_to = atomic_load(&c->marked_to);

    while (number > marked_to && !atomic_compare_exchange_weak(&c->marked_to, &marked_to, number))
        ;
    if (xs_lock_try(&c->mark_lock)) {
        if (c->mark_count < XS_QUEUE_MARKS) {
            uint64_t raw_ns = atomic_load_explicit(&q->cc->est_entered_ns, memory_order_relaxed) -
                              c->correction_ns;
            struct xs_mark *m = &c->marks[(c->mark_first + c->mark_count) % XS_QUEUE_MARKS];

            m->number = number;
            m->weight = xs_gates_weight(&q->gates);
            m->key = key;
            m->key_est_ns = key_est_ns;
            m->doubts = xs_ends_take_idled(&q->ends);
            m->span_est_ns = raw_ns - c->last_mark_raw_ns;
            if ((int64_t)m->span_est_ns < 0) /* a refused command takes its estimate back */
                m->span_est_ns = 0;
            c->last_mark_raw_ns = raw_ns;
            c->mark_count++;
            head_update(q);
        }
        xs_lock_release(&c->mark_lock);
    }
    account_rest(q);
}

/* A function of its own, so that a call without news costs little. */
static __attribute__((noinline)) void more_complete(struct xs_queue *q, uint64_t number, bool late)
{
    struct xs_client_cell *cc = q->cc;
    struct xs_server_cell *sc = atomic_load(&q->sc);

    xs_bound_completed(&q->bound);
    if (xs_queue_managed(q, sc) || atomic_load(&q->completion.marks_pending))
        account(q, late);
    xs_progress_make(&q->progress);
    if (XS_UNLIKELY(atomic_load(&cc->lent) != 0))
        xs_queue_inherit_end(q, number);
    if ((atomic_load(&sc->armed) & XS_ARMED_IDLE) && number >= atomic_load(&cc->entered))
        xs_queue_ring(q);
}

static void complete(struct xs_queue *q, uint64_t number, bool late)
{
    uint64_t seen = atomic_load(&q->cc->completed);

    while (number > seen)
        if (atomic_compare_exchange_weak(&q->cc->completed, &seen, number)) {
            more_complete(q, number, late);
            return;
        }
}

void xs_queue_complete(struct xs_queue *q, uint64_t number, bool consume_ref)
{
    /* the caller may have begun to wait long after the device had completed the command */
    complete(q, number, q->device_marks);
    if (consume_ref)
        xs_queue_unref(q);
}

void xs_queue_look_slow(struct xs_queue *q, bool late)
{
    /* acquire: pairs with the device's writes before its mark */
    complete(q, atomic_load_explicit(&q->cc->marked, memory_order_acquire), late);
}

XS_EXPORT void xsched_priv_work_begins(void)
{
    struct xs_state *st = xs_state_get();
    uint64_t now_ns = xs_now_ns();

    /* storage stays mapped for ever; in a new use the note costs one measurement */
    for (struct xs_queue *q = st ? atomic_load(&st->pool) : NULL; q; q = q->pool_next)
        atomic_store_explicit(&q->busy_since_ns, now_ns, memory_order_relaxed); /* for estimates */
}

void xs_queue_distrust(struct xs_queue *q)
{
    struct xs_queue_completion *c = &q->completion;

    if (!xs_lock_try(&c->mark_lock))
        return;                   /* its holder accounts some of them now */
    for (uint32_t i = 0; i < c->mark_count; i++)
        c->marks[(c->mark_first + i) % XS_QUEUE_MARKS].doubts |= XS_MARK_WAITED;
    xs_lock_release(&c->mark_lock);
    account_rest(q);
}

void xs_queues_distrust(struct xs_state *st)
{
    /* storage stays mapped for ever; in a new use the note costs one measurement */
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (atomic_load(&q->completion.marks_pending)) {
            xs_queue_look(q, true);
            xs_queue_distrust(q);
        }
}

static void forget_mark(struct xs_queue *q, uint64_t number)
{
    struct xs_queue_completion *c = &q->completion;
    uint64_t marked_to = number;

    /* a thread that needs a mark that far asks for another */
    if (atomic_compare_exchange_strong(&c->marked_to, &marked_to, atomic_load(&q->cc->completed)))
        xs_queue_tell_marked(q);
    if (xs_lock_try(&c->mark_lock)) { /* else the next completion or the end pops it */
        for (uint32_t i = 0; i < c->mark_count; i++) {
            struct xs_mark *m = &c->marks[(c->mark_first + i) % XS_QUEUE_MARKS];

            if (m->number != number)
                continue;
            if (i + 1 == c->mark_count) {
                c->last_mark_raw_ns -= m->span_est_ns; /* the next mark covers its span */
                c->mark_count--;
            } else {
                m->key = 0;
            }
            break;
        }
        head_update(q);
        xs_lock_release(&c->mark_lock);
    }
    account_rest(q);
    xs_progress_make(&q->progress);
}

void xsched_priv_mark_lost(struct xs_queue *q, uint64_t number)
{
    forget_mark(q, number);
    xs_queue_unref(q);
}

/* Two marks at once could reach the stream in the wrong order, and the word would shrink. So a
 * second thread leaves a wish, and the first one marks again. */
bool xs_queue_mark_device(struct xs_queue *q, uint64_t key, uint32_t key_est_ns)
{
    struct xs_queue_completion *c = &q->completion;
    bool ok = true;

    atomic_store(&c->mark_again, 1);
    while (atomic_load(&c->mark_again) && atomic_exchange(&c->marking, 1) == 0) {
        uint64_t before = atomic_load(&c->device_issued), number;

        atomic_store(&c->mark_again, 0);
        number = atomic_load(&q->cc->returned);
        if (xs_queue_gated(q))
            xs_gates_mark(q);
        xs_queue_push_mark(q, number, key, key_est_ns);
        atomic_store(&c->device_issued, number);
        ok = xs_queue_append_mark(q, number);
        if (XS_LIKELY(ok)) {
            xs_queue_tell_marked(q);
        } else {
            atomic_store(&c->device_issued, before);
            forget_mark(q, number);
        }
        atomic_store(&c->marking, 0);
    }
    return ok;
}

void xsched_priv_queue_ends(struct xs_queue *q)
{
    if (!q->device_marks || xs_gates_behind(&q->gates) <= atomic_load(&q->completion.device_issued) ||
        xs_gates_passed(q))
        return;
    xs_lock_acquire(&q->state->lock); /* the mark may find no room behind a closed gate */
    if (q->ctx_entries)
        xs_gates_open_locked(q);
    xs_lock_release(&q->state->lock);
    xs_queue_mark_device(q, 0, 0);
}

_Atomic uint64_t *xsched_priv_mark_word(struct xs_queue *q)
{
    return &q->cc->marked;
}

void xsched_priv_queue_hold(struct xs_queue *q)
{
    atomic_fetch_add(&q->refs, 1);
}

void xsched_priv_queue_let_go(struct xs_queue *q)
{
    xs_queue_unref(q);
}

bool xs_queue_mark_now(struct xs_queue *q)
{
    uint64_t number;

    if (q->device_marks)
        return xs_queue_mark_device(q, 0, 0);
    number = atomic_load(&q->cc->returned);
    atomic_fetch_add(&q->refs, 1);
    xs_queue_push_mark(q, number, 0, 0);
    if (xs_queue_append_mark(q, number)) {
        xs_queue_tell_marked(q);
        return true;
    }
    xsched_priv_mark_lost(q, number);
    return false;
}

uint64_t xsched_priv_milestone(struct xs_queue *q)
{
    uint64_t number = atomic_load(&q->cc->returned);

    if (number > XS_MAX(atomic_load(&q->cc->completed), atomic_load(&q->cc->marked)) &&
        atomic_load(&q->completion.marked_to) < number)
        xs_queue_mark_now(q);
    return number;
}

bool xs_queue_wait_number(struct xs_queue *q, uint64_t number, uint64_t timeout_ns)
{
    uint64_t began_ns = xs_now_ns();

    for (;;) {
        uint32_t seen = xs_progress_seen(&q->progress);
        uint64_t spent_ns;

        xs_queue_look(q, false);
        if (atomic_load(&q->cc->completed) >= number)
            return true;
        spent_ns = xs_now_ns() - began_ns;
        if (spent_ns >= timeout_ns)
            return false;
        if (q->device_marks)
            xs_progress_sleep_look(&q->progress, q->cc, seen,
                                   XS_MIN(timeout_ns - spent_ns, XS_MAX(spent_ns / 8, 100 * XS_NS_PER_US)));
        else
            xs_progress_sleep(&q->progress, seen, XS_MIN(timeout_ns - spent_ns, 100 * XS_NS_PER_MS));
    }
}

/* If a thread waits and nothing completes for this long, the driver may have lost the mark. */
#define MARK_LOST_NS XS_NS_PER_S

XResult xs_queue_finish(struct xs_queue *q, uint64_t number)
{
    uint64_t seen = 0, since_ns = 0;

    while (xs_queue_look(q, true), atomic_load(&q->cc->completed) < number) {
        uint64_t completed = atomic_load(&q->cc->completed), now_ns = xs_now_ns(), returned;
        struct xs_hwq *h;
        XResult r;

        if (!since_ns || completed != seen) {
            seen = completed;
            since_ns = now_ns;
        }
        /* a mark in flight that does not reach as far tells nothing about this number */
        if (now_ns - since_ns < MARK_LOST_NS &&
            (atomic_load(&q->completion.marked_to) >= number || xs_queue_mark_now(q))) {
            xs_queue_wait_number(q, number, 20 * XS_NS_PER_MS);
            continue;
        }
        returned = atomic_load(&q->cc->returned);
        h = atomic_load(&q->hwq); /* the caller holds a reference of the queue */
        r = h->ops->synchronize(h->hw);
        if (r != kXSchedSuccess)
            return r;
        xs_queue_complete(q, returned, false);
    }
    return kXSchedSuccess;
}
