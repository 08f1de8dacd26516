/* SPDX-License-Identifier: Apache-2.0 */
/* Under a policy that partitions the device (PUP), a program that uses no device makes a new queue each 15
 * ms and gives the one before back. Another user's program has work all the time. */
#include "scene.h"

#include "base/clock.h"
#include "base/fd.h"

#include <stdio.h>
#include <unistd.h>

#define RUN_NS (5 * XS_NS_PER_S)

static void attack(struct scene *s)
{
    struct raw_client c;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 0);
    raw_submit(&c, 0);
    for (uint32_t k = 1;; k++) {
        raw_add(&c, k % XS_PAGE_QUEUES, DEVICE, 0);
        raw_submit(&c, k % XS_PAGE_QUEUES);
        raw_settle(&c);
        raw_remove(&c, (k - 1) % XS_PAGE_QUEUES);
        s->shared->notes[0] = 1;
        usleep(15000);
    }
}

/* One command of 1 ms after the other: each waits at the gate, and what is on the device ends there. Notes the longest wait
 * in us, and the part of the time in which the gate was open, in thousandths. */
static int run(struct scene *s)
{
    uint64_t began, last, waits_since, worst = 0, had = 0;
    struct raw_client c;
    _Atomic uint32_t *waiters;

    raw_join(&c, s->server.socket);
    raw_add(&c, 0, DEVICE, 0);
    waiters = &c.page->cells[0].waiters;
    began = last = waits_since = xs_now_ns();
    while (last < began + RUN_NS) {
        uint64_t now;

        if (raw_permitted(&c, 0)) {
            raw_submit(&c, 0);
            usleep(1000);
            raw_complete(&c, 0);
        } else {
            atomic_store(waiters, 1);
            if (xs_page_ring(c.page, c.server, 0))
                xs_fd_eventfd_signal(c.bell);
            while (!raw_permitted(&c, 0) && xs_now_ns() < began + RUN_NS)
                usleep(100);
            atomic_store(waiters, 0);
        }
        now = xs_now_ns();
        if (raw_permitted(&c, 0)) {
            worst = XS_MAX(worst, last - waits_since);
            had += now - last;
            waits_since = now;
        }
        worst = XS_MAX(worst, now - waits_since);
        last = now;
    }
    s->shared->notes[1] = (int)(worst / XS_NS_PER_US);
    s->shared->notes[2] = (int)(had * 1000 / (last - began));
    return 0;
}

int main(void)
{
    struct scene s;
    int bad;

    scene_begin_with(&s, "--policy=PUP");
    s.shared->stop = 1; /* the scene's own victim */
    usleep(200000);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    bad = scene_probe(&s, HELPER, run);
    bad |= scene_end(&s, "new_queues", 0, 1000);
    printf("new_queues: another user waits for %.1f ms at most and has %.1f %% of the time\n", s.shared->notes[1] / 1e3,
           s.shared->notes[2] / 10.0);
    return bad || s.shared->notes[1] > 300000 || s.shared->notes[2] < 200;
}
