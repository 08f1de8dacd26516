/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a scheduler may come. Until the process knows that, its queues have a bound in flight. */
#ifndef XS_XQUEUE_AWAITED_H
#define XS_XQUEUE_AWAITED_H

struct xs_state;

/** After a change of the mode: sets awaited, or ends the bound of the queues that have one for that reason.
 *  Any thread but the control thread. */
void xs_state_await(struct xs_state *st);
/** The process knows whether a scheduler comes: it is in force, or none answers. Any thread; no lock. */
void xs_state_decided(struct xs_state *st);

#endif
