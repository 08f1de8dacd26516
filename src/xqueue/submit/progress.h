/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that sleep until a queue makes progress. */
#ifndef XS_XQUEUE_PROGRESS_H
#define XS_XQUEUE_PROGRESS_H

#include <stdint.h>

struct xs_queue;

/** The queue made progress: wakes all threads that sleep for it. Any thread, also the vendor's. */
void xs_queue_progress(struct xs_queue *q);
/** Sleeps until the queue makes progress, at most timeout_ns.
 *  @param seen  progress as the caller read it before it looked at its condition */
void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
/** The same where a device's mark may come, which wakes no thread: sleeps most of the time, then looks.
 *  Returns early when the device has marked something. */
void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);

#endif
