/* SPDX-License-Identifier: Apache-2.0 */
/* Gates beside short slices (decision 0024): without them, what a program has in flight when it is suspended runs in the
 * gaps of the urgent program. Behind a gate in its stream, as at level 2, it stays. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_GATES_H
#define XS_XSERVER_LEVEL3_LV3_GATES_H

#include "base/xs_base.h"

struct xs_server;
struct xs_client;

/** Tells the program's queues, where that is a change or it has made more of them.
 *  @param cut_short  its slices are short on some device */
void xs_lv3_tell_gates(struct xs_server *s, struct xs_client *c, bool cut_short);

#endif
