/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a file system whose owner never answers (FUSE) is passed with a message of an unknown kind. No signal
 * ends the thread that closes it. Another xserver takes over, though the process of the first one stays. */
#include "deaf_files.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct xs_wire_head m = scene_unknown();
    struct raw_client c;
    int fd = deaf_files_open();

    raw_join(&c, s->server.socket);
    if (fd >= 0 && scene_send(c.fd, &m, sizeof(m), &fd, 1) == 0)
        s->shared->notes[0] = 1;
    pause(); /* its own closing would wait, too */
}

/* @return whether it joined an xserver on that socket within five seconds */
static bool joins(const struct scene *s)
{
    struct raw_client c;

    for (int i = 0; i < 50; i++, usleep(100000)) {
        int fd = xs_socket_connect(s->server.socket, XS_NS_PER_S);

        if (fd < 0)
            continue;
        close(fd);
        return raw_try_join(&c, s->server.socket) == 0;
    }
    return false;
}

int main(void)
{
    struct scene s;
    bool replaced;
    pid_t next;

    scene_begin(&s);
    if (!deaf_files_begin(&s, "fuse_stop"))
        return 77;
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    usleep(200000);
    s.shared->stop = 1;
    kill(s.server.pid, SIGTERM);
    usleep(500000); /* the thread that closes the file waits on: the process may stay */
    next = fork();
    if (next == 0) {
        execl(XSERVER_PATH, "xserver", "--socket", s.server.socket, "--port", "0", NULL);
        _exit(127);
    }
    replaced = joins(&s);
    kill(next, SIGTERM);
    waitpid(next, NULL, 0);
    deaf_files_end();
    kill(s.attackers[0], SIGKILL);
    waitpid(s.attackers[0], NULL, 0);
    kill(s.victim, SIGKILL);
    waitpid(s.victim, NULL, 0);
    waitpid(s.server.pid, NULL, 0);
    printf("fuse_stop: after SIGTERM, another xserver %s\n", replaced ? "takes over" : "CANNOT take over");
    return !replaced;
}
