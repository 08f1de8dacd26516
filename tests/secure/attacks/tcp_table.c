/* SPDX-License-Identifier: Apache-2.0 */
/* A user has as many TCP sockets as it may, so that the kernel's table of them is long, and connects to
 * the HTTP port again and again. Another user asks over TCP. */
#include "scene.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS 9000 /* of each process */

static void fill_table(struct scene *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct linger linger = {.l_onoff = 1}; /* nothing of it stays behind */
    int listener = socket(AF_INET, SOCK_STREAM, 0), n = 0;

    if (bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 16) == 0 &&
        getsockname(listener, (struct sockaddr *)&at, &size) == 0)
        while (n < PAIRS) {
            int fd = socket(AF_INET, SOCK_STREAM, 0);

            setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
            if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || accept(listener, NULL, NULL) < 0)
                break;
            n++;
        }
    s->shared->notes[1] += n;
    s->shared->notes[0]++;
    pause();
}

static void connect_on(struct scene *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger linger = {.l_onoff = 1};

    at.sin_port = htons((uint16_t)s->server.port);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
            s->shared->notes[3]++;
        close(fd);
        usleep(5000);
    }
}

/* Three requests, each of which may take ten seconds. */
static int ask(struct scene *s)
{
    static char text[65536];

    s->shared->notes[2] = s->shared->notes[4] = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t began = xs_now_ns();

        if (raw_tcp(&s->server, "GET /status HTTP/1.0\r\nHost: localhost\r\n\r\n", text, sizeof(text)) == 200)
            s->shared->notes[4]++;
        s->shared->notes[2] = XS_MAX((int)s->shared->notes[2], (int)((xs_now_ns() - began) / XS_NS_PER_MS));
        sleep(1);
    }
    return s->shared->notes[4] == 3 ? 0 : 1;
}

static int ask_and_say(struct scene *s, const char *when)
{
    int r = scene_probe(s, HELPER, ask);

    printf("tcp_table: %s: %d of 3 requests of another user are answered, within %d ms\n", when, (int)s->shared->notes[4],
           (int)s->shared->notes[2]);
    return r;
}

int main(void)
{
    struct scene s;
    int other, bad;

    scene_begin(&s);
    s.server.port = (int)raw_status(&s.server, "http_port");
    ask_and_say(&s, "before");
    for (int i = 0; i < 4; i++)
        scene_attack(&s, ATTACKER, fill_table);
    scene_await(&s, 0, 4);
    printf("tcp_table: the attacker has %d sockets\n", 2 * (int)s.shared->notes[1]);
    ask_and_say(&s, "with these");
    for (int i = 0; i < 4; i++)
        scene_attack(&s, ATTACKER, connect_on);
    usleep(500000);
    other = ask_and_say(&s, "with connections");
    bad = scene_end(&s, "tcp_table", 0, 50);
    return bad || other || s.shared->notes[2] > 2000;
}
