/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2: gates in the stream, which the device itself obeys. */
#ifndef XS_XQUEUE_GATE_H
#define XS_XQUEUE_GATE_H

#include "xqueue/interface.h"
#include "xqueue/queue.h"

/** Whether the queue's stream must not stand at a gate (crowded.h). Any thread. */
static inline bool xs_gates_crowded(struct xs_queue *q)
{
    /* Relaxed, with the two below: a change is for later commands. A process whose queues stop together has gates however
     * many they are, since a stream that waits stops nobody who would go on. */
    return XS_UNLIKELY(atomic_load_explicit(&q->crowded, memory_order_relaxed)) &&
           (atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) ||
            (atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_APP));
}

/** Whether level 2 is in force for the next command. */
static inline bool xs_queue_gated(struct xs_queue *q)
{
    /* relaxed: a change of level is for later commands. As at level 1 while neither a scheduler nor the
     * application can close a gate. */
    return q->ctx_entries && atomic_load_explicit(&q->gates_on, memory_order_relaxed) &&
           !(atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_JOINING) && !xs_gates_crowded(q);
}
/** The copy of the application's permit that devices see; NULL: there is none. */
_Atomic uint64_t *xs_gates_app_word(struct xs_queue *q);
/** The level in force is now `level`. Under state.lock. */
void xs_gates_set_level(struct xs_queue *q, int32_t level);
/** xserver's words about gates at level 3 (XS_GATES_*). Under state.lock. */
void xs_gates_tell(struct xs_queue *q, uint32_t gates);
/** A session begins, and its server has said nothing yet. Control thread. @return false: another thread has
 *  the lock, try again */
bool xs_gates_untell(struct xs_state *st);
/** The storage gets a new use: it is at level 1, and old entries in the stream do not count. Under
 *  state.lock. */
void xs_gates_reset(struct xs_queue *q);
/** The queue has left the tables: its entries in the stream count no more. Under state.lock. */
void xs_gates_forget(struct xs_queue *q);
/** Opens all gates that the queue has in its stream, also while a scheduler or the application suspends it.
 *  Under state.lock. */
void xs_gates_open_locked(struct xs_queue *q);
/** The estimated time that may be in flight where gates stand in between.
 *  @param told_ns  the bound without gates
 *  @param est_ns  the next command's estimate */
uint64_t xs_gates_bound_ns(uint64_t told_ns, uint64_t est_ns);
/** Too many entries stand in the streams of the context. Any thread.
 *  @param shut  the queue is suspended: the limit is lower */
bool xs_gates_full(struct xs_queue *q, bool shut);
/** Counts command n, and puts a gate before it if it is time for one. Calls the vendor.
 *  @param known  the command has an estimate
 *  @return false: the stream took no gate, so the command must wait for its permit outside */
bool xs_gates_enter(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool known, uint64_t told_ns, uint32_t flags);
/** The vendor refused the command: it does not count. */
void xs_gates_take_back(struct xs_queue *q);
/** The caller puts a mark into the stream next. */
void xs_gates_mark(struct xs_queue *q);
/** It is time for a mark, by entries. */
bool xs_gates_mark_due(struct xs_queue *q);
/** All entries up to this weight are over. Any thread. */
void xs_gates_done(struct xs_queue *q, uint64_t weight);
/** Whether there was a suspension of the queue since the last call; then measured times say nothing. Under
 *  mark_lock. */
bool xs_gates_held_since(struct xs_queue *q);
/** Sets the application's own permit, and the copy that devices see. Any thread; takes state.lock. */
void xs_queue_app_set(struct xs_queue *q, uint64_t permitted);
/** The same under state.lock. */
void xs_queue_app_set_locked(struct xs_queue *q, uint64_t permitted);
/** No gate of the queue is in flight that we know of. Any thread. */
bool xs_gates_passed(struct xs_queue *q);
/** Looks after gates in flight: true while there may be some. Control thread. */
bool xs_gates_watch(struct xs_state *st);

#endif
