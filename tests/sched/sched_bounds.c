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

#define HOSTILE   8u
#define THEIRS    2048u
#define EVENT_MAX 5000u /* each of XS_READY_OF_VIEW ready queues is permitted or suspended, read, and its hints are folded */
#define RANKS_MAX 6000u /* ... and looked at twice for a collective */

/* Hostile programs whose queues all have work, beside one that comes and goes. A victim's event costs no more than so much, and
 * nobody's queue is forgotten: what was put off runs when others of its program are idle. */
static void ready_queues(bool ranks)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[HOSTILE + 1];
    uint64_t t = MS, most = 0, before;
    unsigned left;

    for (uint32_t i = 0; i <= HOSTILE; i++) {
        w[i] = world_join(s, i + 1, NULL, false);
        if (ranks && i > 0)
            atomic_store(&w[i].client->h.collectives, 1);
        for (uint32_t k = 0; k < (i ? THEIRS : 1); k++)
            world_queue(&w[i], k, WORLD_DEVICE, i ? -(int32_t)(k % 5) : 10, t);
    }
    world_step(s, w, HOSTILE + 1, t);
    for (uint32_t i = 1; i <= HOSTILE; i++)
        for (uint32_t k = 0; k < THEIRS; k++) {
            world_submit(&w[i], k, 1, US);
            if (k % 16 == 15)
                xs_sched_process_poll(s, w[i].p, t);
        }
    xs_sched_run(s, t);
    for (unsigned round = 0; round < 50; round++) {
        before = work(s);
        world_submit(&w[0], 0, 1, US);
        world_step(s, w, 1, t += MS);
        assert_true(!world_open(&w[1], 0));
        most = XS_MAX(most, work(s) - before);
        before = work(s);
        world_complete(&w[0], 0, 1, US);
        world_step(s, w, 1, t += MS);
        most = XS_MAX(most, work(s) - before);
    }
    assert_in_range(most, 1, ranks ? RANKS_MAX : EVENT_MAX);
    t += 10 * MS; /* the lingering of the urgent one */
    world_step(s, w, 1, t);
    for (unsigned round = 0; round < 200; round++) { /* whatever is open ends; the rest is told */
        uint64_t next;

        left = 0;
        for (uint32_t i = 1; i <= HOSTILE; i++)
            for (uint32_t k = 0; k < THEIRS; k++) {
                struct xs_client_cell *cell = &w[i].client->cells[k];

                if (cell->completed == cell->entered)
                    continue;
                if (world_open(&w[i], k))
                    world_complete(&w[i], k, 1, US);
                else
                    left++;
            }
        if (!left)
            break;
        next = world_step(s, w, HOSTILE + 1, t);
        t = next == UINT64_MAX ? t + MS : XS_MAX(next, t + US);
    }
    assert_int_equal(left, 0);
    xs_sched_free(s);
    for (uint32_t i = 0; i <= HOSTILE; i++)
        world_free(&w[i]);
}

static void ready_queues_without_bound(void **state)
{
    (void)state;
    ready_queues(false);
}

/* They say that they do collectives, each queue of which may be in one. */
static void ready_queues_of_ranks(void **state)
{
    (void)state;
    ready_queues(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rescans_go_by_steps),
        cmocka_unit_test(ready_queues_without_bound),
        cmocka_unit_test(ready_queues_of_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
