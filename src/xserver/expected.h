/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that have not joined yet and may: `xsched run` finds a server, tells it so (the message
 * expect) and becomes the program, which joins at its first device call, perhaps long after. A server that would end for
 * want of programs stays while such a process lives. Main loop only. */
#ifndef XS_XSERVER_EXPECTED_H
#define XS_XSERVER_EXPECTED_H

#include "base/xs_base.h"

#define XS_EXPECTED_MAX 64

struct xs_expected {
    int pidfds[XS_EXPECTED_MAX];
    unsigned count;
};

/** Takes pidfd over. When there is no room, it is closed and forgotten. */
void xs_expected_add(struct xs_expected *e, int pidfd);
/** Forgets those that have ended. @return whether any lives */
bool xs_expected_any(struct xs_expected *e);
void xs_expected_fini(struct xs_expected *e);

#endif
