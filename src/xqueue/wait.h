/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of the program's threads for a queue. */
#ifndef XS_XQUEUE_WAIT_H
#define XS_XQUEUE_WAIT_H

#include <stdint.h>

struct xs_queue;

/** A thread has waited for the queue since since_ns; 0: adds nothing. */
void xs_queue_waited(struct xs_queue *q, uint64_t since_ns);

#endif
