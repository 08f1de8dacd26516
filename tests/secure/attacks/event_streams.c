/* SPDX-License-Identifier: Apache-2.0 */
/* A user watches the events as often as it may. Others, and root, want to watch as well. */
#include "scene.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* @return the stream, or -1 where it was refused */
static int watch(const struct scene *s)
{
    struct timeval wait = {.tv_sec = 5};
    char text[256] = "";
    int fd = raw_http_connect(&s->server, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    if (write(fd, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", 42) > 0 &&
        read(fd, text, sizeof(text) - 1) > 0 && !strncmp(text, "HTTP/1.1 200", 12))
        return fd;
    close(fd);
    return -1;
}

static void attack(struct scene *s)
{
    for (int i = 0; i < 40; i++)
        s->shared->notes[1] += watch(s) >= 0;
    s->shared->notes[0] = 1;
    pause();
}

static int try_once(struct scene *s)
{
    return watch(s) >= 0 ? 0 : 1;
}

int main(void)
{
    struct scene s;
    int bad = scene_taken(&s, "event_streams", attack, try_once, "watches", "is REFUSED");

    printf("event_streams: the attacker has %d\n", (int)s.shared->notes[1]);
    return bad;
}
