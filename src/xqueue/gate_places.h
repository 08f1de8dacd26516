/* SPDX-License-Identifier: Apache-2.0 */
/* How many streams of a context may stand at closed gates while others of the process go on.
 *
 * A device serves the streams of a context by a few connections (CUDA: eight by default). A stream that waits holds
 * one. Where waiting streams hold most connections, other streams of the context stand behind them. Where they hold all,
 * every other stream stops. So gates are in flight for a few queues at most, where a scheduler or the program may
 * suspend single ones. The commands of the others wait before the driver, as at level 1. */
#ifndef XS_XQUEUE_GATE_PLACES_H
#define XS_XQUEUE_GATE_PLACES_H

#include "xqueue/queue.h"

/** Around a gate. Whether the queue may have one in flight now: it has a place, or takes a free one. It keeps the place
 *  until all its gates are over. Without one it is at level 1 until it tries again. Any thread of the program.
 *  @return true: then call _end once the gate is there */
bool xs_gate_places_begin(struct xs_queue *q);
void xs_gate_places_end(struct xs_queue *q);
/** A thread of a queue without a place waits: tries again. */
static inline void xs_gate_places_try(struct xs_queue *q)
{
    if (XS_UNLIKELY(atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_NO_PLACE) && /* a hint */
        xs_gate_places_begin(q))
        xs_gate_places_end(q);
}
/** The queue leaves its context. Under state.lock. */
void xs_gate_places_leave(struct xs_queue *q);

#endif
