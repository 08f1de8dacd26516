/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/expected.h"

#include <poll.h>
#include <unistd.h>

bool xs_expected_any(struct xs_expected *e)
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

void xs_expected_add(struct xs_expected *e, int pidfd)
{
    if (e->count == XS_EXPECTED_MAX)
        xs_expected_any(e);
    if (e->count == XS_EXPECTED_MAX)
        close(pidfd);
    else
        e->pidfds[e->count++] = pidfd;
}

void xs_expected_fini(struct xs_expected *e)
{
    while (e->count)
        close(e->pidfds[--e->count]);
}
