/* SPDX-License-Identifier: Apache-2.0 */
/* Four users, each of whom keeps within its own quota, take all sessions that there are. Another one wants to join. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client *c = calloc(1100, sizeof(*c));
    int n = 0;

    for (; n < 1100; n++) {
        union xs_msg m;
        int fds[2];

        raw_connect(&c[n], s->server.socket);
        raw_hello_fill(&c[n], &m);
        fds[0] = c[n].page_fd;
        fds[1] = c[n].bell;
        if (raw_hello(&c[n], &m, fds, 2) != 0)
            break;
    }
    s->shared->notes[1] += n;
    s->shared->notes[0]++;
    pause();
}

static int join(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 0);
    raw_leave(&c);
    return 0;
}

int main(void)
{
    struct scene s;
    int other, root, bad;

    scene_begin(&s);
    for (unsigned i = 0; i < 4; i++)
        scene_attack(&s, i ? 3000 + i : ATTACKER, attack);
    scene_await(&s, 0, 4);
    other = scene_probe(&s, HELPER, join);
    root = scene_probe(&s, 0, join);
    bad = scene_end(&s, "sessions", 1, 50);
    printf("sessions: the attackers have %d, another user %s, root %s\n", (int)s.shared->notes[1],
           other ? "is REFUSED" : "joins", root ? "is REFUSED" : "joins");
    return bad || other || root;
}
