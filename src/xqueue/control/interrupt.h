/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 by a scheduler outside: the operations of platforms for it, and the way back when it is gone. All
 * in the control thread. */
#ifndef XS_XQUEUE_INTERRUPT_H
#define XS_XQUEUE_INTERRUPT_H

#include "wire/wire.h"
#include "xqueue/interface.h"

#define XS_INTERRUPTS 2u          /* platforms with level 3 in one process */
/** The index-th platform's operations. NULL: there are no more. */
const struct xs_interrupt_ops *xs_interrupt_ops(unsigned index);
/** Passes a message of the server on to all platforms. */
void xs_interrupt_told(const union xs_msg *m);
/** Has platforms carry out the server's messages. @return when to call again at the latest; UINT64_MAX: no
 *  need */
uint64_t xs_interrupt_due(void);
/** The session is over: level 3 gives back what it took. Repeats until that has worked, with pauses. */
void xs_interrupt_restore(void);

#endif
