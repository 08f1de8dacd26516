/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler in the process. */
#ifndef XS_XQUEUE_LOCAL_H
#define XS_XQUEUE_LOCAL_H

#include <stdint.h>

struct xs_state;

/** Schedules the queues of this process by a policy. Thread: the control thread. Returns when the mode
 *  changed. @param changes  mode_changes, read before the mode */
void xs_local_run(struct xs_state *st, uint32_t changes);

#endif
