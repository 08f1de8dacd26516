/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the server alive for programs that have not joined yet and may. `xsched run` finds a server
 * and sends it the message expect. Then it becomes the program, which joins at its first device call,
 * perhaps long after. A server that would end for want of programs stays while such a process lives.
 * Main loop only. */
#ifndef XS_XSERVER_ANNOUNCED_H
#define XS_XSERVER_ANNOUNCED_H

#include "base/xs_base.h"

#define XS_ANNOUNCED_MAX 64

struct xs_announced {
    int pidfds[XS_ANNOUNCED_MAX];
    unsigned count;
};

/** Takes pidfd over; closes and forgets it when there is no place. */
void xs_announced_add(struct xs_announced *e, int pidfd);
/** Forgets those that have ended. @return whether any lives */
bool xs_announced_any(struct xs_announced *e);
void xs_announced_fini(struct xs_announced *e);

#endif
