/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: one in a process that a scheduler manages. It talks to xserver (agent.c) or
 * runs the local scheduler (local.c), and opens words that must not stay closed. It never calls a
 * vendor's library and waits for no lock. */
#ifndef XS_XQUEUE_CONTROL_THREAD_H
#define XS_XQUEUE_CONTROL_THREAD_H

struct xs_state;

/** Starts the control thread when the mode needs one, and wakes it. Any thread. */
void xs_control_kick(struct xs_state *st);

#endif
