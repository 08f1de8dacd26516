/* SPDX-License-Identifier: Apache-2.0 */
/* A user's programs join and leave all the time, each with something wrong to say: what of it does xserver write down? Meanwhile
 * the user has as many sessions as it may. */
#include "scene.h"

#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client kept, c;
    union xs_msg m;

    while (s->shared->notes[1] < 1000 && raw_try_join(&kept, s->server.socket) == 0)
        s->shared->notes[1]++;
    s->shared->notes[0] = 1;
    for (;;) {
        raw_join(&c, s->server.socket);
        raw_send(&c, &m, XS_MSG_hello);
        raw_leave(&c);
        s->shared->notes[2]++;
    }
}

int main(void)
{
    struct scene s;
    size_t lines = 0;
    char *log;
    int bad;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    s.shared->notes[3] = s.shared->notes[2];
    sleep(3);
    log = raw_server_log(&s.server);
    for (const char *at = log; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    printf("log_flood: beside %d sessions, %d joins in 3 s, %zu lines, %zu bytes\n", (int)s.shared->notes[1],
           (int)(s.shared->notes[2] - s.shared->notes[3]), lines, strlen(log));
    free(log);
    bad = scene_end(&s, "log_flood", 1, 50);
    return bad || lines > 1000;
}
