/* SPDX-License-Identifier: Apache-2.0 */
/* Completion: marks in flight and the completed count. */
#ifndef XS_XQUEUE_MARK_H
#define XS_XQUEUE_MARK_H

#include "xqueue/queue.h"

/** Waits until completed >= number: by a mark where the platform can, else by synchronising. The caller has a
 *  reference. Calls the vendor.
 *  @return the vendor's error, if synchronising had one */
XResult xs_queue_finish(struct xs_queue *q, uint64_t number);
/** The first `number` returned commands are complete. Any thread, also the vendor's; never sleeps.
 *  @param consume_ref  gives a reference of the queue back */
void xs_queue_complete(struct xs_queue *q, uint64_t number, bool consume_ref);
/** Records a mark; the caller puts it into the stream afterwards.
 *  @param key, key_est_ns  of the command before it in the stream */
void xs_queue_push_mark(struct xs_queue *q, uint64_t number, uint64_t key, uint32_t key_est_ns);
/** A mark is in the stream: tells the scheduler how far marks reach. Any thread. */
void xs_queue_tell_marked(struct xs_queue *q);
/** Puts a mark into the stream. Calls the vendor, so never in the control thread. @return false: it put
 *  none */
bool xs_queue_mark_now(struct xs_queue *q);
/** The same where the device writes the marks, for the command with this key. Thread: the submitting one. */
bool xs_queue_mark_device(struct xs_queue *q, uint64_t key, uint32_t key_est_ns);
/** Accounts the commands that the device marked. @param late  they may have completed a while ago */
void xs_queue_look_slow(struct xs_queue *q, bool late);
/** The same, if there is any news. Any thread. */
static inline void xs_queue_look(struct xs_queue *q, bool late)
{
    if (q->device_marks && atomic_load_explicit(&q->cc->marked, memory_order_acquire) >
                               atomic_load_explicit(&q->cc->completed, memory_order_relaxed))
        xs_queue_look_slow(q, late);
}
/** A thread of the program waits because of us, and commands in flight may wait for that thread. If they complete
 *  while no thread waits for them, their time says only that they took no longer, where there is an estimate. Any
 *  thread of the program. */
void xs_queue_distrust(struct xs_queue *q);
/** The same for all queues, after a wait of a thread that was longer than commands take. */
void xs_queues_distrust(struct xs_state *st);
/** Waits until completed >= number or the time limit. @return false on the limit */
bool xs_queue_wait_number(struct xs_queue *q, uint64_t number, uint64_t timeout_ns);

#endif
