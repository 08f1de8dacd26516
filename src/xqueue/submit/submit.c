/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one command: count it, estimate it, look at the permits and at the commands in flight, say whether it gets a
 * mark; and, after the vendor call, count it as returned and put the mark. It allocates nothing. A system call is there only
 * where it waits, rings a scheduler that sleeps, or wakes a thread. It takes mark_lock by try alone, for a mark. It takes
 * state.lock only where a call at level 2 may load code (gates/context_blocking.c). */
#include "base/clock.h"
#include "xqueue/estimate.h"
#include "xqueue/gates/gate.h"
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
    xs_ends_idled(&waiter->ends);
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

/* ---- a submit begins: count, estimate, wait, mark. No function outside this file gets the address of a `begun`, so that
 * its fields stay in registers. ---- */

struct begun {
    struct xs_queue *q;
    struct xs_client_cell *cc;    /* of q */
    uint64_t n;                   /* the command's number */
    uint32_t flags;               /* XS_SUBMIT_* */
    uint32_t armed;               /* what the scheduler asked for, as the command entered */
    uint32_t known_ns;            /* the estimate; 0: there is none */
    uint64_t est_ns;              /* likewise, else a guess */
    uint64_t told_ns;             /* the bound in flight without gates */
    uint64_t bound_ns;            /* the bound in flight for this command */
    bool gated;                   /* it goes behind a gate, as level 2 has it */
};
#define PART static inline __attribute__((always_inline))

/* Counts the command, and rings a scheduler that asked for that. @return the cell that the scheduler writes */
PART struct xs_server_cell *count(struct begun *b, struct xs_ticket *t)
{
    struct xs_server_cell *sc;

    /* seq_cst pairs with the scheduler: stores armed, then reads entered again */
    b->n = atomic_fetch_add(&b->cc->entered, 1) + 1;
    sc = atomic_load(&b->q->sc);
    b->armed = atomic_load(&sc->armed);
    t->lane = atomic_load_explicit(&sc->lane, memory_order_relaxed); /* a value by itself */
    if (XS_UNLIKELY(b->armed & XS_ARMED_SUBMIT))
        xs_queue_ring(b->q);
    return sc;
}

/* How long the command may take, what may be in flight before it, and whether it goes behind a gate. */
PART void estimate(struct begun *b, uint64_t key)
{
    b->told_ns = b->bound_ns = xs_in_flight_bound_ns(b->q);
    b->known_ns = xs_estimate_get(key);
    b->gated = xs_queue_gated(b->q);
    b->est_ns = b->known_ns ? b->known_ns : b->told_ns;
    /* The call of a kernel may have to load its code (CUDA_MODULE_LOADING=LAZY), if it is the first launch,
     * or the first since the program unloaded code. A load waits for all work of the context, so such a call
     * goes as at level 1. */
    if (b->gated && XS_UNLIKELY(!b->known_ns || !xs_estimate_is_loaded(key)) &&
        !(b->flags & (XS_SUBMIT_PASS | XS_SUBMIT_LOADED)))
        b->flags |= XS_SUBMIT_OUTSIDE;
    else if (b->gated && !(b->flags & XS_SUBMIT_OUTSIDE))
        b->bound_ns = xs_gates_bound_ns(b->told_ns, b->est_ns);
}

/* Waits for the turn of a command of a managed queue. */
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

/* A look at all that wait_for_turn() waits for, with little cost where there is nothing to wait for. */
PART bool must_wait(const struct begun *b)
{
    struct xs_queue *q = b->q;
    struct xs_client_cell *cc = b->cc;
    int64_t threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    uint64_t entered_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    uint64_t done_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);

    return !xs_queue_permitted(q, b->n) || atomic_load_explicit(&q->deferred_count, memory_order_relaxed) ||
           (b->gated && xs_gates_full(q, false)) ||
           (threshold > 0 ? atomic_load_explicit(&cc->returned, memory_order_relaxed) >=
                                   atomic_load_explicit(&cc->completed, memory_order_relaxed) + (uint64_t)threshold
                             : entered_ns > done_ns && entered_ns - done_ns + b->est_ns > b->bound_ns);
}

/* Puts the command behind a gate. */
PART void enter_gates(const struct begun *b, struct xs_ticket *t)
{
    if (!xs_gates_enter(b->q, b->n, b->est_ns, b->known_ns != 0, b->told_ns, b->flags)) /* then as at level 1 */
        wait_for_turn(b->q, b->n, b->est_ns, b->flags | XS_SUBMIT_NO_MARK, t);
    t->weighed = true;
}

/* Waits until the command may go to the vendor, and puts it behind a gate where there are any. */
PART void wait_to_go(struct begun *b, struct xs_ticket *t)
{
    bool waits = XS_UNLIKELY(must_wait(b)) && !(b->flags & XS_SUBMIT_PASS);
    uint32_t flags = b->flags;

    if (b->gated) {
        if (waits)
            wait_for_turn(b->q, b->n, b->est_ns, b->flags, t);
        enter_gates(b, t);
    } else if (waits) {
        b->gated = wait_without_gates(b->q, b->n, b->est_ns, &flags, t);
        b->flags = flags;
        if (b->gated)
            enter_gates(b, t);
    }
}

/* Adds the command to those in flight, and says whether it gets a mark. One without an estimate does. While a
 * scheduler waits for this queue to end, or for its first submit: one in a while, and each command that only counts
 * (a callback, a host function). Else one in half the bound, or one a batch. */
PART void mark(const struct begun *b, struct xs_ticket *t)
{
    struct xs_queue *q = b->q;
    int64_t threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    uint64_t span_ns = b->told_ns / 2, old_ns, done_ns;

    t->est_ns = (uint32_t)b->est_ns;
    old_ns = atomic_fetch_add_explicit(&b->cc->est_entered_ns, b->est_ns, memory_order_relaxed);
    done_ns = atomic_load_explicit(&b->cc->est_completed_ns, memory_order_relaxed);
    if (old_ns <= done_ns)        /* the queue looks empty: this command starts now */
        atomic_store_explicit(&q->busy_since_ns, xs_now_ns(), memory_order_relaxed);
    t->returned_before = atomic_load_explicit(&b->cc->returned, memory_order_relaxed);
    if (!b->known_ns || (b->gated && xs_gates_mark_due(q)) ||
        (XS_UNLIKELY(b->armed & (XS_ARMED_SUBMIT | XS_ARMED_IDLE)) && ((b->flags & XS_SUBMIT_PASS) ||
                                   xs_queue_end_may_be_near(q, old_ns > done_ns ? old_ns - done_ns : 0))))
        t->mark = true;
    else if (threshold > 0)
        t->mark = b->n % (uint64_t)XS_MAX(atomic_load_explicit(&q->batch, memory_order_relaxed), 1) == 0;
    else if (XS_UNLIKELY(old_ns / span_ns != (old_ns + b->est_ns) / span_ns))
        t->mark = true;
}

/* What flags of few submits ask for. */
PART void obey_flags(const struct begun *b, struct xs_ticket *t)
{
    if (b->flags & XS_SUBMIT_COLLECTIVE) {
        t->mark = true; /* all members wait for its end */
        collective_begins(b->q, b->n, b->est_ns, true, b->flags, t);
    }
    if (b->flags & XS_SUBMIT_GRAPH) { /* of two threads in one stream at once one may not count */
        uint64_t before = atomic_load_explicit(&b->cc->graphs, memory_order_relaxed);

        atomic_store_explicit(&b->cc->graphs, XS_GRAPHS(b->n, XS_GRAPHS_COUNT(before) + 1u), memory_order_relaxed);
    }
    if (b->flags & XS_SUBMIT_WHOLE)
        xsched_priv_submit_whole(t);
    if (b->gated && (b->flags & XS_SUBMIT_OUTSIDE))
        loads(t);
    if (b->flags & XS_SUBMIT_NO_MARK)
        t->mark = false;
    if (XS_UNLIKELY(xs_key_takes_no_time(t->key)))
        takes_no_time(b->q, b->flags, t);
}

/* No scheduler and no bound: the command counts, and may still find the application's own suspension. */
PART void begin_unmanaged(const struct begun *b, struct xs_ticket *t)
{
    struct xs_queue *q = b->q;

    t->est_ns = 0;
    if (XS_UNLIKELY(!xs_queue_permitted(q, b->n) || atomic_load(&q->deferred_count)) && !(b->flags & XS_SUBMIT_PASS))
        xs_turn_wait(q, b->n, 0, false, b->flags);
    if (XS_UNLIKELY(b->flags & (XS_SUBMIT_COLLECTIVE | XS_SUBMIT_OURS))) {
        if (b->flags & XS_SUBMIT_COLLECTIVE)
            collective_begins(q, b->n, 0, false, b->flags, t);
        else
            atomic_fetch_add(&q->ours, 1);
    }
    if (XS_UNLIKELY(xs_queue_gated(q)) && !(b->flags & XS_SUBMIT_PASS) &&
        ((b->flags & XS_SUBMIT_OUTSIDE) || (!(b->flags & XS_SUBMIT_LOADED) && !xs_estimate_is_loaded(t->key))))
        loads(t); /* the application may suspend another queue of this context */
    /* a caller may mark a command that this function would not */
    t->returned_before = atomic_load_explicit(&b->cc->returned, memory_order_relaxed);
}

void xsched_priv_submit_begin(struct xs_queue *q, uint64_t key, uint32_t flags, struct xs_ticket *t)
{
    struct begun b = {.q = q, .cc = q->cc, .flags = flags};
    struct xs_server_cell *sc;

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
    sc = count(&b, t);
    if (!xs_queue_managed(q, sc)) {
        begin_unmanaged(&b, t);
        return;
    }
    xs_tls.priority = atomic_load_explicit(&q->priority, memory_order_relaxed);
    xs_tls.polled = XS_TLS_SUBMITS;
    xs_queue_look(q, true);
    estimate(&b, key);
    wait_to_go(&b, t);
    mark(&b, t);
    if (XS_UNLIKELY(b.flags))     /* behind one look */
        obey_flags(&b, t);
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
            xs_progress_make(&q->progress);
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
