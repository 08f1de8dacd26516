/* SPDX-License-Identifier: Apache-2.0 */
/* The waits of a submit. */
#ifndef XS_XQUEUE_TURN_H
#define XS_XQUEUE_TURN_H

#include "xqueue/queue.h"

/** Waits until command n may be handed to the vendor: until it is permitted, all that XQueueSubmit was given
 *  before it is launched, and there is room for it among what is in flight and what stands in the context.
 *  May call the vendor.
 *  @param managed  xs_queue_managed(): else what is in flight has no bound
 *  @param flags    XS_SUBMIT_* */
void xs_turn_wait(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool managed, uint32_t flags);
/** Whether a submit now would have to wait. */
bool xs_queue_would_wait(struct xs_queue *q);

#endif
