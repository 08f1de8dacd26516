/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on which a whole context waits. */
#ifndef XS_XQUEUE_CONTEXT_BLOCKING_H
#define XS_XQUEUE_CONTEXT_BLOCKING_H

struct xs_queue;

/** Opens all gates that the queue has in its stream, also while a scheduler or the application suspends it.
 *  Under state.lock. */
void xs_gates_open_locked(struct xs_queue *q);

#endif
