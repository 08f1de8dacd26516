/* SPDX-License-Identifier: Apache-2.0 */
/* xserver may have few descriptors, and one user brings so many of the same sockets that there is no room for them: the
 * kernel closes them inside the call that receives the message. */
#include "scene.h"

#include <sys/resource.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct xs_wire_head m = scene_unknown();

    while (!s->shared->stop) {
        struct raw_client c;
        int fds[100], peer;
        unsigned n = 0;

        raw_connect(&c, s->server.socket);
        while (n < 100 && (fds[n] = scene_lingering(&peer, 12)) >= 0)
            n++;
        scene_delay(c.fd);
        scene_send(c.fd, &m, sizeof(m), fds, n);
        while (n > 0)
            close(fds[--n]);
        usleep(20000);
        raw_leave(&c);
    }
    pause();
}

int main(void)
{
    struct rlimit l = {96, 96}, all = {65536, 65536};
    struct scene s;

    setrlimit(RLIMIT_NOFILE, &l);
    scene_begin(&s);
    setrlimit(RLIMIT_NOFILE, &all);
    scene_attack(&s, ATTACKER, attack);
    return scene_end(&s, "linger_exhausted", 1, 50);
}
