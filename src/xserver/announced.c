/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/announced.h"

#include <poll.h>
#include <unistd.h>

bool xs_announced_any(struct xs_announced *e)
{
    for (unsigned i = e->count; i-- > 0;) {
        struct pollfd ended = {.fd = e->pidfds[i], .events = POLLIN};

        if (poll(&ended, 1, 0) > 0) {
            close(e->pidfds[i]);
            e->pidfds[i] = e->pidfds[--e->count];
        }
    }
    return e->count != 0;
}

void xs_announced_add(struct xs_announced *e, int pidfd)
{
    if (e->count == XS_ANNOUNCED_MAX)
        xs_announced_any(e);
    if (e->count == XS_ANNOUNCED_MAX)
        close(pidfd);
    else
        e->pidfds[e->count++] = pidfd;
}

void xs_announced_fini(struct xs_announced *e)
{
    while (e->count)
        close(e->pidfds[--e->count]);
}
