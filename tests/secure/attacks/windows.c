/* SPDX-License-Identifier: Apache-2.0 */
/* A user says of as many displays as there is room for that its program has the active window there. Another one, and root, have
 * a display as well. */
#include "scene.h"

#include <stdio.h>
#include <unistd.h>

static int activate(const struct scene *s, const char *display)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"hint_type\":7,\"pid\":%d,\"display\":\"%s\"}", (int)getpid(), display);
    return raw_http(&s->server, "POST", "/hint", body, NULL) == 200 ? 0 : 1;
}

static void attack(struct scene *s)
{
    struct raw_client c;
    char name[16];

    raw_join(&c, s->server.socket);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), ":%d", i);
        s->shared->notes[1] += activate(s, name) == 0;
    }
    s->shared->notes[0] = 1;
    pause();
}

static int try_other(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    return activate(s, ":1000");
}

int main(void)
{
    struct scene s;
    int bad = scene_taken(&s, "windows", attack, try_other, "has one", "is REFUSED");

    printf("windows: the attacker has %d\n", (int)s.shared->notes[1]);
    return bad;
}
