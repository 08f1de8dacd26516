/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one command: count it, look at the gates, look at what is in flight, let it go.
 * No lock, no allocation, no system call unless it must wait. */
#include "xqueue/submit.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/futex.h"
#include "base/static_probe.h"
#include "base/tune.h"
#include "xqueue/control/control_thread.h"
#include "xqueue/estimate.h"
#include "xqueue/gate.h"
#include "xqueue/hwq.h"
#include "xqueue/inherit.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

/* Completions that do not come for this long, or for twice the estimate, mean that the work in
 * flight waits for this very thread (a user event, a polling kernel), or that the device is slow:
 * some commands may pass, twice as many at each further time, until something completes. */
#define PATIENCE_MIN_NS (20 * XS_NS_PER_MS)
#define PASSES_MIN      8u
#define PASSES_MAX      65536u
#define SLEEP_MIN_NS    (20 * XS_NS_PER_US)
#define APP_TICK_NS     XS_NS_PER_S
#define FULL_SLEEP_NS   (200 * XS_NS_PER_US)

void xs_queue_ring(struct xs_queue *q)
{
    struct xs_state *st = q->state;
    struct xs_server_page *page = atomic_load(&st->server);

    if (page && xs_page_ring(st->client, page, q->cell))
        xs_fd_eventfd_signal(st->bell_fd);
}

void xs_queue_progress(struct xs_queue *q)
{
    atomic_fetch_add(&q->progress, 1);
    /* seq_cst pairs with xs_queue_sleep: waiters++, then progress is compared by the kernel */
    if (atomic_load(&q->progress_waiters))
        xs_futex_wake(&q->progress, INT32_MAX);
}

void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns)
{
    atomic_fetch_add(&q->progress_waiters, 1);
    if (atomic_load(&q->progress) == seen)
        xs_futex_wait(&q->progress, seen, timeout_ns);
    atomic_fetch_sub(&q->progress_waiters, 1);
}

#define LOOK_EARLY_NS (80 * XS_NS_PER_US)  /* a sleep ends about this much late */
#define LOOK_SPIN_NS  (150 * XS_NS_PER_US) /* shorter ones are not worth it */
#define LOOK_MOST_NS  (300 * XS_NS_PER_US) /* the estimate may be far too long, and a device idles meanwhile */

void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t began_ns;

    if (timeout_ns > LOOK_SPIN_NS) {
        xs_queue_sleep(q, seen, XS_MIN(timeout_ns, LOOK_MOST_NS) - LOOK_EARLY_NS);
        return;
    }
    timeout_ns = XS_MIN(timeout_ns, 50 * XS_NS_PER_US);
    began_ns = xs_now_ns();
    /* a clock that was put back ends it, too: the difference is large then */
    while (atomic_load(&q->progress) == seen &&
           atomic_load_explicit(&q->cc->marked, memory_order_relaxed) <=
               atomic_load_explicit(&q->cc->completed, memory_order_relaxed) &&
           xs_now_ns() - began_ns < timeout_ns)
        xs_cpu_relax();
}

/* Sleeps at the first closed gate. Returns when it changed or a tick has passed. */
static void permit_sleep(struct xs_queue *q, uint64_t n, uint64_t *began_ns)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint64_t permitted = atomic_load(&q->app_permitted);

    if (n > permitted) {
        xs_futex_wait(xs_futex_low(&q->app_permitted), (uint32_t)permitted, APP_TICK_NS);
        return;
    }
    permitted = atomic_load(&sc->permitted);
    if (n <= permitted)
        return;
    /* seq_cst pairs with the scheduler: stores permitted, then looks at waiters */
    atomic_fetch_add(&q->cc->waiters, 1);
    if (atomic_load(&sc->permitted) == permitted)
        xs_futex_wait(xs_futex_low(&sc->permitted), (uint32_t)permitted, XS_LEASE_TICK_NS);
    atomic_fetch_sub(&q->cc->waiters, 1);

    struct xs_server_page *page = atomic_load(&q->state->server);
    if (page && sc != &xs_open_cell && atomic_load(&sc->permitted) < n) {
        uint64_t until = atomic_load(&page->h.lease_until_ns);
        uint64_t now = xs_now_ns();

        *began_ns = XS_MIN(*began_ns, now); /* a clock that was put back, and a lease of before that */
        if (until > now + 2 * XS_LEASE_NS)
            until = 0;
        if (now > XS_MAX(until, *began_ns + XS_LEASE_NS) && sc == &page->cells[q->cell])
            xs_state_fail_open(q->state, page);
    }
}

static bool is_permitted(struct xs_queue *q, uint64_t n)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);

    return n <= atomic_load(&sc->permitted) && n <= atomic_load(&q->app_permitted);
}

/* -1: not read yet; any thread, once */
static _Atomic int64_t g_inflight_us = -1; /* XSCHED_TUNE=inflight-us; 0: not given */
static _Atomic int64_t g_mark_us = -1;     /* XSCHED_TUNE=mark-us */

static __attribute__((noinline)) int64_t read_tune(_Atomic int64_t *kept, enum xs_tune_id id, int64_t usual)
{
    int64_t us = xs_tune_i64(id, usual);

    atomic_store_explicit(kept, us, memory_order_relaxed);
    return us;
}

static inline uint64_t inflight_bound_ns(struct xs_queue *q)
{
    /* relaxed: values by themselves */
    int64_t us = atomic_load_explicit(&g_inflight_us, memory_order_relaxed);

    if (XS_UNLIKELY(us != 0)) {
        us = us < 0 ? read_tune(&g_inflight_us, XS_TUNE_INFLIGHT_US, 0) : us;
        if (us)
            return (uint64_t)us * XS_NS_PER_US;
    }
    us = atomic_load_explicit(&atomic_load_explicit(&q->sc, memory_order_acquire)->inflight_us,
                              memory_order_relaxed);
    return (uint64_t)(us ? us : XS_INFLIGHT_SHARED_US) * XS_NS_PER_US;
}

/* 0 when there is room, else how long to sleep before looking again (a completion wakes, too). */
static uint64_t room_after_ns(struct xs_queue *q, uint64_t est_ns, uint64_t bound_ns, uint64_t now_ns,
                              uint64_t *ret_outstanding_ns)
{
    struct xs_client_cell *cc = q->cc;
    int64_t threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    uint64_t completed_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    uint64_t entered_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    uint64_t out = entered_ns > completed_ns ? entered_ns - completed_ns : 0;
    uint64_t lead_ns = XS_MIN(bound_ns / 5, 200 * XS_NS_PER_US);
    uint64_t head, since, elapsed, remaining;

    *ret_outstanding_ns = out;
    if (threshold > 0) {
        uint64_t returned = atomic_load(&cc->returned), completed = atomic_load(&cc->completed);

        /* the first of several ends soon, and a sleep lasts longer than asked for */
        return returned < completed + (uint64_t)threshold ? 0 : XS_MAX(out / (3 + (uint64_t)threshold), 50 * XS_NS_PER_US);
    }
    if (out == 0 || out + est_ns <= bound_ns)
        return 0;
    /* What runs now has been running for a while. */
    since = XS_MAX(atomic_load_explicit(&q->last_done_ns, memory_order_relaxed),
                   atomic_load_explicit(&q->busy_since_ns, memory_order_relaxed));
    head = atomic_load_explicit(&q->head_est_ns, memory_order_relaxed);
    elapsed = now_ns > since ? now_ns - since : 0;
    elapsed = XS_MIN(elapsed, head ? head : out);
    remaining = out - XS_MIN(out, elapsed);
    if (remaining <= lead_ns || remaining + est_ns <= bound_ns)
        return 0;
    /* Work that is late would make this a spin of tiny sleeps. */
    return XS_MAX(remaining - XS_MAX(lead_ns, bound_ns > est_ns ? bound_ns - est_ns : 0), SLEEP_MIN_NS);
}

bool xs_queue_permit_wait(struct xs_queue *q, uint64_t timeout_ns)
{
    uint64_t began_ns = xs_now_ns(), n;
    bool told = false, open;

    while (n = atomic_load(&q->cc->entered) + 1, open = is_permitted(q, n), !open) {
        struct xs_server_cell *sc = atomic_load(&q->sc);

        /* What waits here has not entered: that somebody waits is what makes the queue ready, and it
         * is told before the ring. seq_cst pairs with the scheduler: stores armed, reads waiters. */
        if (!told && n <= atomic_load(&q->app_permitted)) {
            atomic_fetch_add(&q->cc->waiters, 1);
            told = true;
        }
        if (atomic_load(&sc->armed) & XS_ARMED_SUBMIT)
            xs_queue_ring(q);
        permit_sleep(q, n, &began_ns);
        if (xs_now_ns() - began_ns >= timeout_ns) {
            open = is_permitted(q, n);
            break;
        }
    }
    if (told)
        atomic_fetch_sub(&q->cc->waiters, 1);
    return open;
}

bool xs_queue_would_wait(struct xs_queue *q)
{
    uint64_t out;

    if (!is_permitted(q, atomic_load(&q->cc->entered) + 1))
        return true;
    return xs_queue_managed(q, atomic_load(&q->sc)) && !atomic_load(&q->passes) &&
           room_after_ns(q, inflight_bound_ns(q) / 4, inflight_bound_ns(q), xs_now_ns(), &out) != 0;
}

static bool take_pass(struct xs_queue *q)
{
    uint32_t left = atomic_load(&q->passes);

    while (left && !atomic_compare_exchange_weak(&q->passes, &left, left - 1))
        ;
    return left != 0;
}

static void grant_passes(struct xs_queue *q)
{
    uint32_t n = atomic_load(&q->passes_granted);

    n = n ? XS_MIN(n * 2, PASSES_MAX) : PASSES_MIN;
    atomic_store(&q->passes_granted, n);
    atomic_store(&q->passes, n);
}

/* Level 2: the command may go although the queue is held, and wait behind a gate in the stream. */
static bool may_gather(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool managed, uint32_t flags)
{
    uint64_t out, told_ns = inflight_bound_ns(q);

    if (!managed || !xs_queue_gated(q) || (flags & (XS_SUBMIT_NO_MARK | XS_SUBMIT_OUTSIDE)) ||
        n > atomic_load(&q->app_permitted) || atomic_load(&q->state->inside))
        return false;
    xs_queue_look(q, false);
    return room_after_ns(q, est_ns, xs_gates_bound_ns(told_ns, est_ns), xs_now_ns(), &out) == 0 &&
           !xs_gates_full_still(q, true);
}

static inline void end_near(struct xs_queue *q)
{
    if (XS_UNLIKELY(atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE))
        xsched_priv_milestone(q);
}

void xsched_priv_end_near(struct xs_queue *q)
{
    end_near(q);
}

uint64_t xs_queue_end_mark_each_ns(void)
{
    int64_t us = atomic_load_explicit(&g_mark_us, memory_order_relaxed); /* a value by itself */

    return (uint64_t)(us < 0 ? read_tune(&g_mark_us, XS_TUNE_MARK_US, 100) : us) * XS_NS_PER_US;
}

/* Whether this command of a queue whose end is awaited gets a mark. Which command is the last one is known to nobody. Where
 * each had a mark, a burst of a hundred launches took a tenth longer; so one in a while has, and the calls by which a program
 * waits for the end put one behind the last (xsched_priv_end_near). A program that is quiet without such calls is noticed:
 * marker.c.
 * @param out_ns  estimated time of what is in flight as far as is known; it may have been over for long */
static bool end_may_be_near(struct xs_queue *q, uint64_t out_ns)
{
    uint64_t now_ns, quiet_ns, each_ns = xs_queue_end_mark_each_ns();

    /* relaxed, all of it: of two threads at once both may mark; a clock that was put back gives a mark, too */
    now_ns = xs_now_ns();
    quiet_ns = now_ns - atomic_load_explicit(&q->watched_ns, memory_order_relaxed);
    atomic_store_explicit(&q->watched_ns, now_ns, memory_order_relaxed);
    if (out_ns && quiet_ns > out_ns + each_ns && atomic_load(&q->marked_to) < atomic_load(&q->cc->returned))
        atomic_store_explicit(&q->idled, 1, memory_order_relaxed);
    if (now_ns - atomic_load_explicit(&q->end_mark_ns, memory_order_relaxed) < each_ns &&
        atomic_load_explicit(&q->unwaited, memory_order_relaxed) < XS_UNWAITED_MANY)
        return false;
    atomic_store_explicit(&q->end_mark_ns, now_ns, memory_order_relaxed);
    return true;
}

/* Where the device writes the marks they wake nobody, so a wait for room may end when nothing is in flight any more, and
 * the device idles for the bound's sake; what is measured then is too long, the more so the tighter the bound becomes by
 * that. So a wait that ends like this widens the bound by a quarter, to twice of it at most; one in time takes some back. */
static bool ran_dry(struct xs_queue *q)
{
    return atomic_load_explicit(&q->cc->marked, memory_order_relaxed) >= atomic_load(&q->device_issued);
}

static void slack_learn(struct xs_queue *q, uint64_t bound_ns, bool dry)
{
    uint64_t slack_ns = atomic_load_explicit(&q->slack_ns, memory_order_relaxed); /* a value by itself */

    slack_ns = dry ? XS_MIN(slack_ns + bound_ns / 4, bound_ns) : slack_ns - slack_ns / 16;
    atomic_store_explicit(&q->slack_ns, slack_ns, memory_order_relaxed);
}

/* Everything for which a submit may have to sleep. */
static void wait_turn(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool managed, uint32_t flags)
{
    uint64_t held_ns = 0, patience_from_ns = 0, out;
    uint64_t seen_completed = 0;
    bool late = false, slept = false;

    for (;;) {
        uint32_t seen = atomic_load(&q->progress);
        bool gather = false;

        if (!is_permitted(q, n) && !(gather = q->ctx_entries && may_gather(q, n, est_ns, managed, flags))) {
            uint64_t t0 = xs_now_ns(), t1;

            XS_PROBE2(gate_wait, q->handle, n);
            if (managed && !(flags & XS_SUBMIT_NO_MARK) && !xs_queue_gated(q) &&
                atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE)
                xsched_priv_milestone(q); /* who has its turn next waits for the end of what is in flight here */
            atomic_fetch_add(&q->blocked, 1);
            while (!is_permitted(q, n))
                permit_sleep(q, n, &t0);
            atomic_fetch_sub(&q->blocked, 1);
            t1 = xs_now_ns();
            held_ns += t1 - XS_MIN(t0, t1);
            XS_PROBE2(gate_pass, q->handle, held_ns);
            patience_from_ns = 0;
            late = true;          /* what completed meanwhile did so some time ago */
            slept = false;        /* that nothing is in flight now was wanted, and says nothing of the bound */
            continue;
        }
        if (atomic_load(&q->deferred_count) && !(flags & XS_SUBMIT_FROM_LIST)) {
            /* program order: what XQueueSubmit holds was handed in before */
            xs_queue_sleep(q, seen, 100 * XS_NS_PER_MS);
            continue;
        }
        if (!managed || gather)
            break;
        bool gated = xs_queue_gated(q);
        bool was_dry = slept && ran_dry(q); /* at the end of the wait, before the look: for the slack alone */
        xs_queue_look(q, late);
        late = false;
        uint64_t now = xs_now_ns(), told_ns = inflight_bound_ns(q), bound_ns = told_ns, sleep_ns;

        if (gated && !(flags & XS_SUBMIT_OUTSIDE))
            bound_ns = xs_gates_bound_ns(told_ns, est_ns);
        else
            bound_ns += atomic_load_explicit(&q->slack_ns, memory_order_relaxed);
        sleep_ns = room_after_ns(q, est_ns, bound_ns, now, &out);
        if (slept && (was_dry || sleep_ns == 0))
            slack_learn(q, told_ns, was_dry);
        if (gated && sleep_ns == 0 && xs_gates_full_still(q, false))
            sleep_ns = FULL_SLEEP_NS;
        if (sleep_ns == 0 || take_pass(q))
            break;
        uint64_t completed = atomic_load(&q->cc->completed);

        if (patience_from_ns == 0 || completed != seen_completed) {
            patience_from_ns = now;
            seen_completed = completed;
        }
        uint64_t patience_ns = XS_MAX(2 * out, PATIENCE_MIN_NS);

        if (now - patience_from_ns >= patience_ns) {
            grant_passes(q);
            break;
        }
        if (!atomic_load(&q->marks_pending) && atomic_load(&q->cc->returned) > completed &&
            ((flags & XS_SUBMIT_NO_MARK) || !xs_queue_mark_now(q)))
            break;                /* nothing would ever tell us */
        sleep_ns = XS_MIN(sleep_ns, patience_ns - (now - patience_from_ns));
        slept = q->device_marks;
        if (slept)
            xs_queue_sleep_look(q, seen, sleep_ns);
        else
            xs_queue_sleep(q, seen, sleep_ns);
    }
    if (held_ns)
        atomic_fetch_add_explicit(&q->cc->held_ns, held_ns, memory_order_relaxed);
}

/* A collective that waits for its turn waits here, not behind a gate in the stream, since what is in the stream is
 * under way. Then it is told of, before the vendor call; who holds something meanwhile, or is about to, is rung. */
static __attribute__((noinline)) void collective_begins(struct xs_queue *q, uint64_t n, uint64_t est_ns,
                                                        bool managed, uint32_t flags, struct xs_ticket *t)
{
    struct xs_server_page *page = atomic_load(&q->state->server);
    struct xs_client_header *h = &q->state->client->h;

    if (!is_permitted(q, n) && !(flags & XS_SUBMIT_PASS))
        wait_turn(q, n, est_ns, managed, flags | XS_SUBMIT_NO_MARK);
    t->collective = n;
    t->collective_before = atomic_load(&q->cc->collective);
    while (n > t->collective_before &&
           !atomic_compare_exchange_weak(&q->cc->collective, &t->collective_before, n))
        ;
    /* seq_cst pairs with the scheduler: stores collectives, or closes the word, then reads the number. A session that
     * was joined after the first collective does not know of it before the next one rings. */
    atomic_fetch_add(&h->collectives, 1);
    if (!is_permitted(q, n) || (page && atomic_load(&page->h.collectives) != XS_COLLECTIVES_KNOWN))
        xs_queue_ring(q);
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
    if (XS_UNLIKELY(xs_tls.in_command == q)) { /* a callback command's own vendor calls: it was counted */
        t->queue = NULL;
        return;
    }
    /* seq_cst pairs with the scheduler: stores armed, then reads entered again */
    n = atomic_fetch_add(&cc->entered, 1) + 1;
    sc = atomic_load(&q->sc);
    armed = atomic_load(&sc->armed);
    if (XS_UNLIKELY(armed & XS_ARMED_SUBMIT))
        xs_queue_ring(q);
    if (!xs_queue_managed(q, sc)) {
        t->est_ns = 0;
        if (XS_UNLIKELY(!is_permitted(q, n) || atomic_load(&q->deferred_count)) && !(flags & XS_SUBMIT_PASS))
            wait_turn(q, n, 0, false, flags);
        if (XS_UNLIKELY(flags & XS_SUBMIT_COLLECTIVE))
            collective_begins(q, n, 0, false, flags, t);
        /* a caller may mark a command that this function would not have */
        t->returned_before = atomic_load_explicit(&cc->returned, memory_order_relaxed);
        return;
    }

    xs_tls.priority = atomic_load_explicit(&q->priority, memory_order_relaxed);
    xs_tls.polled = NULL;

    xs_queue_look(q, true);

    uint64_t told_ns = inflight_bound_ns(q), bound_ns = told_ns;
    uint32_t known_ns = xs_estimate_get(key);
    bool gated = xs_queue_gated(q);

    est_ns = known_ns ? known_ns : told_ns;
    /* A kernel that was never seen may have to be loaded by this very call (CUDA_MODULE_LOADING=LAZY), and loading
     * waits for all that the context has: such a call goes as at level 1. */
    if (gated && XS_UNLIKELY(!known_ns) && !(flags & XS_SUBMIT_PASS))
        flags |= XS_SUBMIT_OUTSIDE;
    else if (gated)
        bound_ns = xs_gates_bound_ns(told_ns, est_ns);
    threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    old_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    done_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    if (XS_UNLIKELY(!is_permitted(q, n) || atomic_load_explicit(&q->deferred_count, memory_order_relaxed) ||
                    (gated && xs_gates_full(q, false)) ||
                    (threshold > 0 ? atomic_load_explicit(&cc->returned, memory_order_relaxed) >=
                                         atomic_load_explicit(&cc->completed, memory_order_relaxed) + (uint64_t)threshold
                                   : old_ns > done_ns && old_ns - done_ns + est_ns > bound_ns)) &&
        !(flags & XS_SUBMIT_PASS))
        wait_turn(q, n, est_ns, true, flags);
    if (gated && !xs_gates_enter(q, n, est_ns, known_ns != 0, told_ns, flags)) /* as at level 1, then */
        wait_turn(q, n, est_ns, true, flags | XS_SUBMIT_NO_MARK);

    t->est_ns = (uint32_t)est_ns;
    t->weighed = gated;
    old_ns = atomic_fetch_add_explicit(&cc->est_entered_ns, est_ns, memory_order_relaxed);
    done_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    if (old_ns <= done_ns)        /* it looks empty: what starts now starts now */
        atomic_store_explicit(&q->busy_since_ns, xs_now_ns(), memory_order_relaxed);
    t->returned_before = atomic_load_explicit(&cc->returned, memory_order_relaxed);

    /* A mark: one never timed; where somebody waits for this queue to end, or asked for its first submit and is about
     * to, one in a while, and each that is counted only (a callback, a host function); else one in half the bound, or
     * one a batch. */
    span_ns = told_ns / 2;
    if (!known_ns || (gated && xs_gates_mark_due(q)) ||
        (XS_UNLIKELY(armed) && ((flags & XS_SUBMIT_PASS) || end_may_be_near(q, old_ns > done_ns ? old_ns - done_ns : 0))))
        t->mark = true;
    else if (threshold > 0)
        t->mark = n % (uint64_t)XS_MAX(atomic_load_explicit(&q->batch, memory_order_relaxed), 1) == 0;
    else
        t->mark = old_ns / span_ns != (old_ns + est_ns) / span_ns;
    if (XS_UNLIKELY(flags)) { /* what few submits have, behind one look */
        if (flags & XS_SUBMIT_COLLECTIVE) {
            t->mark = true; /* its end is awaited by all that take part */
            collective_begins(q, n, est_ns, true, flags, t);
        }
        if (flags & XS_SUBMIT_OUTSIDE)
            t->inside = xsched_priv_inside_begin();
        if (flags & XS_SUBMIT_NO_MARK)
            t->mark = false;
    }
}

uint64_t xsched_priv_submit_end(struct xs_ticket *t, bool ok, bool self_marked)
{
    struct xs_queue *q = t->queue;
    uint64_t old, number;

    if (XS_UNLIKELY(!q))
        return 0;
    if (XS_UNLIKELY(t->inside))
        xsched_priv_inside_end();
    if (XS_UNLIKELY(t->mark || !ok)) /* what follows the count is with this queue, and a mark that is reported */
        atomic_fetch_add(&q->refs, 1);
    /* release: the vendor call lies before the count; pairs with acquire loads of returned */
    old = atomic_fetch_add(&q->cc->returned, 1);
    if (XS_UNLIKELY(!ok)) {
        uint64_t expect = old;

        /* nothing was launched, so it is as done as what was before it */
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
    /* Completion of this command proves all that returned before its call began; and itself, if
     * nobody else came back in between. */
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

static void inherit_at_least(struct xs_queue *q, int32_t priority)
{
    int32_t seen = atomic_load(&q->cc->inherit_priority);

    while (priority > seen && !atomic_compare_exchange_weak(&q->cc->inherit_priority, &seen, priority))
        ;
}

static inline uint64_t wait_begin(struct xs_queue *q)
{
    atomic_fetch_add(&q->cc->inherit, 1);
    inherit_at_least(q, xs_tls.priority);
    if (XS_UNLIKELY(atomic_load(&q->waits_for)))
        xs_queue_inherit_on(q, xs_tls.priority);
    /* Where single queues are held it may be closed the moment after, by who has not heard of this. */
    if (!is_permitted(q, atomic_load(&q->cc->entered) + 1) ||
        XS_UNLIKELY(atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) &&
                    xs_tls.priority > atomic_load_explicit(&q->priority, memory_order_relaxed)))
        xs_queue_ring(q);
    return atomic_load(&q->cc->returned);
}

uint64_t xsched_priv_wait_begin(struct xs_queue *q)
{
    return wait_begin(q);
}

uint64_t xsched_priv_wait_begin_own(struct xs_queue *q)
{
    end_near(q);
    return wait_begin(q);
}

void xsched_priv_wait_end(struct xs_queue *q, uint64_t began, bool all_complete)
{
    uint32_t unwaited = atomic_load_explicit(&q->unwaited, memory_order_relaxed); /* a habit, and no more */

    if (XS_UNLIKELY(unwaited != 0) && all_complete)
        atomic_store_explicit(&q->unwaited, unwaited - 1, memory_order_relaxed);
    if (all_complete)             /* before this wait is over: then the queue may be another one */
        xs_queue_complete(q, began, false);
    if (atomic_fetch_sub(&q->cc->inherit, 1) == 1) {
        int32_t seen = atomic_load(&q->cc->inherit_priority);

        /* Somebody may begin to wait at this moment: then what was there is put back, which is at
         * least what he asked for. */
        if (atomic_compare_exchange_strong(&q->cc->inherit_priority, &seen, INT32_MIN) &&
            atomic_load(&q->cc->inherit))
            inherit_at_least(q, seen);
        if (XS_UNLIKELY(seen > atomic_load_explicit(&q->priority, memory_order_relaxed)))
            xs_queue_ring(q);     /* it ran for the waiter's sake */
    }
}
