/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of a session with xserver. */
#ifndef XS_XQUEUE_AGENT_H
#define XS_XQUEUE_AGENT_H

#include <stdint.h>

struct xs_state;

/** Joins xserver, and again whenever it is gone. Thread: the control thread. Returns when the mode
 *  changed. @param changes  mode_changes, read before the mode */
void xs_agent_run(struct xs_state *st, uint32_t changes);

#endif
