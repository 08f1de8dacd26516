/* SPDX-License-Identifier: Apache-2.0 */
/* A process with as many sessions as it may have ends, again and again. */
#include "leaving.h"

static void sessions(struct scene *s)
{
    struct raw_client c;

    for (int i = 0; i < 1000 && raw_try_join(&c, s->server.socket) == 0; i++)
        ;
    leaving_waits(s);
}

int main(void)
{
    return leaving("leave_all", 9, sessions);
}
