/* SPDX-License-Identifier: Apache-2.0 */
/* A process with as many sessions as it may have ends, again and again. */
#include "scene.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void sessions(struct scene *s)
{
    int i;

    for (i = 0; i < 1000; i++) {
        struct raw_client c;
        union xs_msg m;

        raw_connect(&c, s->server.socket);
        raw_hello_fill(&c, &m);
        if (raw_hello(&c, &m, (int[]){c.page_fd, c.bell}, 2) != 0)
            break;
    }
    s->shared->notes[1] = i;
    s->shared->notes[2] = 1;
    pause();
}

static void attack(struct scene *s)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            sessions(s);
        }
        while (!s->shared->notes[2])
            usleep(1000);
        s->shared->notes[2] = 0;
        s->shared->notes[0]++;
        usleep(100000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

/* Waits of the victim that took longer than so many milliseconds, of so many. */
static uint64_t late_waits(const struct scene *s, double ms, uint64_t *ret_all)
{
    uint64_t late = 0;

    *ret_all = 0;
    for (unsigned i = 0; i < SCENE_WAITS; i++) {
        late += pow(1.09, i ? i - 1 : 0) > ms * 1000 ? s->shared->waits[i] : 0;
        *ret_all += s->shared->waits[i];
    }
    return late;
}

int main(void)
{
    struct scene s;
    uint64_t late, all;
    int times, bad;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    bad = scene_end(&s, "leave_all", 9, 50);
    times = s.shared->notes[0] - 1; /* the last one is ended by the scene */
    late = late_waits(&s, 5, &all);
    printf("leave_all: in %d times %llu of %llu waits took more than 5 ms\n", times, (unsigned long long)late,
           (unsigned long long)all);
    return bad || late > (uint64_t)times;
}
