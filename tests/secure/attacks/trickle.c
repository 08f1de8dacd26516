/* SPDX-License-Identifier: Apache-2.0 */
#include "trickle.h"

#include "base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WATCHED_S 30
#define BOUND_MS  12000

static const char *g_head;

static void attack(struct scene *s)
{
    int fd = raw_http_connect(&s->server, 0);
    uint64_t began = xs_now_ns();

    if (fd < 0 || scene_send(fd, g_head, strlen(g_head), NULL, 0) < 0)
        _exit(1);
    while (!s->shared->stop) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, 300) > 0 || scene_send(fd, "a", 1, NULL, 0) < 0)
            break;
        s->shared->notes[0] = XS_MAX(s->shared->notes[0], (int)((xs_now_ns() - began) / XS_NS_PER_MS));
    }
    pause();
}

int trickle_run(const char *name, const char *head)
{
    struct scene s;
    int bad, ms;

    g_head = head;
    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_attack(&s, HELPER, attack);
    for (int i = 0; i < WATCHED_S * 10; i++)
        usleep(100000);
    ms = s.shared->notes[0];
    printf("a request without end kept its connection for %.1f of %d s (bound %d s)\n", ms / 1e3, WATCHED_S, BOUND_MS / 1000);
    bad = scene_end(&s, name, 0, 50);
    return bad || ms == 0 || ms > BOUND_MS;
}
