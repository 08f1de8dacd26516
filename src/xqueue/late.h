/* SPDX-License-Identifier: Apache-2.0 */
/* Late starts: what a program launches after a pause begins on the device as late as its end allows.
 *
 * An eager framework launches more slowly than a device computes. Begun at once, such a burst runs in pieces, and in each
 * pause between them the device goes over to another program and back. Begun later it runs in one piece, ends when it would
 * have ended, and until then the device belongs to the others. */
#ifndef XS_LATE_H
#define XS_LATE_H

#include "xqueue/late_habit.h"

struct xs_queue;
struct xs_state;

/** The level in force is now `level`. Under state.lock. */
void xs_late_set_level(struct xs_queue *q, int32_t level);
/** The storage of the queue is used anew. */
void xs_late_reset(struct xs_queue *q);
/** Command n was counted; `armed` is what the scheduler wants to be told of. @return true: it is told here, at its time, and
 *  what is launched waits on the device until then. Calls the vendor. Thread: a submitting one. */
bool xs_late_keeps(struct xs_queue *q, uint64_t n, uint32_t armed, uint32_t flags);
/** What waits on the device begins, and the scheduler is told. Any thread, nothing held or the state's lock. */
void xs_late_open(struct xs_queue *q);
/** The same for whatever queue of the process it is. */
void xs_late_open_any(struct xs_state *st);
/** A thread is about to wait for the queue's end, so whatever waits begins; it ended. */
void xs_late_wait_begins(struct xs_queue *q);
void xs_late_wait_ended(struct xs_queue *q);
/** Control thread: opens what nobody opened. @return when to look again, UINT64_MAX: no need */
uint64_t xs_late_due(struct xs_state *st);

#endif
