/* SPDX-License-Identifier: Apache-2.0 */
/* A bound on a queue's commands in flight: by estimated device time, or by their number. */
#ifndef XS_XQUEUE_IN_FLIGHT_H
#define XS_XQUEUE_IN_FLIGHT_H

#include "base/clock.h"
#include "base/tune.h"
#include "xqueue/queue.h"

/* XSCHED_TUNE=inflight-us; owner: in_flight.c. -1: not read yet, 0: unset. Hidden, so that each launch reads
 * it without a look into the table of global offsets. */
extern _Atomic int64_t xs_in_flight_us XS_HIDDEN;

/** The bound by device time, without gates. Any thread. */
static inline uint64_t xs_in_flight_bound_ns(struct xs_queue *q)
{
    /* relaxed: values by themselves */
    int64_t us = atomic_load_explicit(&xs_in_flight_us, memory_order_relaxed);

    if (XS_UNLIKELY(us != 0)) {
        us = us < 0 ? xs_tune_keep(XS_TUNE_INFLIGHT_US, 0, &xs_in_flight_us) : us;
        if (us)
            return (uint64_t)us * XS_NS_PER_US;
    }
    us = atomic_load_explicit(&atomic_load_explicit(&q->sc, memory_order_acquire)->inflight_us,
                              memory_order_relaxed);
    return (uint64_t)(us ? us : XS_INFLIGHT_SHARED_US) * XS_NS_PER_US;
}
/** Whether the program may submit a command now under that bound.
 *  @param est_ns              its estimate
 *  @param ret_outstanding_ns  the estimated time of the commands in flight
 *  @return 0: it may, else how long to sleep before looking again; a completion wakes, too */
uint64_t xs_in_flight_wait_ns(struct xs_queue *q, uint64_t est_ns, uint64_t bound_ns, uint64_t now_ns,
                              uint64_t *ret_outstanding_ns);

/** Where the device writes the marks, they wake no thread: a wait for the bound may end when nothing is in
 *  flight any more. Then the device idles because of the bound, and measured times are too long. They are
 *  longer still if that makes the bound tighter. So a wait that ends like this widens the bound by a quarter,
 *  to twice of it at most; one in time takes some back.
 *  @return whether nothing is in flight, before the caller accounts marks */
bool xs_in_flight_ran_dry(struct xs_queue *q);
/** A wait for the bound ended. @param dry  nothing was in flight then */
void xs_in_flight_learn(struct xs_queue *q, uint64_t bound_ns, bool dry);

/** Completions do not come although work is in flight: so many commands pass the bound, twice as many at each
 *  further time, until something completes. */
void xs_in_flight_grant_passes(struct xs_queue *q);
/** Uses one of these. @return false: there is none */
bool xs_in_flight_take_pass(struct xs_queue *q);

#endif
