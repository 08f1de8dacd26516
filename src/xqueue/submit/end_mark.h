/* SPDX-License-Identifier: Apache-2.0 */
/* Marks where the end of a queue is awaited: by which the scheduler learns soon that it is idle. */
#ifndef XS_XQUEUE_END_MARK_H
#define XS_XQUEUE_END_MARK_H

#include "xqueue/queue.h"

/** From so many on each command gets a mark while the queue's end is awaited; what one such end counts, and
 *  at most. */
#define XS_UNWAITED_MANY 16u
#define XS_UNWAITED_EACH 8u
#define XS_UNWAITED_MOST 64u

/** While a queue's end is awaited, one command in so long gets a mark. As long as the linger: an idle queue
 *  counts as ready for that time anyway. Any thread; the first call reads the environment. */
uint64_t xs_queue_end_mark_each_ns(void);
/** Whether this command of a queue whose end is awaited gets a mark. Thread: a submitting one.
 *  @param out_ns  estimated time of what is in flight as far as is known; it may have been over for long */
bool xs_queue_end_may_be_near(struct xs_queue *q, uint64_t out_ns);
/** The calling thread, which may put something into the stream, is about to wait for its end. Calls the
 *  vendor if a mark is wanted. */
static inline void xs_queue_end_near(struct xs_queue *q)
{
    if (XS_UNLIKELY(atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE))
        xsched_priv_milestone(q);
}

#endif
