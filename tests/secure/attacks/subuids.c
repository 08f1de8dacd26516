/* SPDX-License-Identifier: Apache-2.0 */
/* A user who has a range of subordinate ids (subuid(5)) takes all sessions, as four users. Another one wants to join; what the
 * attacker has in all is no more than one user's quota. */
#include "scene.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

static void attack(struct scene *s)
{
    struct raw_client *c = calloc(1100, sizeof(*c));
    int n = 0;

    while (n < 1100 && raw_try_join(&c[n], s->server.socket) == 0)
        n++;
    s->shared->notes[1] += n;
    s->shared->notes[0]++;
    pause();
}

/* In a mount namespace of its own, the attacker has a range. */
static void give_ids(void)
{
    char path[] = "/tmp/xsched-subuid-XXXXXX";
    int fd = mkstemp(path);
    static const char line[] = "2001:300000:65536\n";

    if (geteuid() == 0 && fd >= 0 && write(fd, line, sizeof(line) - 1) > 0 && access("/etc/subuid", F_OK) == 0 &&
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(path, "/etc/subuid", NULL, MS_BIND, NULL) == 0) {
        unlink(path);
        close(fd);
        return;
    }
    unlink(path);
    puts("skipped: /etc/subuid cannot be replaced in a mount namespace");
    exit(77);
}

int main(void)
{
    struct scene s;
    bool refused;
    int bad;

    give_ids();
    scene_begin(&s);
    for (unsigned i = 0; i < 4; i++)
        scene_attack(&s, i ? 300000 + i : ATTACKER, attack);
    scene_await(&s, 0, 4);
    refused = scene_others(&s, "subuids", scene_join, "joins", "is REFUSED");
    bad = scene_end(&s, "subuids", 1, 50);
    printf("subuids: the attackers have %d\n", (int)s.shared->notes[1]);
    return bad || refused || s.shared->notes[1] > 1024;
}
