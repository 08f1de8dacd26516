/* SPDX-License-Identifier: Apache-2.0 */
#include "leaving.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STARTED, READY }; /* notes */

static void (*g_take)(struct scene *s);

void leaving_waits(struct scene *s)
{
    s->shared->notes[READY] = 1;
    pause();
}

static void attack(struct scene *s)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            g_take(s);
        }
        while (!s->shared->notes[READY])
            usleep(1000);
        s->shared->notes[READY] = 0;
        s->shared->notes[STARTED]++;
        usleep(100000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

int leaving(const char *name, unsigned seconds, void (*take)(struct scene *s), unsigned late)
{
    struct scene s;
    uint64_t were_late, all;
    int times, bad;

    g_take = take;
    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, STARTED, 1);
    bad = scene_end(&s, name, seconds, 50);
    times = s.shared->notes[STARTED] - 1; /* the last one is ended by the scene */
    were_late = scene_late_waits(&s, 5, &all);
    printf("%s: in %d times %llu of %llu waits took more than 5 ms\n", name, times, (unsigned long long)were_late,
           (unsigned long long)all);
    return bad || were_late > late * (uint64_t)times;
}
