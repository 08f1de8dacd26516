/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the scheduler of a process that will do collectives, or may, before its first one. */
#ifndef XS_XQUEUE_ANNOUNCE_COLLECTIVES_H
#define XS_XQUEUE_ANNOUNCE_COLLECTIVES_H

struct xs_state;

/** Tells the scheduler that there will be collectives, or that the program opened memory of other processes,
 *  if libpreempt knows that yet. Any thread. */
void xs_collectives_tell(struct xs_state *st);

#endif
