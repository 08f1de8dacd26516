/* SPDX-License-Identifier: Apache-2.0 */
/* The making of the process's state: its pages, its descriptors, and what the environment says. */
#ifndef XS_XQUEUE_STATE_MAKE_H
#define XS_XQUEUE_STATE_MAKE_H

struct xs_state;

/** The state of this process, made when there is none. NULL when out of memory. */
struct xs_state *xs_state_get_or_make(void);

#endif
