/* SPDX-License-Identifier: Apache-2.0 */
/* The decision driver on private pages, with HPF. */
#include "world.h"

#include "base/futex.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define DEV        7ull
#define NO_EXECUTE (-256)

static struct xs_sched *make(const char *policy)
{
    struct xs_sched *s = xs_sched_new(xs_policy_by_name(policy), NULL, NULL, NULL);

    assert_non_null(s);
    return s;
}

static void alone_nobody_rings(void **state)
{
    struct xs_sched *s = make("HPF");
    struct proc p = world_join(s, 1, NULL, false);

    (void)state;
    world_queue(&p, 0, DEV, 0, 1 * MS);
    assert_int_equal(world_step(s, &p, 1, 1 * MS), UINT64_MAX);
    assert_true(world_open(&p, 0));
    assert_int_equal(atomic_load(&p.server->cells[0].armed), 0);
    assert_int_equal(atomic_load(&p.server->cells[0].inflight_us), 2000);
    assert_false(world_submit(&p, 0, 5, MS));
    assert_int_equal(world_step(s, &p, 1, 2 * MS), UINT64_MAX);
    assert_false(xs_sched_contended(s));
    assert_false(xs_sched_renew_leases(s, 2 * MS));
    xs_sched_free(s);
    world_free(&p);
}

static void high_holds_low_and_lingers(void **state)
{
    struct xs_sched *s = make("HPF");
    struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 2, NULL, false) };
    uint64_t t = MS, next;

    (void)state;
    world_queue(&w[0], 0, DEV, 0, t);
    world_queue(&w[1], 3, DEV, 10, t);
    world_step(s, w, 2, t);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 1000);
    assert_int_equal(atomic_load(&w[1].server->cells[3].inflight_us), 1000);
    /* both idle: both open, both armed */
    assert_true(world_open(&w[0], 0) && world_open(&w[1], 3));
    assert_true(world_submit(&w[0], 0, 100, MS));
    next = world_step(s, w, 2, t += US);
    assert_int_equal(next, UINT64_MAX);        /* nobody waits, nobody polls */
    assert_false(world_submit(&w[0], 0, 1, MS));
    assert_true(world_open(&w[1], 3));         /* the high side would start at once */

    assert_true(world_submit(&w[1], 3, 2, MS));
    next = world_step(s, w, 2, t += US);
    assert_false(world_open(&w[0], 0));
    assert_true(world_open(&w[1], 3));
    assert_int_equal(atomic_load(&w[1].server->cells[3].armed), XS_ARMED_IDLE);
    assert_true(next < t + 2 * MS);
    assert_true(xs_sched_contended(s));
    assert_true(xs_sched_renew_leases(s, t));
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), t + XS_LEASE_NS);
    assert_int_equal(atomic_load(&w[1].server->h.lease_until_ns), 0);

    assert_false(world_complete(&w[1], 3, 1, MS));
    assert_true(world_complete(&w[1], 3, 1, MS));
    next = world_step(s, w, 2, t += 2 * MS);
    assert_false(world_open(&w[0], 0));        /* lingers */
    assert_true(next <= t + 100 * US);
    /* it comes back within the linger: the low side never ran */
    assert_true(world_submit(&w[1], 3, 1, MS));
    world_step(s, w, 2, t += 50 * US);
    world_step(s, w, 2, t += 90 * US);
    assert_false(world_open(&w[0], 0));
    assert_true(world_complete(&w[1], 3, 1, MS));
    world_step(s, w, 2, t += MS);
    world_step(s, w, 2, t += 99 * US);
    assert_false(world_open(&w[0], 0));
    next = world_step(s, w, 2, t += 1 * US);
    assert_true(world_open(&w[0], 0));
    assert_int_equal(next, UINT64_MAX);
    assert_false(xs_sched_contended(s));
    assert_false(xs_sched_renew_leases(s, t));
    xs_sched_free(s);
    world_free(&w[0]);
    world_free(&w[1]);
}


/* Two processes, low in w[0] cell 0, high in w[1] cell 0, both idle. */
static struct xs_sched *pair(struct proc w[2], const char *policy, int32_t low, int32_t high)
{
    struct xs_sched *s = make(policy);

    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, DEV, low, MS);
    world_queue(&w[1], 0, DEV, high, MS);
    world_step(s, w, 2, MS);
    return s;
}

static void done(struct xs_sched *s, struct proc *w, size_t n)
{
    xs_sched_free(s);
    for (size_t i = 0; i < n; i++)
        world_free(&w[i]);
}

static void estimated_end_and_looks(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;

    (void)state;
    w[1].device_marks = true;
    world_submit(&w[1], 0, 1, MS);
    world_complete(&w[1], 0, 1, MS);          /* so it is known that the device marks */
    world_step(s, w, 2, t);
    world_submit(&w[0], 0, 10, MS);
    world_submit(&w[1], 0, 3, MS);
    next = world_step(s, w, 2, t += MS);
    assert_int_equal(next, t + 3 * MS);       /* the estimated end */
    assert_false(world_open(&w[0], 0));
    /* one of three is done by then: progress, so the estimated end again */
    assert_false(world_complete(&w[1], 0, 1, MS));
    next = xs_sched_run(s, t = next);
    assert_int_equal(next, t + 2 * MS);
    /* overdue: every 10 us, growing to 1 ms */
    next = xs_sched_run(s, t = next);
    for (unsigned i = 0; i < 12; i++) {
        assert_true(next >= t + 10 * US && next <= t + MS + MS);
        next = xs_sched_run(s, t = next);
    }
    assert_false(world_complete(&w[1], 0, 2, MS));
    next = xs_sched_run(s, t = next);         /* nobody rang: a look found it */
    assert_int_equal(next, t + 100 * US);     /* lingers */
    xs_sched_run(s, t = next);
    assert_true(world_open(&w[0], 0));
    done(s, w, 2);
}

static void bell_overflow_and_lies(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    struct xs_sched_counters c;
    uint64_t t = 2 * MS;

    (void)state;
    for (unsigned i = 0; i < 600; i++)
        world_submit(&w[0], 0, 1, US);
    world_step(s, w, 2, t);
    xs_sched_counters(s, &c);
    assert_int_equal(c.rescans, 1);
    assert_true(world_submit(&w[1], 0, 1, MS));
    world_step(s, w, 2, t += US);
    assert_false(world_open(&w[0], 0));
    /* a ring that is counted but not written yet: everything of that process is looked at */
    world_complete(&w[1], 0, 1, MS);
    atomic_fetch_add(&w[1].client->h.bell_count, 1);
    world_step(s, w, 2, t += US);
    xs_sched_counters(s, &c);
    assert_int_equal(c.rescans, 2);
    world_step(s, w, 2, t += MS);
    assert_true(world_open(&w[0], 0));
    /* cells that are not there, and a count that jumps back */
    xs_page_ring(w[1].client, w[1].server, 16383);
    xs_page_ring(w[1].client, w[1].server, 77);
    world_step(s, w, 2, t += US);
    atomic_store(&w[1].client->h.bell_count, 3);
    world_step(s, w, 2, t += US);
    atomic_store(&w[1].client->h.bell_count, UINT64_MAX);
    world_step(s, w, 2, t += US);
    xs_sched_counters(s, &c);
    assert_int_equal(c.rescans, 4);
    done(s, w, 2);
}

static void hostile_words(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "CFS", 0, 0);
    struct xs_client_cell *bad = &w[1].client->cells[0];
    struct xs_sched_queue_status st;
    struct xs_sched_queue *q;
    uint64_t t = 2 * MS;

    (void)state;
    q = world_queue(&w[1], 1, DEV, 0, t);
    bad = &w[1].client->cells[1];
    atomic_store(&bad->completed, 1000);            /* more than entered */
    atomic_store(&bad->marked, UINT64_MAX);
    atomic_store(&bad->returned, UINT64_MAX);
    atomic_store(&bad->est_completed_ns, UINT64_MAX);
    atomic_store(&bad->est_entered_ns, UINT64_MAX);
    atomic_store(&bad->inherit, 3);
    atomic_store(&bad->inherit_priority, INT32_MAX);
    xs_page_ring(w[1].client, w[1].server, 1);
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_false(st.ready);
    assert_int_equal(st.completed, 0);
    assert_true(st.service_ns <= t);                /* no more than time has passed */
    atomic_store(&bad->marked, 0);
    atomic_store(&bad->completed, 0);
    atomic_store(&bad->entered, 10);
    xs_page_ring(w[1].client, w[1].server, 1);
    world_submit(&w[0], 0, 3, MS);
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_true(st.ready);
    atomic_store(&bad->completed, 7);
    xs_page_ring(w[1].client, w[1].server, 1);
    world_step(s, w, 2, t += MS);
    atomic_store(&bad->entered, 2);                 /* numbers that shrink are not believed */
    atomic_store(&bad->completed, 1);
    xs_page_ring(w[1].client, w[1].server, 1);
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_int_equal(st.entered, 10);
    assert_int_equal(st.completed, 7);
    assert_true(st.ready);
    for (unsigned i = 0; i < 1000; i++) {           /* whatever they hold, it goes on */
        uint64_t x = i * 0x9e3779b97f4a7c15ull;

        for (size_t k = 0; k < sizeof(*bad); k++)
            ((unsigned char *)bad)[k] = (unsigned char)(x >> (k % 8 * 8) ^ k * i);
        xs_page_ring(w[1].client, w[1].server, 1);
        t += 700 * US;
        assert_true(world_step(s, w, 2, t) >= t);
    }
    done(s, w, 2);
}

static void stall_lets_the_held_run(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
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
    done(s, w, 2);
}

static void a_long_command_is_no_stall(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
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
    done(s, w, 2);
}

static void quiet_queue_is_inferred_idle(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    struct xs_sched_counters c;
    uint64_t t = 2 * MS, start = t, next;

    (void)state;
    world_submit(&w[0], 0, 50, MS);
    world_submit(&w[1], 0, 4, MS);                  /* its completions will never be told */
    next = world_step(s, w, 2, t);
    while (!world_open(&w[0], 0))
        next = xs_sched_run(s, t = next);
    assert_in_range(t - start, 54 * MS, 57 * MS);   /* 4 ms of work, 50 ms of silence */
    xs_sched_counters(s, &c);
    assert_int_equal(c.stalls, 0);
    assert_int_equal(atomic_load(&w[1].server->cells[0].armed), XS_ARMED_SUBMIT);
    assert_true(world_submit(&w[1], 0, 1, MS));     /* it counts again with the next submit */
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    /* somebody inside a call: that is not silence */
    atomic_fetch_sub(&w[1].client->cells[0].returned, 1);
    for (next = start = t; next < start + 500 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_false(world_open(&w[0], 0));
    done(s, w, 2);
}

static void recreated_queue_has_its_own_hints(void **state)
{
    struct proc w[2];
    struct xs_sched *s = make("HPF");
    struct xs_sched_queue *q;
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, DEV, 5, t);
    q = world_queue(&w[1], 0, DEV, 10, t);
    world_step(s, w, 2, t);
    world_submit(&w[0], 0, 9, MS);
    world_submit(&w[1], 0, 9, MS);
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    xs_sched_queue_remove(s, q, t);
    xs_sched_run(s, t);
    assert_true(world_open(&w[0], 0));
    memset(&w[1].client->cells[0], 0, sizeof(w[1].client->cells[0]));
    world_queue(&w[1], 0, DEV, 0, t);               /* the same cell, priority 0 now */
    world_step(s, w, 2, t += US);
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, t += US);
    assert_true(world_open(&w[0], 0));
    assert_false(world_open(&w[1], 0));
    done(s, w, 2);
}

static void no_execute_never_runs(void **state)
{
    struct proc w[1];
    struct xs_sched *s = make("UP");                /* whatever the policy */
    struct xs_hints h = world_hints;
    struct xs_sched_queue *q;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);
    world_queue(&w[0], 0, DEV, 0, MS);
    q = world_queue(&w[0], 1, DEV, NO_EXECUTE, MS);
    world_submit(&w[0], 0, 1, MS);
    world_submit(&w[0], 1, 1, MS);
    world_step(s, w, 1, MS);
    assert_true(world_open(&w[0], 0));              /* its neighbour does */
    assert_false(world_open(&w[0], 1));
    xs_sched_queue_set_hints(s, q, &h);
    xs_sched_run(s, 2 * MS);
    assert_true(world_open(&w[0], 1));
    done(s, w, 1);
}

static void operator_holds_a_process(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
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
    done(s, w, 2);
}

static void policy_changes_at_run_time(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
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
    done(s, w, 2);
}

static void devices_apart_and_together(void **state)
{
    struct proc w[2];
    struct xs_sched *s = make("HPF");
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
    done(s, w, 2);
}

static void gangs_intra_and_inherit(void **state)
{
    struct proc w[3];
    struct xs_sched *s = make("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, false);           /* a gang of two */
    w[1] = world_join(s, 2, NULL, true);            /* two entities */
    w[2] = world_join(s, 3, NULL, false);
    world_queue(&w[0], 0, DEV, 0, t);
    world_queue(&w[0], 1, DEV, 5, t);
    world_queue(&w[1], 0, DEV, 1, t);
    world_queue(&w[1], 1, DEV, 5, t);
    world_queue(&w[2], 0, DEV, 3, t);
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
    done(s, w, 3);
}

/* Under a policy that knows no priorities, too, a provider runs while its waiter does. */
static void inherit_without_priorities(void **state)
{
    struct proc w[1];
    struct xs_sched *s = make("UP");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, NULL, true);
    world_queue(&w[0], 0, DEV, 0, t);
    world_queue(&w[0], 1, DEV, 0, t);
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
    done(s, w, 1);
}

static void groups_are_one_gang(void **state)
{
    struct proc w[3];
    struct xs_sched *s = make("HPF");
    uint64_t t = MS;

    (void)state;
    w[0] = world_join(s, 1, "job", false);
    w[1] = world_join(s, 2, "job", false);
    w[2] = world_join(s, 3, NULL, false);
    world_queue(&w[0], 0, DEV, 0, t);
    world_queue(&w[1], 0, DEV, 10, t);
    world_queue(&w[2], 0, DEV, 5, t);
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
    done(s, w, 3);
}

static void dead_process_takes_its_window_along(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "AWF", 0, 0);
    uint64_t t = 2 * MS;

    (void)state;
    xs_sched_process_set_window(s, w[1].p, true);
    world_submit(&w[0], 0, 5, MS);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t);
    assert_false(world_open(&w[0], 0));
    xs_sched_process_remove(s, w[1].p, t);
    munmap(w[1].client, sizeof(*w[1].client));      /* nothing of its pages is touched any more */
    munmap(w[1].server, sizeof(*w[1].server));
    xs_sched_run(s, t += US);
    assert_true(world_open(&w[0], 0));
    xs_sched_renew_leases(s, t);
    xs_sched_run(s, t += MS);
    done(s, w, 1);
}

static void leases(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;

    (void)state;
    world_submit(&w[0], 0, 5, MS);
    world_step(s, w, 2, t);
    assert_false(xs_sched_renew_leases(s, t));
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), 0);
    world_submit(&w[1], 0, 5, MS);
    world_step(s, w, 2, t += MS);
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), t + XS_LEASE_NS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].suspensions), 1);
    assert_true(xs_sched_renew_leases(s, t += 100 * MS));
    assert_int_equal(atomic_load(&w[0].server->h.lease_until_ns), t + XS_LEASE_NS);
    assert_int_equal(atomic_load(&w[1].server->h.lease_until_ns), 0);
    done(s, w, 2);
}

static void *sleeper(void *arg)
{
    struct proc *p = arg;

    atomic_fetch_add(&p->client->cells[0].waiters, 1);
    while (atomic_load(&p->server->cells[0].permitted) == XS_PERMIT_CLOSED)
        xs_futex_wait(xs_futex_low(&p->server->cells[0].permitted), 0, UINT64_MAX);
    atomic_fetch_sub(&p->client->cells[0].waiters, 1);
    return NULL;
}

static void opening_wakes(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {             /* by a decision, by removal, by the end of all */
        struct proc w[2];
        struct xs_sched *s = pair(w, "HPF", 0, 10);
        pthread_t thread;

        world_submit(&w[0], 0, 5, MS);
        world_submit(&w[1], 0, 5, MS);
        world_step(s, w, 2, 2 * MS);
        assert_false(world_open(&w[0], 0));
        assert_int_equal(pthread_create(&thread, NULL, sleeper, &w[0]), 0);
        while (atomic_load(&w[0].client->cells[0].waiters) == 0)
            sched_yield();
        if (how == 0) {
            xs_sched_process_set_held(s, w[1].p, true);
            xs_sched_run(s, 3 * MS);
        } else if (how == 1) {
            xs_sched_process_remove(s, w[0].p, 3 * MS);
        } else {
            xs_sched_free(s);
            s = NULL;
        }
        pthread_join(thread, NULL);
        done(s, w, 2);
    }
}

static void bad_arguments(void **state)
{
    struct xs_sched *s = make("HPF");
    struct proc p = world_join(s, 1, NULL, false);

    (void)state;
    assert_null(xs_sched_queue_add(s, p.p, 1, DEV, XS_PAGE_QUEUES, &world_hints, MS, NULL));
    world_queue(&p, 5, DEV, 0, MS);
    assert_null(xs_sched_queue_add(s, p.p, 2, DEV, 5, &world_hints, MS, NULL));
    assert_null(xs_sched_new(NULL, NULL, NULL, NULL));
    done(s, &p, 1);
}

/* Whatever happened: where something is ready, something that is ready may run (not under SPUP,
 * where a slice may be nobody's). */
static void someone_runs(struct xs_sched *s, struct proc *w, struct xs_sched_queue *q[6][8], const bool *held)
{
    const struct xs_policy_ops *policy = xs_sched_policy(s);
    unsigned ready[4] = { 0 }, open[4] = { 0 };

    if (policy->type == 6)
        return;
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 8; k++) {
            const struct xs_client_cell *c = &w[i].client->cells[k];
            struct xs_sched_queue_status st;
            unsigned d;

            if (!q[i][k] || held[i] || atomic_load(&c->completed) == atomic_load(&c->entered))
                continue;
            xs_sched_queue_status(q[i][k], 0, &st);
            if (!st.ready) /* inferred */
                continue;
            assert_int_equal(st.permitted, world_open(&w[i], k));
            d = policy->scope == XS_SCOPE_HOST ? 0 : (unsigned)st.device;
            ready[d]++;
            open[d] += st.permitted;
        }
    }
    for (unsigned d = 0; d < 4; d++) {
        if (ready[d] > 0 && open[d] == 0)
            fail_msg("%s: %u queues of device %u are ready, and none may run", policy->name, ready[d], d);
    }
}

static void joins_and_leaves_in_any_order(void **state)
{
    bool held[6] = { false };
    struct xs_sched *s = make("CFS");
    struct proc w[6];
    struct xs_sched_queue *q[6][8] = { { NULL } };
    uint64_t t = MS, x = 1;

    (void)state;
    for (uint64_t i = 0; i < 6; i++)
        w[i] = world_join(s, i + 1, i >= 4 ? "pair" : NULL, i % 2);
    for (unsigned n = 0; n < 20000; n++) {
        unsigned i, k;

        x = x * 6364136223846793005ull + 1442695040888963407ull;
        i = (unsigned)(x >> 33) % 6;
        k = (unsigned)(x >> 40) % 8;
        switch (x >> 60) {
        case 0: case 1:
            if (q[i][k])
                xs_sched_queue_remove(s, q[i][k], t);
            q[i][k] = NULL;
            break;
        case 2: case 3: case 4: case 5:
            if (!q[i][k])
                q[i][k] = world_queue(&w[i], k, 1 + (x >> 50) % 3, (int32_t)(x >> 45) % 10, t);
            break;
        case 6:
            xs_sched_set_policy(s, xs_policies[(x >> 30) % xs_policies_count]);
            break;
        case 7:
            held[i] = x >> 59 & 1;
            xs_sched_process_set_held(s, w[i].p, held[i]);
            break;
        case 8: case 9: case 10: case 11:
            if (q[i][k])
                world_submit(&w[i], k, 1, MS);
            break;
        default:
            if (atomic_load(&w[i].client->cells[k].completed) < atomic_load(&w[i].client->cells[k].entered))
                world_complete(&w[i], k, 1, MS);
        }
        world_step(s, w, 6, t += (x >> 20) % (300 * US));
        xs_sched_renew_leases(s, t);
        if (n % 8 == 0) { /* past the linger */
            world_step(s, w, 6, t += 50 * US);
            for (unsigned r = 0; r < 3; r++)
                world_step(s, w, 6, t += 100 * US);
            someone_runs(s, w, q, held);
        }
    }
    for (unsigned i = 0; i < 6; i++)
        xs_sched_process_remove(s, w[i].p, t);
    for (unsigned i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 8; k++)
            assert_true(!q[i][k] || world_open(&w[i], k));
    }
    done(s, w, 6);
}

/* The moments between looking and arming, forced: the process acts inside the hooks, which are
 * called after the words were read and before the queue is armed. */
struct between {
    struct proc *w;
    bool submit, complete, rang;
};

static void between_ready(void *ctx, struct xs_sched_queue *q, bool ready, uint64_t now_ns)
{
    struct between *b = ctx;

    (void)q;
    (void)now_ns;
    if (!ready && b->submit) {
        b->submit = false;
        b->rang = world_submit(&b->w[1], 0, 1, MS);
    }
}

static void between_permit(void *ctx, struct xs_sched_queue *q, bool run, uint64_t now_ns)
{
    struct between *b = ctx;

    (void)q;
    (void)now_ns;
    if (!run && b->complete) {
        b->complete = false;
        b->rang = world_complete(&b->w[1], 0, 1, MS);
    }
}

static void nothing_is_missed_between_look_and_arm(void **state)
{
    struct xs_sched_ops ops = { .on_permit = between_permit, .on_ready = between_ready };
    struct proc w[2];
    struct between b = { .w = w };
    struct xs_sched_config config;
    struct xs_sched *s;
    uint64_t t = MS;

    (void)state;
    xs_sched_config_defaults(&config);
    config.linger_ns = 0;
    s = xs_sched_new(xs_policy_by_name("HPF"), &config, &ops, &b);
    assert_non_null(s);
    w[0] = world_join(s, 1, NULL, false);
    w[1] = world_join(s, 2, NULL, false);
    world_queue(&w[0], 0, DEV, 0, t);
    world_queue(&w[1], 0, DEV, 10, t);
    world_step(s, w, 2, t);
    world_submit(&w[0], 0, 100, MS);
    world_submit(&w[1], 0, 1, MS);
    b.complete = true;                              /* it ends as the low side is being held */
    world_step(s, w, 2, t += MS);
    assert_false(b.rang);
    assert_true(world_open(&w[0], 0));
    assert_true(world_submit(&w[1], 0, 1, MS));
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    assert_true(world_complete(&w[1], 0, 1, MS));
    b.submit = true;                                /* it goes on as it is found idle */
    world_step(s, w, 2, t += MS);
    assert_false(b.rang);
    assert_false(world_open(&w[0], 0));
    assert_true(world_complete(&w[1], 0, 1, MS));   /* and its end is awaited */
    world_step(s, w, 2, t += MS);
    assert_true(world_open(&w[0], 0));
    done(s, w, 2);
}

/* Two of equal standing that come and go: nobody is held, so nobody has to ring. */
static void sharing_in_peace_costs_nothing(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 0);
    struct xs_sched_counters c;
    uint64_t t = 2 * MS;
    unsigned rings = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        for (unsigned k = 0; k < 2; k++) {
            rings += world_submit(&w[k], 0, 1, MS);
            world_step(s, w, 2, t += US);
        }
        for (unsigned k = 0; k < 2; k++)
            rings += world_complete(&w[k], 0, 1, MS);
    }
    assert_in_range(rings, 1, 4);
    xs_sched_counters(s, &c);
    assert_in_range(c.decisions, 1, 8);
    done(s, w, 2);
}

/* The urgent one ended while nobody waited, and nobody was told. What is held for it meanwhile is
 * idle, and opens in the end; then there is no timer and no lease any more. */
static void nothing_stays_closed_for_nothing(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;

    (void)state;
    world_submit(&w[1], 0, 1, MS);
    next = world_step(s, w, 2, t);
    assert_false(world_open(&w[0], 0));
    assert_true(xs_sched_renew_leases(s, t));
    assert_int_equal(next, t + 100 * MS);
    next = world_step(s, w, 2, t = next);           /* it still works */
    assert_false(world_open(&w[0], 0));
    assert_int_equal(next, t + 100 * MS);
    assert_false(world_complete(&w[1], 0, 1, MS));
    next = world_step(s, w, 2, t = next);
    assert_true(world_open(&w[0], 0));
    assert_int_equal(next, UINT64_MAX);
    assert_false(xs_sched_renew_leases(s, t));
    assert_true(world_submit(&w[1], 0, 1, MS));
    done(s, w, 2);
}

/* The same, and the low one comes before anybody looked: it runs at once. */
static void stale_urgent_holds_nobody(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;

    (void)state;
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, t);
    world_complete(&w[1], 0, 1, MS);
    assert_true(world_submit(&w[0], 0, 1, MS));
    world_step(s, w, 2, t += MS);
    assert_true(world_open(&w[0], 0));
    assert_true(world_submit(&w[1], 0, 1, MS));
    world_step(s, w, 2, t += MS);
    assert_false(world_open(&w[0], 0));
    done(s, w, 2);
}

/* Gaps of 250 us between commands: after the first ones the low side does not run in them. A long
 * absence makes it the configured 100 us again. */
static void linger_adapts(void **state)
{
    struct proc w[2];
    struct xs_sched *s = pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;
    unsigned opened[10] = { 0 };

    (void)state;
    world_submit(&w[0], 0, 100, MS);
    world_step(s, w, 2, t);
    for (unsigned i = 0; i < 10; i++) {
        world_submit(&w[1], 0, 1, MS);
        world_step(s, w, 2, t += US);
        world_complete(&w[1], 0, 1, MS);
        world_step(s, w, 2, t += MS);
        for (unsigned k = 0; k < 5; k++) {
            world_step(s, w, 2, t += 50 * US);
            opened[i] |= world_open(&w[0], 0);
        }
    }
    assert_true(opened[0] && opened[1]);
    for (unsigned i = 2; i < 10; i++)
        assert_false(opened[i]);
    world_step(s, w, 2, t += 10 * MS);
    assert_true(world_open(&w[0], 0));
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, t += MS);
    world_complete(&w[1], 0, 1, MS);
    next = world_step(s, w, 2, t += MS);
    assert_int_equal(next, t + 100 * US);
    done(s, w, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nobody_rings),
        cmocka_unit_test(high_holds_low_and_lingers),
        cmocka_unit_test(estimated_end_and_looks),
        cmocka_unit_test(bell_overflow_and_lies),
        cmocka_unit_test(hostile_words),
        cmocka_unit_test(stall_lets_the_held_run),
        cmocka_unit_test(a_long_command_is_no_stall),
        cmocka_unit_test(quiet_queue_is_inferred_idle),
        cmocka_unit_test(recreated_queue_has_its_own_hints),
        cmocka_unit_test(no_execute_never_runs),
        cmocka_unit_test(operator_holds_a_process),
        cmocka_unit_test(policy_changes_at_run_time),
        cmocka_unit_test(devices_apart_and_together),
        cmocka_unit_test(gangs_intra_and_inherit),
        cmocka_unit_test(inherit_without_priorities),
        cmocka_unit_test(groups_are_one_gang),
        cmocka_unit_test(dead_process_takes_its_window_along),
        cmocka_unit_test(leases),
        cmocka_unit_test(opening_wakes),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(nothing_is_missed_between_look_and_arm),
        cmocka_unit_test(sharing_in_peace_costs_nothing),
        cmocka_unit_test(nothing_stays_closed_for_nothing),
        cmocka_unit_test(stale_urgent_holds_nobody),
        cmocka_unit_test(linger_adapts),
        cmocka_unit_test(joins_and_leaves_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
