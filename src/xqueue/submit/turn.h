/* SPDX-License-Identifier: Apache-2.0 */
/* The waits of a submit. */
#ifndef XS_XQUEUE_TURN_H
#define XS_XQUEUE_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct xs_queue;

/** A flag beside those of interface.h: from the worker of the deferred list, so the command does not wait for the list. */
#define XS_SUBMIT_FROM_LIST 0x10000u

/** Waits until this thread may hand command n to the vendor. Then it has its permit, XQueueSubmit has
 *  launched all its earlier commands, and the bound in flight and the context take it. May call the vendor.
 *  @param managed  xs_queue_managed(): else nothing bounds the commands in flight
 *  @param flags    XS_SUBMIT_* */
void xs_turn_wait(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool managed, uint32_t flags);
/** Whether a submit now would have to wait. */
bool xs_queue_would_wait(struct xs_queue *q);

#endif
