/* SPDX-License-Identifier: Apache-2.0 */
/* Priority inheritance between queues that wait for each other on the device. */
#ifndef XS_XQUEUE_INHERIT_H
#define XS_XQUEUE_INHERIT_H

#include <stdint.h>

struct xs_queue;
struct xs_state;

/** After a change of the state's mode, and when the state is new. */
void xs_state_update_intra(struct xs_state *st);
/** The first `number` commands are complete: ends the inheritance up to them, and rings the scheduler. Any
 *  thread. */
void xs_queue_inherit_end(struct xs_queue *q, uint64_t number);
/** The queue has this priority now: the queues that it waits for on the device inherit it. Any thread. */
void xs_queue_inherit_on(struct xs_queue *q, int32_t priority);

#endif
