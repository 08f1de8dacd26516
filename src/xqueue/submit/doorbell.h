/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell of the scheduler. */
#ifndef XS_XQUEUE_DOORBELL_H
#define XS_XQUEUE_DOORBELL_H

struct xs_queue;

/** Makes the scheduler look at this queue. Does nothing where there is none. Any thread; a system call if the
 *  scheduler sleeps. */
void xs_queue_ring(struct xs_queue *q);

#endif
