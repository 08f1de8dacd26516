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

/* The largest work of one change of a gang with so many queues, decision included. */
static uint64_t most_work(uint32_t queues)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 2, NULL, false) };
    struct xs_sched_queue **q = calloc(queues, sizeof(*q));
    uint64_t t = MS, most = 0, before;

    assert_non_null(q);
    world_queue(&w[1], 0, 1, 5, t);
    for (uint32_t i = 0; i < queues; i++)
        q[i] = world_queue(&w[0], i, 1, 0, t);
    world_step(s, w, 2, t);
    for (uint32_t i = 0; i < 300; i++) {
        struct xs_hints h = world_hints;
        uint32_t at = queues - 1 - i;

        before = work(s);
        h.priority = i % 3 ? 7 : (int32_t)(i % 200); /* the highest of all, and back */
        h.utilization = i % 5 ? 100 : 40;
        xs_sched_queue_set_hints(s, q[at], &h);
        world_step(s, w, 2, t += US);
        most = XS_MAX(most, work(s) - before);
        before = work(s);
        if (i % 2) {
            xs_sched_queue_set_hints(s, q[at], &world_hints);
        } else {
            xs_sched_queue_remove(s, q[at], t);
            q[at] = world_queue(&w[0], at, 1, (int32_t)(i % 9), t);
        }
        world_step(s, w, 2, t += US);
        most = XS_MAX(most, work(s) - before);
    }
    xs_sched_free(s);
    world_free(&w[0]);
    world_free(&w[1]);
    free(q);
    return most;
}

static void a_change_among_thousands(void **state)
{
    uint64_t few = most_work(400), many = most_work(16000);

    (void)state;
    print_message("a change of an idle gang: %llu among 400 queues, %llu among 16000\n", (unsigned long long)few,
                  (unsigned long long)many);
    assert_in_range(many, 1, 40);
    assert_true(many <= few + 4);
}

static struct xs_hints g_seen;

static void look_at(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        g_seen = v->entities[i]->hints;
        v->entities[i]->run = true;
    }
}

/* However many queues a gang has, and whatever they were given and lost: it is worth what they are now. */
static void a_gang_of_many_is_worth_what_its_queues_are(void **state)
{
    const struct xs_policy_ops ops = { .abi = XS_POLICY_ABI, .size = sizeof(ops), .name = "look", .title = "look",
                                       .scope = XS_SCOPE_DEVICE, .decide = look_at };
    struct xs_sched *s = xs_sched_new(&ops, NULL, NULL, NULL);
    struct proc w = world_join(s, 1, NULL, false);
    struct xs_sched_queue *q[200] = { NULL };
    uint64_t x = 1, t = MS;
    unsigned n = 0, counted = 0;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        struct xs_hints want = { PRIORITY_NO_EXECUTE, 100, -1, -1, PRIORITY_NO_EXECUTE, PRIORITY_NO_EXECUTE }, h = world_hints;
        unsigned i, most = round / 2000 % 2 ? 200 : 60; /* grows and shrinks */

        x = x * 6364136223846793005ull + 1442695040888963407ull;
        i = (unsigned)(x >> 33) % 200;
        if (x >> 62)
            h.priority = (int32_t)(x >> 40 & 511) - 256;
        if (x >> 60 == 3)
            h.utilization = (int32_t)(x >> 50 & 127) % 101;
        if (x >> 59 == 9)
            h.deadline_us = (int64_t)(x >> 20 & 0xfffff);
        if (x >> 59 == 11) {
            h.laxity_us = (int64_t)(x >> 20 & 0xfffff);
            h.lax_priority = (int32_t)(x >> 14 & 255);
            h.critical_priority = h.lax_priority + 1;
        }
        if (!q[i] && n < most) {
            q[i] = world_queue(&w, i, 1, h.priority, t);
            xs_sched_queue_set_hints(s, q[i], &h);
            n++;
        } else if (q[i] && (n > most || x >> 57 & 1)) {
            xs_sched_queue_remove(s, q[i], t);
            q[i] = NULL;
            n--;
        } else if (q[i]) {
            xs_sched_queue_set_hints(s, q[i], &h);
        }
        if (round % 97 == 0) {
            xs_sched_process_set_held(s, w.p, true); /* held ones count for their utilization only */
            xs_sched_process_set_held(s, w.p, false);
        }
        world_step(s, &w, 1, t += US);
        for (i = 0; i < 200; i++) {
            struct xs_hints o;

            if (!q[i])
                continue;
            o = *xs_sched_queue_hints(q[i]);
            want.utilization = want.utilization == 100 || o.utilization == 100 ? (int32_t)XS_MIN(want.utilization, o.utilization)
                                                                               : (int32_t)XS_MAX(want.utilization, o.utilization);
            if (o.priority == PRIORITY_NO_EXECUTE)
                continue;
            want.priority = XS_MAX(want.priority, o.priority);
            if (o.deadline_us >= 0)
                want.deadline_us = want.deadline_us < 0 ? o.deadline_us : XS_MIN(want.deadline_us, o.deadline_us);
            if (o.laxity_us >= 0) {
                want.laxity_us = want.laxity_us < 0 ? o.laxity_us : XS_MIN(want.laxity_us, o.laxity_us);
                want.lax_priority = XS_MAX(want.lax_priority, o.lax_priority);
                want.critical_priority = XS_MAX(want.critical_priority, o.critical_priority);
            }
        }
        if (n == 0)
            continue;
        counted += n > 64;
        assert_int_equal(g_seen.priority, want.priority);
        assert_int_equal(g_seen.utilization, want.utilization);
        assert_int_equal(g_seen.lax_priority, want.lax_priority);
        assert_int_equal(g_seen.critical_priority, want.critical_priority);
        /* times of many: to a factor of two, and never too late */
        assert_int_equal(g_seen.deadline_us < 0, want.deadline_us < 0);
        assert_int_equal(g_seen.laxity_us < 0, want.laxity_us < 0);
        assert_true(g_seen.deadline_us <= want.deadline_us && g_seen.deadline_us * 2 >= want.deadline_us - 1);
        assert_true(g_seen.laxity_us <= want.laxity_us && g_seen.laxity_us * 2 >= want.laxity_us - 1);
    }
    assert_true(counted > 2000);
    xs_sched_process_remove(s, w.p, t);
    xs_sched_free(s);
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_does_not_grow_with_idle_queues),
        cmocka_unit_test(a_change_among_thousands),
        cmocka_unit_test(a_gang_of_many_is_worth_what_its_queues_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
