/* SPDX-License-Identifier: Apache-2.0 */
/* The same sockets, in messages that xserver never reads, since an earlier one of the connection was malformed: the kernel
 * closes them where the connection is closed. */
#include "scene.h"

#include <unistd.h>

static void attack(struct scene *s)
{
    struct xs_wire_head m = scene_unknown();

    while (!s->shared->stop) {
        struct raw_client c;
        int fds[20], peers[20];

        raw_connect(&c, s->server.socket);
        for (unsigned i = 0; i < 20; i++)
            fds[i] = scene_lingering(&peers[i], 12);
        scene_delay(c.fd);
        scene_send(c.fd, "bad", 3, NULL, 0);
        for (unsigned i = 0; i < 20; i++) {
            scene_send(c.fd, &m, sizeof(m), &fds[i], 1);
            close(fds[i]);
        }
        usleep(50000);
        raw_leave(&c); /* the sockets' peers stay open */
    }
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "linger_unread", 1, 50);
}
