/* SPDX-License-Identifier: Apache-2.0 */
#include "leaving.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY_MS    2.5 /* a wait in which xserver computes for so long is a long step of it, */
#define BUSY_WAITS 2   /* ... or of another thread, or an interrupt: so many for each end */
#define QUIET_S    2   /* before the attack */
#define LOOP_SHARE 20  /* percent of a core, beside what the victim costs */

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

int leaving(const char *name, unsigned seconds, void (*take)(struct scene *s))
{
    struct scene s;
    uint64_t busy, all;
    double share;
    int bad, times;

    g_take = take;
    scene_begin_with(&s, "--spin-cpu=0"); /* its main loop computes for events alone */
    scene_quiet(&s, QUIET_S);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, STARTED, 1);
    bad = scene_end(&s, name, seconds, 50);
    busy = scene_busy_waits(&s, BUSY_MS, &all);
    share = scene_loop_share(&s);
    times = s.shared->notes[STARTED] - 1; /* the last one is ended by the scene */
    printf("%s: ended %d times, in %llu of %llu waits xserver computed for more than %.1f ms\n", name, times,
           (unsigned long long)busy, (unsigned long long)all, BUSY_MS);
    printf("%s: the main loop used %.1f %% of a core for it\n", name, share);
    return bad || busy > BUSY_WAITS * (uint64_t)times + 1 || share > LOOP_SHARE;
}
