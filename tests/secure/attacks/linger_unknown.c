/* SPDX-License-Identifier: Apache-2.0 */
/* A message of a kind that nobody knows brings TCP sockets that nobody reads from, with SO_LINGER: closing one waits for
 * twelve seconds. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client c;
    struct xs_wire_head m = scene_unknown();

    raw_join(&c, s->server.socket);
    while (!s->shared->stop) {
        int peer, fd = scene_lingering(&peer, 12);

        scene_delay(c.fd);
        if (fd < 0 || scene_send(c.fd, &m, sizeof(m), &fd, 1) < 0)
            break;
        close(fd);
        usleep(20000);
    }
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "linger_unknown", 1, 50);
}
