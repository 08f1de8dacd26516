/* SPDX-License-Identifier: Apache-2.0 */
/* What an event costs, counted in entities and queues that were touched: it must not grow with
 * queues that it does not affect. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#define PROCESSES 64

struct cost {
    uint64_t submit_held;        /* a queue of a held process becomes ready */
    uint64_t urgent;             /* the urgent process becomes ready: all others are held */
    uint64_t urgent_more;        /* its second queue does, too */
    uint64_t urgent_end;         /* it ends: all others run */
    uint64_t unrelated;          /* a queue on another device comes and goes */
};

static uint64_t work(struct xs_sched *s)
{
    struct xs_sched_counters c;

    xs_sched_counters(s, &c);
    return c.work;
}

static uint64_t step(struct xs_sched *s, struct proc *p, uint64_t now)
{
    uint64_t before = work(s);

    world_step(s, p, 1, now);
    return work(s) - before;
}

/* Each process has `queues` queues, of which one works; process 0 is urgent. */
static struct cost measure(uint32_t queues)
{
    struct xs_sched_config config;
    struct xs_sched *s;
    struct proc *w = calloc(PROCESSES, sizeof(*w));
    struct cost c;
    uint64_t t = MS;

    assert_non_null(w);
    xs_sched_config_defaults(&config);
    config.linger_ns = 0;
    s = xs_sched_new(xs_policy_by_name("HPF"), &config, NULL, NULL);
    assert_non_null(s);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        w[i] = world_join(s, i + 1, NULL, false);
        for (uint32_t k = 0; k < queues; k++)
            world_queue(&w[i], k, 1, i == 0 ? 10 : 0, t);
    }
    world_queue(&w[1], queues, 2, 0, t);
    world_queue(&w[2], queues, 2, 0, t);
    world_step(s, w, PROCESSES, t);
    for (uint32_t i = 1; i < PROCESSES; i++)
        world_submit(&w[i], 0, 100, MS);
    world_step(s, w, PROCESSES, t += MS);

    world_submit(&w[0], 0, 1, MS);
    c.urgent = step(s, &w[0], t += MS);
    assert_false(world_open(&w[1], 0));
    world_submit(&w[0], 1, 1, MS);
    c.urgent_more = step(s, &w[0], t += 10 * US);
    world_submit(&w[1], 1, 1, MS);
    c.submit_held = step(s, &w[1], t += 10 * US);
    assert_false(world_open(&w[1], 1));
    world_submit(&w[1], queues, 1, MS);
    c.unrelated = step(s, &w[1], t += 10 * US);
    world_complete(&w[0], 1, 1, MS);
    world_complete(&w[0], 0, 1, MS);
    c.urgent_end = step(s, &w[0], t += 10 * US);
    assert_true(world_open(&w[1], 0) && world_open(&w[63], 0));
    xs_sched_free(s);
    for (uint32_t i = 0; i < PROCESSES; i++)
        world_free(&w[i]);
    free(w);
    return c;
}

static void work_does_not_grow_with_idle_queues(void **state)
{
    struct cost few = measure(16), many = measure(157); /* 1,024 and 10,048 queues */

    (void)state;
    print_message("touched with 1024 / 10048 queues: urgent comes %llu / %llu, its second queue %llu / %llu, "
                  "goes %llu / %llu; a held one comes %llu / %llu; another device %llu / %llu\n",
                  (unsigned long long)few.urgent, (unsigned long long)many.urgent,
                  (unsigned long long)few.urgent_more, (unsigned long long)many.urgent_more,
                  (unsigned long long)few.urgent_end, (unsigned long long)many.urgent_end,
                  (unsigned long long)few.submit_held, (unsigned long long)many.submit_held,
                  (unsigned long long)few.unrelated, (unsigned long long)many.unrelated);
    assert_int_equal(many.urgent, few.urgent);
    assert_int_equal(many.urgent_more, few.urgent_more);
    assert_int_equal(many.urgent_end, few.urgent_end);
    assert_int_equal(many.submit_held, few.submit_held);
    assert_int_equal(many.unrelated, few.unrelated);
    /* 64 entities, a look at each and a word for those that turn: a few times 64, never 10,048 */
    assert_in_range(many.urgent, 64, 64 * 12);
    assert_in_range(many.urgent_end, 64, 64 * 12);
    assert_in_range(many.submit_held, 1, 64 * 3);
    assert_in_range(many.unrelated, 1, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(work_does_not_grow_with_idle_queues) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
