/* SPDX-License-Identifier: Apache-2.0 */
/* The same sockets with the bytes of a request over HTTP: what suffers is everybody else's xcli. */
#include "scene.h"

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    while (!s->shared->stop) {
        int peer, fd = scene_lingering(&peer, 12), http = raw_http_connect(&s->server, 0);

        if (fd < 0 || http < 0)
            break;
        if (scene_send(http, "GET /status HTTP/1.1\r\n", 22, &fd, 1) < 0)
            s->shared->notes[0]++; /* the kernel refused it */
        close(fd);
        usleep(20000);
        close(http);
    }
    pause();
}

int main(void)
{
    struct scene s;
    uint64_t began = 0, worst = 0;
    int bad;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    for (int i = 0; i < 60; i++) {
        began = xs_now_ns();
        raw_status(&s.server, "clients");
        worst = XS_MAX(worst, xs_now_ns() - began);
        usleep(50000);
    }
    printf("the slowest answer over HTTP came after %.3f ms (bound 500 ms); %d messages refused by the kernel\n",
           (double)worst / 1e6, s.shared->notes[0]);
    bad = scene_end(&s, "linger_http", 0, 50);
    return bad || worst > 500 * XS_NS_PER_MS;
}
