/* SPDX-License-Identifier: Apache-2.0 */
#ifndef XS_XQUEUE_ANNOUNCE_MEMORY_H
#define XS_XQUEUE_ANNOUNCE_MEMORY_H

#include "xqueue/interface.h"

struct xs_state;

/** Writes the last values of xsched_priv_memory() before the state's making. */
void xs_memory_tell(struct xs_state *st);

#endif
