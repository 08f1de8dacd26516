/* SPDX-License-Identifier: Apache-2.0 */
/* A program with as many queues as it may have, all of them held, ends, again and again. */
#include "scene.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void queues(struct scene *s)
{
    static struct raw_client c[2];
    union xs_msg m;

    for (int i = 0; i < 2; i++) {
        raw_join(&c[i], s->server.socket);
        for (uint32_t k = 0; k < 16000; k++) {
            raw_add_fill(&c[i], &m, k, DEVICE, -5);
            raw_send(&c[i], &m, XS_MSG_queue_add);
            if (k % 64 == 63)
                raw_settle(&c[i]);
        }
        raw_settle(&c[i]);
        for (uint32_t k = 0; k < 16000; k++)
            raw_submit(&c[i], k);
    }
    s->shared->notes[2] = 1;
    pause();
}

static void attack(struct scene *s)
{
    for (;;) {
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            queues(s);
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
    bad = scene_end(&s, "leave_queues", 10, 50);
    times = s.shared->notes[0] - 1; /* the last one is ended by the scene */
    late = late_waits(&s, 5, &all);
    printf("leave_queues: in %d times %llu of %llu waits took more than 5 ms\n", times, (unsigned long long)late,
           (unsigned long long)all);
    return bad || late > 3 * (uint64_t)times;
}
