/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that sleep until something of a queue progresses. */
#ifndef XS_XQUEUE_PROGRESS_H
#define XS_XQUEUE_PROGRESS_H

#include <stdint.h>

struct xs_queue;

/** Something of the queue progressed: wakes all that sleep for it. Any thread, also the vendor's. */
void xs_queue_progress(struct xs_queue *q);
/** Sleeps until something of the queue progresses, at most timeout_ns.
 *  @param seen  progress as read before the condition was looked at */
void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
/** The same where a device's mark may come, which wakes no thread: sleeps most of the time, then looks.
 *  Returns early when something is marked. */
void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);

#endif
