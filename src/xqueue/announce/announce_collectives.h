/* SPDX-License-Identifier: Apache-2.0 */
/* A process that will do collectives, or may, is known for it before its first one. */
#ifndef XS_XQUEUE_ANNOUNCE_COLLECTIVES_H
#define XS_XQUEUE_ANNOUNCE_COLLECTIVES_H

struct xs_state;

/** Tells the scheduler that there will be collectives, or that memory of other processes was opened, if that is known
 *  yet. Any thread. */
void xs_collectives_tell(struct xs_state *st);

#endif
