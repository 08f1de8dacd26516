/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on which a whole context waits. */
#ifndef XS_XQUEUE_CONTEXT_BLOCKING_H
#define XS_XQUEUE_CONTEXT_BLOCKING_H

struct xs_queue;

/** Opens all gates of the queue that are in its stream, whatever suspends the queue. Under state.lock. */
void xs_gates_open_locked(struct xs_queue *q);

#endif
