/* SPDX-License-Identifier: Apache-2.0 */
/* A user opens more connections to the HTTP interface than there are, and sends the header of a request on each of them, a byte a
 * second. Others, and root, ask for something meanwhile. */
#include "scene.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 400

static int http(const struct scene *s)
{
    int fd = raw_http_connect(&s->server, SOCK_NONBLOCK);

    if (fd < 0)
        return -1;
    (void)!write(fd, "GET /status HTTP/1.1\r\nX-Slow: ", 31);
    return fd;
}

static void attack(struct scene *s)
{
    static int fds[CONNECTIONS];

    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = -1;
    for (int round = 0;; round++) {
        for (int i = 0; i < CONNECTIONS; i++) {
            if (fds[i] >= 0 && send(fds[i], "x", 1, MSG_NOSIGNAL) < 1) {
                close(fds[i]);
                fds[i] = -1;
            }
            for (int k = 0; fds[i] < 0 && k < 20; k++) {
                fds[i] = http(s);
                if (fds[i] < 0)
                    usleep(1000);
            }
        }
        s->shared->notes[0] = round + 1;
        usleep(round < 3 ? 10000 : 1000000);
    }
}

int main(void)
{
    struct scene s;

    return scene_taken(&s, "http_connections", attack, scene_ask, "is answered", "LOCKED OUT");
}
