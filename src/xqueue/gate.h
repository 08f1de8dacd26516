/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: gates in the stream, which the device itself obeys. */
#ifndef XS_XQUEUE_GATE_H
#define XS_XQUEUE_GATE_H

#include "xqueue/queue.h"

/** Level 2 is in force for what is submitted now. */
static inline bool xs_queue_gated(struct xs_queue *q)
{
    /* relaxed: a change of level is for later commands. As at level 1 while nobody is there who could close a
     * gate. */
    return q->ctx_entries && atomic_load_explicit(&q->gates_on, memory_order_relaxed) &&
           !(atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_JOINING);
}
/** The copy of the application's permit that devices see; NULL: there is none. */
_Atomic uint64_t *xs_gates_app_word(struct xs_queue *q);
/** The level in force is now `level`. Under state.lock. */
void xs_gates_set_level(struct xs_queue *q, int32_t level);
/** What xserver says of gates at level 3 (XS_GATES_*). Under state.lock. */
void xs_gates_tell(struct xs_queue *q, uint32_t gates);
/** A session begins, whose server has said nothing yet. Control thread.
 *  @return false: the lock is taken, try again */
bool xs_gates_untell(struct xs_state *st);
/** The storage is used anew: as at level 1, and what it had in the stream does not count. Under
 *  state.lock. */
void xs_gates_reset(struct xs_queue *q);
/** The queue is out of the tables: what it has in the stream does not count any more. Under state.lock. */
void xs_gates_forget(struct xs_queue *q);
/** The estimated time that may be in flight where gates stand in between.
 *  @param told_ns  the bound without gates
 *  @param est_ns  of the command to be submitted */
uint64_t xs_gates_bound_ns(uint64_t told_ns, uint64_t est_ns);
/** Too many entries stand in the streams of the context. Any thread.
 *  @param shut  the queue is suspended: less is too many */
bool xs_gates_full(struct xs_queue *q, bool shut);
/** The same after having looked at what the other queues of the context completed. */
bool xs_gates_full_still(struct xs_queue *q, bool shut);
/** Counts command n, and puts a gate before it if it is time for one. Calls the vendor.
 *  @param known  it was timed before
 *  @return false: no gate could be put, so it must wait for its permit outside */
bool xs_gates_enter(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool known, uint64_t told_ns, uint32_t flags);
/** The vendor refused the command: it does not count. */
void xs_gates_take_back(struct xs_queue *q);
/** A mark is about to be put into the stream. */
void xs_gates_mark(struct xs_queue *q);
/** It is time for a mark, by entries. */
bool xs_gates_mark_due(struct xs_queue *q);
/** All entries up to this weight are done. Any thread. */
void xs_gates_done(struct xs_queue *q, uint64_t weight);
/** Whether the queue was suspended since the last call; then measured times say nothing. Under mark_lock. */
bool xs_gates_held_since(struct xs_queue *q);
/** Sets the application's own permit, and the copy that devices see. Any thread; takes state.lock. */
void xs_queue_app_set(struct xs_queue *q, uint64_t permitted);
/** The same under state.lock. */
void xs_queue_app_set_locked(struct xs_queue *q, uint64_t permitted);
/** No gate of the queue is in flight, as far as is known. Any thread. */
bool xs_gates_passed(struct xs_queue *q);
/** Looks after gates in flight: true while there may be some. Control thread. */
bool xs_gates_watch(struct xs_state *st);

#endif
