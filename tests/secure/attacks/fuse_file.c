/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a file system whose owner never answers (FUSE), passed as what xserver expects: the page of a
 * program and its doorbell, and with a message of an unknown kind. */
#include "deaf_files.h"

#include <stdio.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct xs_wire_head m = scene_unknown();

    while (!s->shared->stop) {
        struct raw_client c;
        union xs_msg hello;
        int fds[2] = {deaf_files_open(), deaf_files_open()};

        if (fds[0] < 0 || fds[1] < 0)
            _exit(1);
        s->shared->notes[0]++;
        raw_connect(&c, s->server.socket);
        raw_hello_fill(&c, &hello);
        scene_send(c.fd, &m, sizeof(m), fds, 2);
        hello.hello.head.id = XS_MSG_hello;
        hello.hello.head.bytes = sizeof(hello.hello);
        scene_send(c.fd, &hello, sizeof(hello.hello), fds, 2);
        usleep(20000);
        /* its own closing waits, too: it does none */
    }
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    if (!deaf_files_begin(&s, "fuse_file"))
        return 77;
    scene_attack(&s, ATTACKER, attack);
    sleep(1);
    deaf_files_end();
    if (!s.shared->notes[0])
        puts("no file was passed");
    return scene_end(&s, "fuse_file", 0, 50) || !s.shared->notes[0];
}
