/* SPDX-License-Identifier: Apache-2.0 */
/* A process with as many sessions as it may have ends, again and again. */
#include "leaving.h"

static void sessions(struct scene *s)
{
    for (int i = 0; i < 1000; i++) {
        struct raw_client c;
        union xs_msg m;

        raw_connect(&c, s->server.socket);
        raw_hello_fill(&c, &m);
        if (raw_hello(&c, &m, (int[]){c.page_fd, c.bell}, 2) != 0)
            break;
    }
    leaving_waits(s);
}

int main(void)
{
    return leaving("leave_all", 9, sessions, 1);
}
