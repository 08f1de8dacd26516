/* SPDX-License-Identifier: Apache-2.0 */
#ifndef XS_XQUEUE_ANNOUNCE_MEMORY_H
#define XS_XQUEUE_ANNOUNCE_MEMORY_H

#include "xqueue/interface.h"

struct xs_state;

/** What xsched_priv_memory() was told before this state was made. */
void xs_memory_tell(struct xs_state *st);

#endif
