/* SPDX-License-Identifier: Apache-2.0 */
/* The priority that MPS gave a program when it started, and the one that it would give it now. */
#ifndef XS_QUERY_MPS_PRIORITY_H
#define XS_QUERY_MPS_PRIORITY_H

#include "base/xs_base.h"

#include <jansson.h>

/** Whether they differ: a hint changes no priority of MPS.
 *  @param process   of xserver's answer to /clients or /xqueues
 *  @param priority  the highest of its queues
 *  @param ret       one line that says so, for people */
bool xs_mps_priority_is_stale(const json_t *process, int64_t priority, char *ret, size_t size);

#endif
