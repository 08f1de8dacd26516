/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one command. */
#ifndef XS_XQUEUE_SUBMIT_H
#define XS_XQUEUE_SUBMIT_H

#include "xqueue/queue.h"

/** Flag of xsched_priv_submit_begin: from the deferred list itself, so it does not wait for it. */
#define XS_SUBMIT_FROM_LIST 0x10000u
/** Flag inside submit.c: it may not wait behind a gate in the stream. */
#define XS_SUBMIT_OUTSIDE   0x20000u

/** The scheduler is told to look at this queue. */
void xs_queue_ring(struct xs_queue *q);
/** Waits while the queue is held, at most timeout_ns or so. @return whether it may run */
bool xs_queue_permit_wait(struct xs_queue *q, uint64_t timeout_ns);
/** Whether a submit now would have to sleep. */
bool xs_queue_would_wait(struct xs_queue *q);
/** Sleeps until something of the queue progresses, at most timeout_ns. seen: progress as read
 *  before the condition was looked at. */
void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
/** The same where a device's mark may come, which wakes nobody: sleeps most of the time, then
 *  looks; returns early when something is marked. */
void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
void xs_queue_progress(struct xs_queue *q);
/** While a queue's end is awaited a command in so long gets a mark. As long as the linger: who is idle for less is not let go
 *  anyway. */
uint64_t xs_queue_end_mark_each_ns(void);
/** From so many on each command gets a mark while the queue's end is awaited; what one such end counts, and at most. */
#define XS_UNWAITED_MANY 16u
#define XS_UNWAITED_EACH 8u
#define XS_UNWAITED_MOST 64u

#endif
