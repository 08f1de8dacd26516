/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/in_flight.h"

#define PASSES_MIN   8u
#define PASSES_MAX   65536u
#define PASSES_UNBOUNDED 64u
#define UNBOUNDED_MIN 64u
#define UNBOUNDED_MAX 4096u
#define PATIENCE_NS   (20 * XS_NS_PER_MS)
#define PATIENCE_MOST_NS XS_NS_PER_S

#define TRUST_MIN     4u
#define TRUST_MAX     1024u

/* After so many waits in a row that a thread gave up, threads do not wait the next times. Each wait before that
 * lasts twice as long, so that a kernel that takes longer than estimated ends during one of them. */
#define FUTILE_MANY   4u
#define SLEEP_MIN_NS (20 * XS_NS_PER_US)
#define LATE_PART    8u           /* a wait for work that is late looks again after this part of the delay so far */

_Atomic int64_t xs_in_flight_us = -1;

uint64_t xs_in_flight_wait_ns(struct xs_queue *q, uint64_t est_ns, uint64_t bound_ns, uint64_t now_ns,
                              uint64_t *ret_outstanding_ns)
{
    struct xs_client_cell *cc = q->cc;
    int64_t threshold = atomic_load_explicit(&q->threshold, memory_order_relaxed);
    uint64_t completed_ns = atomic_load_explicit(&cc->est_completed_ns, memory_order_relaxed);
    uint64_t entered_ns = atomic_load_explicit(&cc->est_entered_ns, memory_order_relaxed);
    uint64_t out = entered_ns > completed_ns ? entered_ns - completed_ns : 0;
    uint64_t lead_ns = XS_MIN(bound_ns / 5, 200 * XS_NS_PER_US);
    uint64_t head, since, elapsed, late, remaining;

    *ret_outstanding_ns = out;
    if (threshold > 0) {
        uint64_t returned = atomic_load(&cc->returned), completed = atomic_load(&cc->completed);

        if (returned < completed + (uint64_t)threshold || xs_in_flight_awaits(q))
            return 0;
        /* the first of several ends soon, and a sleep lasts longer than its time limit */
        return XS_MAX(out / (3 + (uint64_t)threshold), 50 * XS_NS_PER_US);
    }
    if (out == 0 || out + est_ns <= bound_ns || xs_in_flight_awaits(q))
        return 0;
    /* The command that runs now has been running for a while. */
    since = XS_MAX(xs_completion_last_done_ns(&q->completion),
                   atomic_load_explicit(&q->busy_since_ns, memory_order_relaxed));
    head = xs_completion_head_est_ns(&q->completion);
    elapsed = now_ns > since ? now_ns - since : 0;
    late = elapsed - XS_MIN(elapsed, head ? head : out);
    elapsed -= late;
    remaining = out - XS_MIN(out, elapsed);
    /* Work that is late would make this a spin of tiny sleeps. Of many threads at once, those take the processors from
     * the one that lets the work go on. */
    if (remaining <= lead_ns || remaining + est_ns <= bound_ns)
        return atomic_load_explicit(&q->trust, memory_order_relaxed) ? 0 : XS_MAX(late / LATE_PART, SLEEP_MIN_NS);
    return XS_MAX(remaining - XS_MAX(lead_ns, bound_ns > est_ns ? bound_ns - est_ns : 0), SLEEP_MIN_NS);
}

bool xs_in_flight_ran_dry(struct xs_queue *q)
{
    return atomic_load_explicit(&q->cc->marked, memory_order_relaxed) >=
           xs_completion_device_issued(&q->completion);
}

void xs_in_flight_learn(struct xs_queue *q, uint64_t bound_ns, bool dry)
{
    uint64_t slack_ns = atomic_load_explicit(&q->bound.slack_ns, memory_order_relaxed); /* a value by itself */

    slack_ns = dry ? XS_MIN(slack_ns + bound_ns / 4, bound_ns) : slack_ns - slack_ns / 16;
    atomic_store_explicit(&q->bound.slack_ns, slack_ns, memory_order_relaxed);
}

bool xs_in_flight_take_pass(struct xs_queue *q)
{
    uint32_t left = atomic_load(&q->bound.passes);

    while (left && !atomic_compare_exchange_weak(&q->bound.passes, &left, left - 1))
        ;
    return left != 0;
}

static void grant(struct xs_queue *q, uint32_t n)
{
    atomic_store(&q->bound.passes_granted, n);
    atomic_store(&q->bound.passes, n);
}

void xs_in_flight_trust(struct xs_queue *q, bool waited_for)
{
    /* relaxed: a hint; under mark_lock */
    uint32_t trust = atomic_load_explicit(&q->trust, memory_order_relaxed);

    trust = waited_for ? XS_MIN(trust * 2 + TRUST_MIN, TRUST_MAX) : trust - (trust != 0);
    atomic_store_explicit(&q->trust, trust, memory_order_relaxed);
}

uint64_t xs_in_flight_patience_ns(struct xs_queue *q, uint64_t outstanding_ns)
{
    uint32_t futile = atomic_load(&q->futile);
    uint64_t least_ns = futile < FUTILE_MANY ? PATIENCE_NS << futile : 2 * PATIENCE_NS;

    return XS_MAX(XS_MIN(2 * outstanding_ns, PATIENCE_MOST_NS), least_ns);
}

void xs_in_flight_gave_up(struct xs_queue *q)
{
    uint32_t n = atomic_load(&q->bound.passes_granted), futile;

    if (n == 0) {                 /* the first time since something completed */
        futile = atomic_fetch_add(&q->futile, 1) + 1;
        if (futile >= FUTILE_MANY)
            atomic_store(&q->unbounded, XS_MIN(UNBOUNDED_MIN << 2 * XS_MIN(futile - FUTILE_MANY, 8u), UNBOUNDED_MAX));
    }
    grant(q, n ? XS_MIN(n * 2, PASSES_MAX) : PASSES_MIN);
}

bool xs_in_flight_is_futile(struct xs_queue *q)
{
    uint32_t left = atomic_load(&q->unbounded);

    if (XS_LIKELY(left == 0))
        return false;
    while (left && !atomic_compare_exchange_weak(&q->unbounded, &left, left - 1))
        ;
    if (left == 0)
        return false;
    xs_in_flight_let_pass(q);
    return true;
}

void xs_in_flight_unbound(struct xs_queue *q)
{
    uint32_t left = atomic_load(&q->unbounded);

    while (left < UNBOUNDED_MIN && !atomic_compare_exchange_weak(&q->unbounded, &left, UNBOUNDED_MIN))
        ;
}

void xs_in_flight_let_pass(struct xs_queue *q)
{
    grant(q, PASSES_UNBOUNDED);
}

void xs_in_flight_went_on(struct xs_queue *q)
{
    if (XS_UNLIKELY(atomic_load(&q->futile))) {
        atomic_store(&q->futile, 0);
        atomic_store(&q->unbounded, 0);
    }
}
