/* SPDX-License-Identifier: Apache-2.0 */
/* XQueues: making, finding, forgetting. */
#ifndef XS_XQUEUE_QUEUE_TABLE_H
#define XS_XQUEUE_QUEUE_TABLE_H

struct xs_queue;
struct xs_state;

/** Takes it out of all tables. Opens it first, so that no thread stays asleep. Under state.lock. */
void xs_queue_unlink_locked(struct xs_state *st, struct xs_queue *q);

#endif
