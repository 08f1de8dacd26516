/* SPDX-License-Identifier: Apache-2.0 */
/* What a scheduler outside asks of platforms: level 3, and moves of device memory. The operations of platforms for it, and
 * the way back when the scheduler is gone. All in the control thread. */
#ifndef XS_XQUEUE_INTERRUPT_H
#define XS_XQUEUE_INTERRUPT_H

#include "wire/wire.h"
#include "xqueue/interface.h"

#define XS_INTERRUPTS 3u          /* in one process: platforms with level 3, and one that moves memory */
/** The index-th platform's operations. NULL: there are no more. */
const struct xs_interrupt_ops *xs_interrupt_ops(unsigned index);
/** Whether one of them can confine queues to a part of a device (xs_interrupt_ops.lanes). */
bool xs_interrupt_has_lanes(void);
/** Passes a message of the server on to all platforms. */
void xs_interrupt_told(const union xs_msg *m);
/** Has platforms carry out the server's messages. @return when to call again at the latest; UINT64_MAX: no
 *  need */
uint64_t xs_interrupt_due(void);
/** The session is over: platforms give back what the scheduler took. Repeats until that has worked, with pauses. */
void xs_interrupt_restore(void);

#endif
