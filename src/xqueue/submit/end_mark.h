/* SPDX-License-Identifier: Apache-2.0 */
/* Marks for queues whose end a scheduler waits for: by them it learns soon that the queue is idle. */
#ifndef XS_XQUEUE_END_MARK_H
#define XS_XQUEUE_END_MARK_H

#include "xqueue/queue.h"

/** While a scheduler waits for a queue's end, one command in so long gets a mark. As long as the linger: an
 *  idle queue counts as ready for that time anyway. Any thread; the first call reads the environment. */
uint64_t xs_queue_end_mark_each_ns(void);
/** Whether this command gets a mark, while a scheduler waits for the queue's end: one in so long, and as many
 *  more as past pauses have earned (end_mark.c). Submitting threads.
 *  @param out_ns  estimated time of the commands in flight as far as known; they may have completed long
 *  ago */
bool xs_queue_end_may_be_near(struct xs_queue *q, uint64_t out_ns);
/** A thread waited for the queue. If all was complete then, it waits for its ends and needs no marks for them. */
static inline void xs_queue_end_awaited(struct xs_queue *q, bool all_complete)
{
    if (XS_LIKELY(!atomic_load_explicit(&q->ends.earned_marks, memory_order_relaxed) &&
                  !atomic_load_explicit(&q->ends.end_missed, memory_order_relaxed)) || !all_complete)
        return;
    atomic_store_explicit(&q->ends.earned_marks, 0, memory_order_relaxed); /* hints, as everywhere */
    atomic_store_explicit(&q->ends.end_missed, false, memory_order_relaxed);
}

#endif
