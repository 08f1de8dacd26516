/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell of the scheduler. */
#ifndef XS_XQUEUE_DOORBELL_H
#define XS_XQUEUE_DOORBELL_H

struct xs_queue;

/** The scheduler looks at this queue. Nothing happens where there is none. Any thread; a system call if it
 *  sleeps. */
void xs_queue_ring(struct xs_queue *q);

#endif
