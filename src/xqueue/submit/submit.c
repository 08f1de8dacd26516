/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one command: count it, look at the permits, look at the commands in flight, hand it to the
 * vendor. No lock, no allocation, no system call unless it must wait. */
#include "xqueue/submit/submit.h"

#include "base/clock.h"
#include "xqueue/estimate.h"
#include "xqueue/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"
#include "xqueue/submit/end_mark.h"
#include "xqueue/submit/in_flight.h"
#include "xqueue/submit/permission.h"
#include "xqueue/submit/progress.h"
#include "xqueue/submit/turn.h"

/* A suspended collective waits here, not behind a gate in the stream, since a collective in the stream counts
 * as under way. Then this tells the scheduler of it, before the vendor call. It rings a scheduler that
 * suspends something meanwhile, or may do so next. */
static __attribute__((noinline)) void collective_begins(struct xs_queue *q, uint64_t n, uint64_t est_ns,
                                                        bool managed, uint32_t flags, struct xs_ticket *t)
{
    struct xs_server_page *page = atomic_load(&q->state->server);
    struct xs_client_header *h = &q->state->client->h;

    if (!xs_queue_permitted(q, n) && !(flags & XS_SUBMIT_PASS))
        xs_turn_wait(q, n, est_ns, managed, flags | XS_SUBMIT_NO_MARK);
    t->collective = n;
    t->collective_before = atomic_load(&q->cc->collective);
    while (n > t->collective_before &&
           !atomic_compare_exchange_weak(&q->cc->collective, &t->collective_before, n))
        ;
    /* seq_cst pairs with the scheduler: stores collectives, or closes the word, then reads the number. A
     * session that began after the first collective learns of it when the next one rings. */
    atomic_fetch_add(&h->collectives, 1);
    if (!xs_queue_permitted(q, n) || (page && atomic_load(&page->h.collectives) != XS_COLLECTIVES_KNOWN))
        xs_queue_ring(q);
}

_Atomic uint32_t xsched_priv_awaiting;

void xsched_priv_waits_elsewhere(struct xs_queue *waiter)
{
    atomic_store_explicit(&waiter->submit.idled, XS_MARK_IDLED, memory_order_relaxed); /* a hint */
}

void xsched_priv_waits_for_host(struct xs_queue *waiter)
{
    xsched_priv_waits_elsewhere(waiter);
    xs_in_flight_let_pass(waiter);
}

bool xsched_priv_awaits(struct xs_queue *q, uint64_t number)
{
    /* An event may have been recorded before the last of these commands, and behind an earlier one. */
    xs_queue_look(q, true);
    return atomic_load(&q->cc->completed) < XS_MIN(number, atomic_load(&q->awaits_to));
}

/* A command that takes no time of the device has a mark before it and one behind it. So no time that it takes
 * counts as another's, and threads see that the stream stands there. */
static __attribute__((noinline)) void takes_no_time(struct xs_queue *q, uint32_t flags, struct xs_ticket *t)
{
    if (flags & XS_SUBMIT_OURS)
        atomic_fetch_add(&q->ours, 1);
    atomic_fetch_sub_explicit(&q->cc->est_entered_ns, t->est_ns, memory_order_relaxed);
    t->est_ns = 0;
    t->mark = !(flags & XS_SUBMIT_NO_MARK);
    if (t->mark)
        xsched_priv_milestone(q);
    xsched_priv_waits_elsewhere(q);
    if (t->key != XS_KEY_AWAITS)
        return;
    atomic_store(&q->awaits_to, atomic_load(&q->cc->entered)); /* or one of another thread's, which came just now */
    if (XS_UNLIKELY(!atomic_load_explicit(&xsched_priv_awaiting, memory_order_relaxed))) /* a hint */
        atomic_store(&xsched_priv_awaiting, 1);
}

/* The vendor call of this command may load code. */
static void loads(struct xs_ticket *t)
{
    t->code = atomic_load(&xs_estimate_code);
    t->inside = xsched_priv_inside_begin();
}

static __attribute__((noinline)) void wait_for_turn(struct xs_queue *q, uint64_t n, uint64_t est_ns, uint32_t flags,
                                                    struct xs_ticket *t)
{
    xs_turn_wait(q, n, est_ns, true, flags);
    /* it may have changed meanwhile */
    t->lane = atomic_load_explicit(&atomic_load(&q->sc)->lane, memory_order_relaxed);
}

/* The queue may have gates when the command's turn comes. Then it goes behind one, as the turn took it for granted, or else
 * it would run although the queue is suspended. @return whether it has */
static __attribute__((noinline)) bool wait_without_gates(struct xs_queue *q, uint64_t n, uint64_t est_ns, uint32_t *flags,
                                                         struct xs_ticket *t)
{
    if (q->ctx_entries && !(*flags & XS_SUBMIT_LOADED) && (!xs_estimate_get(t->key) || !xs_estimate_is_loaded(t->key)))
        *flags |= XS_SUBMIT_OUTSIDE;
    wait_for_turn(q, n, est_ns, *flags, t);
    return xs_queue_gated(q);
}

void xsched_priv_submit_begin(struct xs_queue *q, uint64_t key, uint32_t flags, struct xs_ticket *t)
{
    struct xs_client_cell *cc = q->cc;
    struct xs_server_cell *sc;
    uint64_t n, old_ns, done_ns, span_ns, est_ns;
    int64_t threshold;
    uint32_t armed;

    t->queue = q;
    t->flags = flags;
    t->key = key;
    t->mark = false;
    t->weighed = false;
    t->inside = false;
    t->padding = false;
    if (XS_UNLIKELY(xs_tls.in_command == q)) { /* a callback command's own vendor calls */
        if (xs_key_takes_no_time(key))
            xsched_priv_waits_elsewhere(q);
        t->queue = NULL;
        t->lane = XS_LANE_OFF;
        return;
    }
    /* seq_cst pairs with the scheduler: stores armed, then reads entered again */
    n = atomic_fetch_add(&cc->entered, 1) + 1;
    sc = atomic_load(&q->sc);
    armed = atomic_load(&sc->armed);
    t->lane = atomic_load_explicit(&sc->lane, memory_order_relaxed); /* a value by itself */
    if (XS_UNLIKELY(armed & XS_ARMED_SUBMIT))
        xs_queue_ring(q);
    if (!xs_queue_managed(q, sc)) {
        t->est_ns = 0;
        if (XS_UNLIKELY(!xs_queue_permitted(q, n) || atomic_load(&q->deferred_count)) && !(flags & XS_SUBMIT_PASS))
            xs_turn_wait(q, n, 0, false, flags);
        if (XS_UNLIKELY(flags & (XS_SUBMIT_COLLECTIVE | XS_SUBMIT_OURS))) {
            if (flags & XS_SUBMIT_COLLECTIVE)
                collective_begins(q, n, 0, false, flags, t);
            else
                atomic_fetch_add(&q->ours, 1);
        }
        if (XS_UNLIKELY(xs_queue_gated(q)) && !(flags & XS_SUBMIT_PASS) &&
            ((flags & XS_SUBMIT_OUTSIDE) || (!(flags & XS_SUBMIT_LOADED) && !xs_estimate_is_loaded(key))))
            loads(t); /* the application may suspend another queue of this context */
        /* a caller may mark a command that this function would not */
        t->returned_before = atomic_load_explicit(&cc->returned, memory_order_relaxed);
        return;
    }

    xs_tls.priority = atomic_load_explicit(&q->priority, memory_order_relaxed);
    xs_tls.polled = NULL;

    xs_queue_look(q, true);

    uint64_t told_ns = xs_in_flight_bound_ns(q), bound_ns = told_ns;
    uint32_t known_ns = xs_estimate_get(key);
    bool gated = xs_queue_gated(q);

    est_ns = known_ns ? known_ns : told_ns;
    /* The call of a kernel may have to load its code (CUDA_MODULE_LOADING=LAZY), if it is the first launch,
     * or the first since the program unloaded code. A load waits for all work of the context, so such a call
     * goes as at level 1. */
    if (gated && XS_UNLIKELY(!known_ns || !xs_estimate_is_loaded(key)) && !(flags & (XS_SUBMIT_PASS | XS_SUBMIT_LOADED)))
        flags |= XS_SUBMIT_OUTSIDE;
    else if (gated && !(flags & XS_SUBMIT_OUTSIDE))
        bound_ns = xs_gates_bound_ns(told_ns, est_ns);
    threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    old_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    done_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    if (XS_UNLIKELY(!xs_queue_permitted(q, n) || atomic_load_explicit(&q->deferred_count, memory_order_relaxed) ||
                    (gated && xs_gates_full(q, false)) ||
                    (threshold > 0 ? atomic_load_explicit(&cc->returned, memory_order_relaxed) >=
                                         atomic_load_explicit(&cc->completed, memory_order_relaxed) + (uint64_t)threshold
                                   : old_ns > done_ns && old_ns - done_ns + est_ns > bound_ns)) &&
        !(flags & XS_SUBMIT_PASS)) {
        if (gated)
            wait_for_turn(q, n, est_ns, flags, t);
        else
            gated = wait_without_gates(q, n, est_ns, &flags, t);
    }
    if (gated) {
        if (!xs_gates_enter(q, n, est_ns, known_ns != 0, told_ns, flags)) /* then as at level 1 */
            wait_for_turn(q, n, est_ns, flags | XS_SUBMIT_NO_MARK, t);
        t->weighed = true;
    }

    t->est_ns = (uint32_t)est_ns;
    old_ns = atomic_fetch_add_explicit(&cc->est_entered_ns, est_ns, memory_order_relaxed);
    done_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    if (old_ns <= done_ns)        /* the queue looks empty: this command starts now */
        atomic_store_explicit(&q->submit.busy_since_ns, xs_now_ns(), memory_order_relaxed);
    t->returned_before = atomic_load_explicit(&cc->returned, memory_order_relaxed);

    /* Commands that get a mark: one without an estimate. While a scheduler waits for this queue to end, or
     * for its first submit: one in a while, and each command that only counts (a callback, a host function).
     * Else one in half the bound, or one a batch. */
    span_ns = told_ns / 2;
    if (!known_ns || (gated && xs_gates_mark_due(q)) ||
        (XS_UNLIKELY(armed) && ((flags & XS_SUBMIT_PASS) ||
                                xs_queue_end_may_be_near(q, old_ns > done_ns ? old_ns - done_ns : 0))))
        t->mark = true;
    else if (threshold > 0)
        t->mark = n % (uint64_t)XS_MAX(atomic_load_explicit(&q->batch, memory_order_relaxed), 1) == 0;
    else
        t->mark = old_ns / span_ns != (old_ns + est_ns) / span_ns;
    if (XS_UNLIKELY(flags)) { /* flags of few submits, behind one look */
        if (flags & XS_SUBMIT_COLLECTIVE) {
            t->mark = true; /* all members wait for its end */
            collective_begins(q, n, est_ns, true, flags, t);
        }
        if (flags & XS_SUBMIT_WHOLE)
            xsched_priv_submit_whole(t);
        if (gated && (flags & XS_SUBMIT_OUTSIDE))
            loads(t);
        if (flags & XS_SUBMIT_NO_MARK)
            t->mark = false;
        if (XS_UNLIKELY(xs_key_takes_no_time(t->key)))
            takes_no_time(q, flags, t);
    }
}

uint64_t xsched_priv_submit_end(struct xs_ticket *t, bool ok, bool self_marked)
{
    struct xs_queue *q = t->queue;
    uint64_t old, number;

    if (XS_UNLIKELY(!q))
        return 0;
    if (XS_UNLIKELY(t->inside)) {
        xsched_priv_inside_end();
        if (ok)
            xs_estimate_note_loaded(t->key, t->code);
    }
    if (XS_UNLIKELY(t->mark || !ok)) /* the rest uses this queue, and so does a mark */
        atomic_fetch_add(&q->refs, 1);
    /* release: the vendor call lies before the count; pairs with acquire loads of returned */
    old = atomic_fetch_add(&q->cc->returned, 1);
    if (XS_UNLIKELY(!ok)) {
        uint64_t expect = old;

        /* the vendor launched nothing, so it is complete when the one before it is */
        if (t->est_ns)
            atomic_fetch_sub_explicit(&q->cc->est_entered_ns, t->est_ns, memory_order_relaxed);
        if (t->weighed)
            xs_gates_take_back(q);
        if (XS_UNLIKELY(t->flags & XS_SUBMIT_COLLECTIVE)) { /* an earlier one may be under way */
            uint64_t mine = t->collective;

            atomic_compare_exchange_strong(&q->cc->collective, &mine, t->collective_before);
        }
        if (atomic_compare_exchange_strong(&q->cc->completed, &expect, old + 1))
            xs_queue_progress(q);
        xs_queue_unref(q);
        return 0;
    }
    if (XS_LIKELY(!t->mark))
        return 0;
    /* The completion of this command proves that of all that returned before its call began; and its own, if
     * no other call came back in between. */
    if (q->device_marks && !self_marked) {
        xs_queue_mark_device(q, t->key, t->est_ns);
        xs_queue_unref(q);
        return 0;
    }
    number = !self_marked || old == t->returned_before ? old + 1 : t->returned_before;
    xs_queue_push_mark(q, number, t->key, t->est_ns);
    if (!self_marked && !xs_queue_append_mark(q, number)) {
        xsched_priv_mark_lost(q, number);
        return 0;
    }
    xs_queue_tell_marked(q);
    return number;
}
