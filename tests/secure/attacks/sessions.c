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

    while (n < 1100 && raw_try_join(&c[n], s->server.socket) == 0)
        n++;
    s->shared->notes[1] += n;
    s->shared->notes[0]++;
    pause();
}

int main(void)
{
    struct scene s;
    bool refused;
    int bad;

    scene_begin(&s);
    for (unsigned i = 0; i < 4; i++)
        scene_attack(&s, i ? 3000 + i : ATTACKER, attack);
    scene_await(&s, 0, 4);
    refused = scene_others(&s, "sessions", scene_join, "joins", "is REFUSED");
    bad = scene_end(&s, "sessions", 1, 50);
    printf("sessions: the attackers have %d\n", (int)s.shared->notes[1]);
    return bad || refused;
}
