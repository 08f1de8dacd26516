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

/** Whether the commands in flight wait for the host, or for another process, as far as the shim sees that: the
 *  stream stands at a command of the key XS_KEY_AWAITS. A thread that waited for the bound then might be the one
 *  that it waits for. So the bound is one of so many commands there. */
#define XS_IN_FLIGHT_AWAITS 512u
static inline bool xs_in_flight_awaits(struct xs_queue *q)
{
    /* relaxed: both are hints */
    return xs_completion_head_est_ns(&q->completion) == XS_HEAD_AWAITS &&
           atomic_load_explicit(&q->cc->entered, memory_order_relaxed) -
                   atomic_load_explicit(&q->cc->completed, memory_order_relaxed) <= XS_IN_FLIGHT_AWAITS;
}

/** A wait for the bound may end a little before the running command is expected to, so that the device gets the
 *  next one in time. Whether it does end depends on what such waits show. Where a command completes during a wait,
 *  later waits may end early; where commands complete after waits alone, they may wait for the very thread that
 *  waits, and each estimate would be longer by the wait. Then a wait lasts until something completes.
 *  @param waited_for  something completed during a wait */
void xs_in_flight_trust(struct xs_queue *q, bool waited_for);

/** If nothing completes for this long, a wait for the bound ends: the device is slow, or the work in flight waits
 *  for this very thread (a user event, a polling kernel). */
uint64_t xs_in_flight_patience_ns(struct xs_queue *q, uint64_t outstanding_ns);
/** A thread gave up: nothing completed although work is in flight, so its caller distrusts what completes
 *  later (xs_queues_distrust). Some commands pass the bound, twice as many
 *  at each further time, until something completes. The work may wait for that thread in a way that the shim does
 *  not see (a kernel that polls memory), at each turn of a loop. So after some waits in a row that ended like
 *  this, threads do not wait at all the next times; each further one makes it four times as many. */
void xs_in_flight_gave_up(struct xs_queue *q);
/** Whether this is one of these times. Then some commands pass. */
bool xs_in_flight_is_futile(struct xs_queue *q);
/** Threads do not wait for the bound the next times. */
void xs_in_flight_unbound(struct xs_queue *q);
/** Some commands pass the bound until something completes. */
void xs_in_flight_let_pass(struct xs_queue *q);
/** A wait for the bound ended because something completed. */
void xs_in_flight_went_on(struct xs_queue *q);
/** Uses one of these. @return false: there is none */
bool xs_in_flight_take_pass(struct xs_queue *q);

#endif
