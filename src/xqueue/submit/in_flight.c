/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/in_flight.h"

#include "xqueue/queue.h"

#define PASSES_MIN   8u
#define PASSES_MAX   65536u
#define SLEEP_MIN_NS (20 * XS_NS_PER_US)

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
    uint64_t head, since, elapsed, remaining;

    *ret_outstanding_ns = out;
    if (threshold > 0) {
        uint64_t returned = atomic_load(&cc->returned), completed = atomic_load(&cc->completed);

        if (returned < completed + (uint64_t)threshold)
            return 0;
        /* the first of several ends soon, and a sleep lasts longer than its time limit */
        return XS_MAX(out / (3 + (uint64_t)threshold), 50 * XS_NS_PER_US);
    }
    if (out == 0 || out + est_ns <= bound_ns)
        return 0;
    /* The command that runs now has been running for a while. */
    since = XS_MAX(atomic_load_explicit(&q->completion.last_done_ns, memory_order_relaxed),
                   atomic_load_explicit(&q->submit.busy_since_ns, memory_order_relaxed));
    head = atomic_load_explicit(&q->completion.head_est_ns, memory_order_relaxed);
    elapsed = now_ns > since ? now_ns - since : 0;
    elapsed = XS_MIN(elapsed, head ? head : out);
    remaining = out - XS_MIN(out, elapsed);
    if (remaining <= lead_ns || remaining + est_ns <= bound_ns)
        return 0;
    /* Work that is late would make this a spin of tiny sleeps. */
    return XS_MAX(remaining - XS_MAX(lead_ns, bound_ns > est_ns ? bound_ns - est_ns : 0), SLEEP_MIN_NS);
}

bool xs_in_flight_ran_dry(struct xs_queue *q)
{
    return atomic_load_explicit(&q->cc->marked, memory_order_relaxed) >=
           atomic_load(&q->completion.device_issued);
}

void xs_in_flight_learn(struct xs_queue *q, uint64_t bound_ns, bool dry)
{
    uint64_t slack_ns = atomic_load_explicit(&q->submit.slack_ns, memory_order_relaxed); /* a value by itself */

    slack_ns = dry ? XS_MIN(slack_ns + bound_ns / 4, bound_ns) : slack_ns - slack_ns / 16;
    atomic_store_explicit(&q->submit.slack_ns, slack_ns, memory_order_relaxed);
}

bool xs_in_flight_take_pass(struct xs_queue *q)
{
    uint32_t left = atomic_load(&q->submit.passes);

    while (left && !atomic_compare_exchange_weak(&q->submit.passes, &left, left - 1))
        ;
    return left != 0;
}

void xs_in_flight_grant_passes(struct xs_queue *q)
{
    uint32_t n = atomic_load(&q->submit.passes_granted);

    n = n ? XS_MIN(n * 2, PASSES_MAX) : PASSES_MIN;
    atomic_store(&q->submit.passes_granted, n);
    atomic_store(&q->submit.passes, n);
}
