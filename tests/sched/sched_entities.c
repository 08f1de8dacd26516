/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided upon as one: gangs, groups, devices, single queues; hints, inheritance, stalls. */
#include "world.h"

#include <string.h>

#define NO_EXECUTE (-256)

static void stall_lets_the_held_run(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    struct xs_sched_counters c;
    uint64_t t = 2 * MS, start, next = 0;

    (void)state;
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    atomic_fetch_sub(&w[1].client->cells[0].returned, 1);   /* a thread of it is inside a call */
    next = world_step(s, w, 2, t);
    start = t;
    while (!world_open(&w[0], 0)) {
        assert_true(next > t && next < start + 1200 * MS);
        next = xs_sched_run(s, t = next);
    }
    /* a second of nothing, though 5 ms were expected */
    assert_true(t - start >= 1000 * MS && t - start <= 1010 * MS);
    xs_sched_counters(s, &c);
    assert_int_equal(c.stalls, 1);
    assert_true(world_open(&w[1], 0));
    next = xs_sched_run(s, t = next);
    assert_true(world_open(&w[0], 0));
    world_complete(&w[1], 0, 1, MS);                /* it goes on: the low side is held again */
    next = xs_sched_run(s, t += MS);
    assert_false(world_open(&w[0], 0));
    start = t;
    /* progress each 900 ms is progress */
    for (unsigned i = 0; i < 3; i++) {
        world_submit(&w[1], 0, 1, MS);
        world_complete(&w[1], 0, 1, MS);
        while (next < start + 900 * MS)
            next = xs_sched_run(s, t = next);
        next = xs_sched_run(s, t = start += 900 * MS);
        assert_false(world_open(&w[0], 0));
    }
    xs_sched_counters(s, &c);
    assert_int_equal(c.stalls, 1);
    world_done(s, w, 2);
}

static void a_long_command_is_no_stall(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;

    (void)state;
    world_submit(&w[0], 0, 1, MS);
    world_submit(&w[1], 0, 1, 3000 * MS);           /* three seconds are expected */
    next = world_step(s, w, 2, t);
    while (next < 3000 * MS) {
        assert_false(world_open(&w[0], 0));
        next = xs_sched_run(s, t = next);
    }
    while (next < 3010 * MS)
        next = xs_sched_run(s, t = next);
    assert_true(world_open(&w[0], 0));
    world_done(s, w, 2);
}

/* Streams of one program: one runs for the sake of another, which waits for it on the device, and is complete, but nobody
 * tells: the thread that would look stands at the gate of a third one. */
static void lifted_and_quiet_lets_the_held_run(void **state)
{
    for (unsigned how = 0; how < 2; how++) {        /* the second time a thread is inside a call there: it may yet go on */
        struct xs_sched *s = world_sched("HPF");
        struct proc w = world_join(s, 1, NULL, true);
        uint64_t t = MS, start, next;

        (void)state;
        world_queue(&w, 0, WORLD_DEVICE, 0, t);
        world_queue(&w, 1, WORLD_DEVICE, 0, t);
        world_queue(&w, 2, WORLD_DEVICE, 1, t);
        world_step(s, &w, 1, t);
        world_submit(&w, 0, 3, 100 * US);
        world_submit(&w, 2, 2, 100 * US);
        atomic_fetch_sub(&w.client->cells[0].returned, how);
        atomic_store(&w.client->cells[0].lent, XS_LENT(3, 1));
        atomic_store(&w.client->cells[1].entered, 1);
        atomic_store(&w.client->cells[1].waiters, 1);
        for (uint32_t i = 0; i < 3; i++)
            xs_page_ring(w.client, w.server, i);
        next = world_step(s, &w, 1, start = t += US);
        assert_true(world_open(&w, 0));
        assert_false(world_open(&w, 1));
        while (!world_open(&w, 1) && t < start + 3000 * MS)
            next = world_step(s, &w, 1, t = XS_MAX(next, t + 1));
        if (how == 0)
            assert_in_range(t - start, 50 * MS, 150 * MS);
        else
            assert_in_range(t - start, 1000 * MS, 1200 * MS);
        world_done(s, &w, 1);
    }
}

static void recreated_queue_has_its_own_hints(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_sched("HPF");
    struct xs_sched_queue *q;
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, WORLD_DEVICE, 5, t);
    q = world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
    world_step(s, w, 2, t);
    world_submit(&w[0], 0, 9, MS);
    world_submit(&w[1], 0, 9, MS);
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    xs_sched_queue_remove(s, q, t);
    xs_sched_run(s, t);
    assert_true(world_open(&w[0], 0));
    memset(&w[1].client->cells[0], 0, sizeof(w[1].client->cells[0]));
    world_queue(&w[1], 0, WORLD_DEVICE, 0, t);               /* the same cell, priority 0 now */
    world_step(s, w, 2, t += US);
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, t += US);
    assert_true(world_open(&w[0], 0));
    assert_false(world_open(&w[1], 0));
    world_done(s, w, 2);
}

static void no_execute_never_runs(void **state)
{
    struct proc w[1];
    struct xs_sched *s = world_sched("UP");                /* whatever the policy */
    struct xs_hints h = world_hints;
    struct xs_sched_queue *q;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    world_queue(&w[0], 0, WORLD_DEVICE, 0, MS);
    q = world_queue(&w[0], 1, WORLD_DEVICE, NO_EXECUTE, MS);
    world_submit(&w[0], 0, 1, MS);
    world_submit(&w[0], 1, 1, MS);
    world_step(s, w, 1, MS);
    assert_true(world_open(&w[0], 0));              /* its neighbour does */
    assert_false(world_open(&w[0], 1));
    xs_sched_queue_set_hints(s, q, &h);
    xs_sched_run(s, 2 * MS);
    assert_true(world_open(&w[0], 1));
    world_done(s, w, 1);
}

/* A queue that was barred and let go while its process was held for another one opens with the
 * rest of its process, wherever it stands among them. */
static void unbarred_while_held_opens_later(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct xs_hints h = world_hints;
    struct xs_sched_queue *q;
    struct proc w[2];
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    q = world_queue(&w[0], 0, WORLD_DEVICE, NO_EXECUTE, t);
    for (uint32_t i = 1; i < 20; i++)
        world_queue(&w[0], i, WORLD_DEVICE, 0, t);
    world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
    world_step(s, w, 2, t);
    world_submit(&w[1], 0, 1, MS);
    world_submit(&w[0], 19, 1, MS);
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 19));
    xs_sched_queue_set_hints(s, q, &h);
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    xs_sched_process_remove(s, w[1].p, t);
    xs_sched_run(s, t += MS);
    for (uint32_t i = 0; i < 20; i++)
        assert_true(world_open(&w[0], i));
    assert_false(xs_sched_renew_leases(s, t));
    world_done(s, w, 2);
}

static void operator_holds_a_process(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;

    (void)state;
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t);
    xs_sched_process_set_held(s, w[1].p, true);
    world_step(s, w, 2, t += US);
    assert_false(world_open(&w[1], 0));
    assert_true(world_open(&w[0], 0));              /* what is held so holds nobody */
    xs_sched_process_set_held(s, w[1].p, false);
    world_step(s, w, 2, t += US);
    assert_true(world_open(&w[1], 0));
    assert_false(world_open(&w[0], 0));
    world_done(s, w, 2);
}

static void policy_changes_at_run_time(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;

    (void)state;
    world_submit(&w[0], 0, 500, MS);
    world_submit(&w[1], 0, 500, MS);
    world_step(s, w, 2, t);
    assert_false(world_open(&w[0], 0));
    for (int type = 1; type <= 11; type++) {
        xs_sched_set_policy(s, xs_policy_by_type(type));
        next = xs_sched_run(s, t += 100 * US);
        assert_true(world_open(&w[0], 0) || world_open(&w[1], 0));
        if (type == 7) /* no deadlines: of equal standing */
            assert_true(world_open(&w[0], 0) && world_open(&w[1], 0));
        if (type == 4 || type == 10 || type == 11) {
            assert_true(world_open(&w[0], 0) != world_open(&w[1], 0));
            assert_true(next < UINT64_MAX);
        }
    }
    xs_sched_set_policy(s, xs_policy_by_name("HPF")); /* the hints are still there */
    xs_sched_run(s, t += US);
    assert_false(world_open(&w[0], 0));
    assert_true(world_open(&w[1], 0));
    world_done(s, w, 2);
}

static void devices_apart_and_together(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_sched("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, 1, 0, t);
    world_queue(&w[1], 0, 2, 10, t);
    world_step(s, w, 2, t);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 2000); /* nobody else there */
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t += MS);
    assert_true(world_open(&w[0], 0) && world_open(&w[1], 0));
    xs_sched_set_policy(s, xs_policy_by_name("HHPF"));
    xs_sched_run(s, t += US);
    assert_false(world_open(&w[0], 0));
    assert_true(xs_sched_contended(s));
    xs_sched_set_policy(s, xs_policy_by_name("HPF"));
    xs_sched_run(s, t += US);
    assert_true(world_open(&w[0], 0));
    assert_false(xs_sched_contended(s));
    world_done(s, w, 2);
}

/* A gang that was seen on two devices runs on both or on none. */
static void a_gang_is_held_on_all_its_devices(void **state)
{
    struct proc w[4];
    struct xs_sched *s = world_sched("HPF");
    uint64_t t = MS;

    (void)state;
    for (int i = 0; i < 4; i++)
        w[i] = world_join(s, (uint64_t)i + 1, NULL, false);
    world_queue(&w[0], 0, 1, 5, t);                 /* the gang, on devices 1 and 2 */
    world_queue(&w[0], 1, 2, 5, t);
    world_queue(&w[1], 0, 1, 10, t);                /* above it on 1 */
    world_queue(&w[2], 0, 2, 0, t);                 /* below it on 2 */
    world_queue(&w[3], 0, 2, 20, t);                /* above it on 2 */
    world_step(s, w, 4, t);
    world_submit(&w[0], 0, 50, MS);
    world_submit(&w[0], 1, 50, MS);
    world_submit(&w[2], 0, 50, MS);
    world_step(s, w, 4, t += US);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));
    assert_false(world_open(&w[2], 0));
    world_submit(&w[1], 0, 2, MS);                  /* it loses on 1, so it is held on 2 as well */
    world_step(s, w, 4, t += US);
    assert_false(world_open(&w[0], 0) || world_open(&w[0], 1));
    assert_true(world_open(&w[2], 0));              /* and the device is not left idle */
    world_submit(&w[3], 0, 2, MS);                  /* now it would lose on 2 */
    world_step(s, w, 4, t += US);
    assert_false(world_open(&w[2], 0));
    assert_true(world_complete(&w[1], 0, 2, MS));
    world_step(s, w, 4, t += US);
    world_step(s, w, 4, t += MS);                   /* after the linger */
    assert_false(world_open(&w[0], 0) || world_open(&w[0], 1)); /* does lose there: held on 1, where nobody is */
    assert_true(world_complete(&w[3], 0, 2, MS));
    world_step(s, w, 4, t += US);
    world_step(s, w, 4, t += MS);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));
    assert_false(world_open(&w[2], 0));
    world_submit(&w[1], 0, 2, MS);
    world_step(s, w, 4, t += US);
    assert_false(world_open(&w[0], 0) || world_open(&w[0], 1));
    xs_sched_process_remove(s, w[1].p, t += US);    /* who held it leaves */
    world_step(s, w, 1, t += US);
    world_step(s, w, 1, t += MS);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));
    xs_sched_free(s);
    for (int i = 0; i < 4; i++)
        world_free(&w[i]);
}

/* Each of three gangs is above the next on one device and below the last on another. */
static void gangs_that_bind_in_a_circle_end(void **state)
{
    struct proc w[3];
    struct xs_sched *s = world_sched("HPF");
    struct xs_sched_counters before, after;
    uint64_t t = MS;
    int open = 0;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        w[i] = world_join(s, i + 1, NULL, false);
        world_queue(&w[i], 0, 1 + i, 10, t);
        world_queue(&w[i], 1, 1 + (i + 1) % 3, 0, t);
    }
    world_step(s, w, 3, t);
    xs_sched_counters(s, &before);
    for (int i = 0; i < 3; i++) {
        world_submit(&w[i], 0, 50, MS);
        world_submit(&w[i], 1, 50, MS);
    }
    t += US;
    assert_true(world_step(s, w, 3, t) > t);        /* and it does not ask to be called again at once */
    xs_sched_counters(s, &after);
    assert_in_range(after.decisions - before.decisions, 3, 64);
    for (int i = 0; i < 3; i++)
        open += world_open(&w[i], 0) + world_open(&w[i], 1);
    assert_true(open > 0);
    world_done(s, w, 3);
}

/* A program that asks for it is off the device before anybody who was held for it starts; for a while. */
static void who_is_held_drains_first(void **state)
{
    for (int how = 0; how < 3; how++) {             /* not asked for; asked for; asked for and it never ends */
        struct xs_sched *s = world_sched("HPF");
        struct xs_sched_process_info info = { .id = 2, .drain = how ? XS_DRAIN_ON : XS_DRAIN_BY_POLICY };
        struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 3, NULL, false) };
        struct xs_sched_queue *low;
        struct xs_hints h = world_hints;
        uint64_t t = MS, next, start;

        (void)state;
        xs_sched_process_remove(s, w[1].p, t);
        info.client = w[1].client;
        info.server = w[1].server;
        w[1].p = xs_sched_process_add(s, &info, NULL);
        low = world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
        world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
        world_step(s, w, 2, t);
        world_submit(&w[1], 0, 3, MS);
        world_submit(&w[0], 0, 3, MS);
        world_step(s, w, 2, t += US);
        assert_false(world_open(&w[0], 0));
        h.priority = 20;                            /* now the other one is held, with work on the device */
        xs_sched_queue_set_hints(s, low, &h);
        next = world_step(s, w, 2, t += US);
        assert_false(world_open(&w[1], 0));
        assert_int_equal(world_open(&w[0], 0), how == 0);
        for (start = t; how && next < start + 20 * MS;)
            next = xs_sched_run(s, t = XS_MAX(next, t + 1));
        assert_int_equal(world_open(&w[0], 0), how == 0);
        if (how == 1) {
            atomic_fetch_add(&w[1].client->cells[0].entered, 1); /* somebody stands at the gate */
            world_complete(&w[1], 0, 3, MS);
            next = world_step(s, w, 2, t += 200 * US);
            assert_true(world_open(&w[0], 0));
        }
        for (start = t; how == 2 && next < start + 90 * MS;)
            next = xs_sched_run(s, t = XS_MAX(next, t + 1));
        assert_true(world_open(&w[0], 0));
        assert_false(world_open(&w[1], 0));
        world_done(s, w, 2);
    }
}

static void gangs_intra_and_inherit(void **state)
{
    struct proc w[3];
    struct xs_sched *s = world_sched("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);           /* a gang of two */
    w[1] = world_join(s, 2, NULL, true);            /* two entities */
    w[2] = world_join(s, 3, NULL, false);
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[0], 1, WORLD_DEVICE, 5, t);
    world_queue(&w[1], 0, WORLD_DEVICE, 1, t);
    world_queue(&w[1], 1, WORLD_DEVICE, 5, t);
    world_queue(&w[2], 0, WORLD_DEVICE, 3, t);
    world_step(s, w, 3, t);
    for (int i = 0; i < 2; i++) {
        world_submit(&w[0], (uint32_t)i, 5, MS);
        world_submit(&w[1], (uint32_t)i, 5, MS);
    }
    world_submit(&w[2], 0, 5, MS);
    world_step(s, w, 3, t += US);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));  /* runs as one, at its highest priority */
    assert_true(world_open(&w[1], 1));
    assert_false(world_open(&w[1], 0));             /* asked for decisions inside */
    assert_false(world_open(&w[2], 0));
    /* a thread of priority 5 waits for the queue of priority 1 */
    atomic_store(&w[1].client->cells[0].inherit_priority, 5);
    atomic_store(&w[1].client->cells[0].inherit, 1);
    xs_page_ring(w[1].client, w[1].server, 0);
    world_step(s, w, 3, t += US);
    assert_true(world_open(&w[1], 0));
    assert_false(world_open(&w[2], 0));
    atomic_store(&w[1].client->cells[0].inherit, 0);
    xs_page_ring(w[1].client, w[1].server, 0);
    world_step(s, w, 3, t += US);
    assert_false(world_open(&w[1], 0));
    /* the gang's urgent queue ends: its standing is 0 now, below w[2]'s 3 */
    world_complete(&w[0], 1, 5, MS);
    world_complete(&w[1], 1, 5, MS);
    world_step(s, w, 3, t += MS);
    world_step(s, w, 3, t += MS);
    assert_true(world_open(&w[2], 0));
    assert_false(world_open(&w[0], 0));
    assert_false(world_open(&w[1], 0));
    world_done(s, w, 3);
}

/* A queue that waits for another one on the device lends to it until the other one is that far. */
static void lent_until_complete(void **state)
{
    struct proc w[1];
    struct xs_sched *s = world_sched("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, true);
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[0], 1, WORLD_DEVICE, 5, t);
    world_step(s, w, 1, t);
    world_submit(&w[0], 0, 6, MS);
    world_submit(&w[0], 1, 2, MS);
    world_step(s, w, 1, t += US);
    assert_true(world_open(&w[0], 1));
    assert_false(world_open(&w[0], 0));
    atomic_store(&w[0].client->cells[0].lent, XS_LENT(2, 5));
    xs_page_ring(w[0].client, w[0].server, 0);
    world_step(s, w, 1, t += US);
    assert_true(world_open(&w[0], 0));
    world_complete(&w[0], 0, 1, MS);
    xs_page_ring(w[0].client, w[0].server, 0);
    world_step(s, w, 1, t += US);
    assert_true(world_open(&w[0], 0));
    world_complete(&w[0], 0, 1, MS);                /* the second: nobody takes the word back */
    xs_page_ring(w[0].client, w[0].server, 0);
    world_step(s, w, 1, t += US);
    assert_false(world_open(&w[0], 0));
    world_done(s, w, 1);
}

/* Under a policy that knows no priorities, too, a provider runs while its waiter does. */
static void inherit_without_priorities(void **state)
{
    struct proc w[1];
    struct xs_sched *s = world_sched("UP");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, true);
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[0], 1, WORLD_DEVICE, 0, t);
    world_step(s, w, 1, t);
    world_submit(&w[0], 0, 50, MS);
    world_step(s, w, 1, t += US);
    world_submit(&w[0], 1, 50, MS);
    world_step(s, w, 1, t += US);
    assert_true(world_open(&w[0], 0));
    assert_false(world_open(&w[0], 1));
    atomic_store(&w[0].client->cells[1].inherit_priority, 1);
    atomic_store(&w[0].client->cells[1].inherit, 1);
    xs_page_ring(w[0].client, w[0].server, 1);
    world_step(s, w, 1, t += US);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));
    world_done(s, w, 1);
}

static void groups_are_one_gang(void **state)
{
    struct proc w[3];
    struct xs_sched *s = world_sched("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, "job", false);
    w[1] = world_join(s, 2, "job", false);
    w[2] = world_join(s, 3, NULL, false);
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
    world_queue(&w[2], 0, WORLD_DEVICE, 5, t);
    world_step(s, w, 3, t);
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[2], 0, 5, MS);
    world_step(s, w, 3, t += US);
    assert_false(world_open(&w[0], 0));
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 3, t += US);
    assert_true(world_open(&w[0], 0) && world_open(&w[1], 0));
    assert_false(world_open(&w[2], 0));
    xs_sched_process_remove(s, w[1].p, t);
    xs_sched_run(s, t += US);
    assert_true(world_open(&w[2], 0));
    assert_false(world_open(&w[0], 0));
    w[1].p = NULL;
    world_done(s, w, 3);
}

static struct xs_sched_queue *timed_queue(struct proc *p, uint32_t cell, struct xs_hints h, uint64_t now)
{
    struct xs_sched_queue *q = xs_sched_queue_add(p->s, p->p, cell + 1, WORLD_DEVICE, cell, &h, now, NULL);

    assert_non_null(q);
    return q;
}

/* A gang is due when the first of its ready queues is. */
static void gang_has_its_earliest_deadline(void **state)
{
    struct xs_sched *s = world_sched("KEDF");
    struct xs_hints h = world_hints;
    struct proc w[2];
    uint64_t t = 10 * MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    h.deadline_us = 50000;
    timed_queue(&w[0], 0, h, t);
    h.deadline_us = 5000;
    timed_queue(&w[0], 1, h, t);
    h.deadline_us = 20000;
    timed_queue(&w[1], 0, h, t);
    world_step(s, w, 2, t);
    world_submit(&w[0], 0, 1, MS);                  /* due at 60 */
    world_submit(&w[1], 0, 1, MS);                  /* due at 30 */
    world_step(s, w, 2, t);
    assert_false(world_open(&w[0], 0));
    assert_true(world_open(&w[1], 0));
    world_submit(&w[0], 1, 1, MS);                  /* due at 16 */
    world_step(s, w, 2, t += MS);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));
    assert_false(world_open(&w[1], 0));
    assert_true(world_complete(&w[0], 1, 1, MS));   /* due at 60 again, though its other queue goes on */
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    assert_true(world_open(&w[1], 0));
    world_done(s, w, 2);
}

/* A gang's priority is at each moment the highest of its queues': 0 and 0, then 5, then 100. */
static void gang_becomes_critical_queue_by_queue(void **state)
{
    struct xs_sched *s = world_sched("LAX");
    struct xs_hints h = world_hints;
    struct proc w[3];
    uint64_t t = 10 * MS, next;

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        w[i] = world_join(s, i + 1, NULL, false);
    h.laxity_us = 1000;
    h.critical_priority = 5;
    timed_queue(&w[0], 0, h, t);
    h.laxity_us = 10000;
    h.critical_priority = 100;
    timed_queue(&w[0], 1, h, t);
    world_queue(&w[1], 0, WORLD_DEVICE, 3, t);
    world_queue(&w[2], 0, WORLD_DEVICE, 50, t);
    world_step(s, w, 3, t);
    world_submit(&w[0], 0, 9, MS);
    world_submit(&w[0], 1, 9, MS);
    world_submit(&w[1], 0, 9, MS);
    next = world_step(s, w, 3, t);
    assert_true(next <= 11 * MS);
    assert_false(world_open(&w[0], 0));             /* 0 against 3 */
    xs_sched_run(s, 10999 * US);
    assert_false(world_open(&w[0], 0));
    next = xs_sched_run(s, 11 * MS);
    assert_true(world_open(&w[0], 0));              /* 5 */
    assert_false(world_open(&w[1], 0));
    world_submit(&w[2], 0, 9, MS);
    next = world_step(s, w, 3, 12 * MS);
    assert_false(world_open(&w[0], 0));             /* against 50 */
    while (next < 20 * MS) {
        xs_sched_run(s, next);
        assert_false(world_open(&w[0], 0));
        next = xs_sched_run(s, next + 1);
    }
    xs_sched_run(s, 20 * MS);
    assert_true(world_open(&w[0], 0) && world_open(&w[0], 1));  /* 100 */
    assert_false(world_open(&w[2], 0));
    world_done(s, w, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stall_lets_the_held_run),
        cmocka_unit_test(a_long_command_is_no_stall),
        cmocka_unit_test(lifted_and_quiet_lets_the_held_run),
        cmocka_unit_test(recreated_queue_has_its_own_hints),
        cmocka_unit_test(no_execute_never_runs),
        cmocka_unit_test(unbarred_while_held_opens_later),
        cmocka_unit_test(operator_holds_a_process),
        cmocka_unit_test(policy_changes_at_run_time),
        cmocka_unit_test(devices_apart_and_together),
        cmocka_unit_test(a_gang_is_held_on_all_its_devices),
        cmocka_unit_test(gangs_that_bind_in_a_circle_end),
        cmocka_unit_test(who_is_held_drains_first),
        cmocka_unit_test(gangs_intra_and_inherit),
        cmocka_unit_test(inherit_without_priorities), cmocka_unit_test(lent_until_complete),
        cmocka_unit_test(groups_are_one_gang),
        cmocka_unit_test(gang_has_its_earliest_deadline),
        cmocka_unit_test(gang_becomes_critical_queue_by_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
