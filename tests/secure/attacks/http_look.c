/* SPDX-License-Identifier: Apache-2.0 */
/* A user with as many programs and queues as it may have asks for all that can be looked at, on many connections,
 * without a pause. Another user asks one thing meanwhile. */
#include "scene.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 32
#define PROGRAMS    900
#define CLIENTS     4
#define QUEUES      6000u /* of each of these */
#define WAIT_MS     (scene_is_strict() ? 2000 : 8000) /* other tests, on two cores, make half a second three */

/* @return a connection that asked, or -1 */
static int ask(const struct scene *s, int which)
{
    static const char *const k_paths[] = {"/xqueues", "/clients", "/metrics", "/timeline?since=0"};
    int fd = raw_http_connect(&s->server, SOCK_NONBLOCK);
    char text[128];

    snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", k_paths[which % 4]);
    if (fd >= 0 && write(fd, text, strlen(text)) > 0)
        return fd;
    close(fd);
    return -1;
}

static void take_programs(struct scene *s)
{
    static struct raw_client c[PROGRAMS];

    for (unsigned i = 0; i < PROGRAMS && raw_try_join(&c[i], s->server.socket) == 0; i++)
        if (i < CLIENTS)
            raw_add_many(&c[i], QUEUES, DEVICE + 1, 0);
}

static void attack(struct scene *s)
{
    static char buffer[65536];
    int fds[CONNECTIONS];

    take_programs(s);
    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = -1;
    s->shared->notes[0] = 1;
    for (int n = 0;;) {
        for (int i = 0; i < CONNECTIONS; i++) {
            ssize_t got = fds[i] >= 0 ? recv(fds[i], buffer, sizeof(buffer), MSG_DONTWAIT) : 0;

            if (got > 0)
                s->shared->notes[1] = 1;
            if (got > 12 && !strncmp(buffer, "HTTP/1.1 429", 12))
                s->shared->notes[3] = 1;
            if (got == 0 && fds[i] >= 0)
                close(fds[i]);
            if (got == 0)
                fds[i] = ask(s, n++);
        }
        usleep(100);
    }
}

/* How long the answers take, at most. */
static int wait_for_answers(struct scene *s)
{
    uint64_t worst = 0;
    int bad = 0;

    for (int i = 0; i < 10; i++) {
        uint64_t began = xs_now_ns();

        bad |= raw_http(&s->server, "GET", "/status", NULL, NULL) != 200;
        worst = XS_MAX(worst, xs_now_ns() - began);
        usleep(100000);
    }
    s->shared->notes[2] = (int)(worst / XS_NS_PER_MS);
    return bad;
}

int main(void)
{
    struct scene s;
    int other, bad;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    other = scene_probe(&s, HELPER, wait_for_answers);
    bad = scene_end(&s, "http_look", 1, 50);
    printf("http_look: another user %s, within %d ms; the attacker %s\n", other ? "is NOT ANSWERED" : "is answered",
           (int)s.shared->notes[2], s.shared->notes[3] ? "has to wait" : "NEVER has to wait");
    return bad || other || s.shared->notes[2] > WAIT_MS || !s.shared->notes[1] || !s.shared->notes[3];
}
