/* SPDX-License-Identifier: Apache-2.0 */
/* Two users connect to xserver's socket and hang up, without a pause and without a word. */
#include "scene.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define OTHER 2003u

static void attack(struct scene *s)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    strncpy(at.sun_path, s->server.socket, sizeof(at.sun_path) - 1);
    s->shared->notes[0]++;
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

        if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
            s->shared->notes[1]++;
        close(fd);
    }
}

static int join(struct scene *s)
{
    uint64_t began = xs_now_ns();
    struct raw_client c;

    raw_join(&c, s->server.socket);
    s->shared->notes[2] = (int)((xs_now_ns() - began) / XS_NS_PER_MS);
    return 0;
}

int main(void)
{
    struct scene s;
    uint64_t late, all;
    int n, bad, other;

    scene_begin(&s);
    for (int i = 0; i < 4; i++)
        scene_attack(&s, i % 2 ? HELPER : ATTACKER, attack);
    scene_await(&s, 0, 4);
    other = scene_probe(&s, OTHER, join);
    n = s.shared->notes[1];
    bad = scene_end(&s, "connect_storm", 3, 50);
    late = scene_late_waits(&s, 2, &all);
    printf("connect_storm: %d connections a second, %llu of %llu waits took more than 2 ms\n", (s.shared->notes[1] - n) / 3,
           (unsigned long long)late, (unsigned long long)all);
    printf("connect_storm: another user %s, within %d ms\n", other ? "CANNOT join" : "joins", (int)s.shared->notes[2]);
    return bad || other || s.shared->notes[2] > 1000 || late * 50 > all;
}
