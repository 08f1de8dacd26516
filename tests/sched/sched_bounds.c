/* SPDX-License-Identifier: Apache-2.0 */
/* What an event may cost at most, counted in queues and entities that were touched, where a program does its worst. */
#include "world.h"

#include <stdlib.h>

#define QUEUES     4096u
#define RESCAN_MAX 140u /* a step of 128, and the entities */
#define STEP_NS    (250 * US)

static uint64_t work(struct xs_sched *s)
{
    return xs_sched_work(s);
}

/* A program rings more than the ring of slots has room for, so that all its queues must be read: a step at a time. */
static void rescans_go_by_steps(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = {world_join(s, 1, NULL, false), world_join(s, 2, NULL, false)};
    struct xs_sched_queue *last = NULL;
    struct xs_sched_queue_status st;
    uint64_t t = MS, most = 0, all = 0;
    unsigned runs = 0;

    (void)state;
    world_queue(&w[1], 0, WORLD_DEVICE, 0, t);
    for (uint32_t i = 0; i < QUEUES; i++)
        last = world_queue(&w[0], i, WORLD_DEVICE, 0, t);
    world_step(s, w, 2, t);
    for (unsigned round = 0; round < 20; round++) { /* it does not matter how often it rings */
        uint64_t next, before = work(s);

        t += 10 * US;
        atomic_fetch_add(&w[0].client->h.bell_count, 1000);
        xs_sched_process_poll(s, w[0].p, t);
        next = xs_sched_run(s, t);
        most = XS_MAX(most, work(s) - before);
        all += work(s) - before;
        assert_true(next > t && next <= t + STEP_NS); /* there is more to read, and it says when */
    }
    assert_in_range(most, 1, RESCAN_MAX);
    assert_in_range(all, 1, 2 * RESCAN_MAX);
    atomic_fetch_add(&w[0].client->cells[QUEUES - 1].entered, 1); /* ready, and it did not ring for that */
    for (; runs < 100; runs++) {
        uint64_t next, before = work(s);

        next = xs_sched_run(s, t);
        most = XS_MAX(most, work(s) - before);
        if (next > t + STEP_NS)
            break;
        t = XS_MAX(next, t + US);
    }
    assert_in_range(most, 1, RESCAN_MAX);
    assert_in_range(runs, QUEUES / 128 - 3, QUEUES / 128 + 40);
    xs_sched_queue_status(last, t, &st);
    assert_true(st.ready_since_ns > 0);
    xs_sched_free(s);
    world_free(&w[0]);
    world_free(&w[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rescans_go_by_steps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
