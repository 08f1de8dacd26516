/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver makes of the shared words: who is ready, who is asked to ring, where it looks. */
#include "world.h"

static void alone_nobody_rings(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc p = world_join(s, 1, NULL, false);

    (void)state;
    world_queue(&p, 0, WORLD_DEVICE, 0, 1 * MS);
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

static void bound_follows_standing(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 2, NULL, false) };
    struct xs_sched_queue *q;
    struct xs_hints h;

    (void)state;
    q = world_queue(&w[0], 0, WORLD_DEVICE, 5, MS);
    world_queue(&w[1], 3, WORLD_DEVICE, 5, MS);
    world_step(s, w, 2, MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 850); /* all alike: by turns */
    assert_int_equal(atomic_load(&w[1].server->cells[3].inflight_us), 850);
    h = *xs_sched_queue_hints(q);
    h.priority = 6;
    xs_sched_queue_set_hints(s, q, &h);
    world_step(s, w, 2, 2 * MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 8000);
    assert_int_equal(atomic_load(&w[1].server->cells[3].inflight_us), 850);
    h.priority = 4;
    xs_sched_queue_set_hints(s, q, &h);
    world_step(s, w, 2, 3 * MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 850);
    assert_int_equal(atomic_load(&w[1].server->cells[3].inflight_us), 8000);
    xs_sched_free(s);
    world_free(&w[0]);
    world_free(&w[1]);
}

static void high_holds_low_and_lingers(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 2, NULL, false) };
    uint64_t t = MS, next;

    (void)state;
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[1], 3, WORLD_DEVICE, 10, t);
    world_step(s, w, 2, t);
    assert_int_equal(atomic_load(&w[0].server->cells[0].inflight_us), 850);
    assert_int_equal(atomic_load(&w[1].server->cells[3].inflight_us), 8000); /* held for nobody */
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

#define GAPS 10u

/* The urgent side leaves gaps of such a length between commands of a millisecond. @param opened  whether the
 * low side ran in each */
static void leave_gaps(struct proc *w, struct xs_sched *s, uint64_t *t, uint64_t gap_ns, bool opened[GAPS])
{
    world_submit(&w[0], 0, 100, MS);
    world_step(s, w, 2, *t);
    for (unsigned i = 0; i < GAPS; i++) {
        world_submit(&w[1], 0, 1, MS);
        world_step(s, w, 2, *t += US);
        world_complete(&w[1], 0, 1, MS);
        world_step(s, w, 2, *t += MS);
        opened[i] = false;
        for (uint64_t end = *t + gap_ns; *t < end;) {
            world_step(s, w, 2, *t += 50 * US);
            opened[i] |= world_open(&w[0], 0);
        }
    }
}

/* Gaps of 250 us between commands: after the first ones the low side does not run in them. A long
 * absence makes it the configured 100 us again. */
static void linger_adapts(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS, next;
    bool opened[GAPS];

    (void)state;
    leave_gaps(w, s, &t, 250 * US, opened);
    assert_true(opened[0] && opened[1]);
    for (unsigned i = 2; i < GAPS; i++)
        assert_false(opened[i]);
    world_step(s, w, 2, t += 10 * MS);
    assert_true(world_open(&w[0], 0));
    world_submit(&w[1], 0, 1, MS);
    world_step(s, w, 2, t += MS);
    world_complete(&w[1], 0, 1, MS);
    next = world_step(s, w, 2, t += MS);
    assert_int_equal(next, t + 100 * US);
    world_done(s, w, 2);
}

/* After how many of ten gaps of such a length the low side runs in them no longer; 10: it always does. */
static unsigned gaps_until_held(uint64_t gap_ns)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;
    bool opened[GAPS];
    unsigned n = GAPS;

    leave_gaps(w, s, &t, gap_ns, opened);
    while (n > 0 && !opened[n - 1])
        n--;
    world_done(s, w, 2);
    return n;
}

/* A pause of half a millisecond is worth no two changes of the device; one of a millisecond is. */
static void linger_covers_short_pauses(void **state)
{
    (void)state;
    assert_int_equal(gaps_until_held(500 * US), 3);
    assert_int_equal(gaps_until_held(700 * US), 3);
    assert_int_equal(gaps_until_held(1000 * US), 10);
}

static void estimated_end_and_looks(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
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
    world_done(s, w, 2);
}

static void bell_overflow_and_lies(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
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
    world_done(s, w, 2);
}

static void hostile_words(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "CFS", 0, 0);
    struct xs_client_cell *bad = &w[1].client->cells[0];
    struct xs_sched_queue_status st;
    struct xs_sched_queue *q;
    uint64_t t = 2 * MS;

    (void)state;
    q = world_queue(&w[1], 1, WORLD_DEVICE, 0, t);
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
    world_done(s, w, 2);
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
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
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
    world_done(s, w, 2);
}

static void quiet_queue_is_inferred_idle(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
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
    world_done(s, w, 2);
}

/* Its memory went out, so its work has ended, though nobody told. It is idle, and rings with the next command: otherwise
 * nobody would know that it needs its memory. */
static void of_one_whose_memory_is_out_all_work_has_ended(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[2] = { world_join(s, 1, NULL, false), world_join(s, 2, NULL, false) };
    struct xs_sched_queue_status st;
    struct xs_sched_queue *q;
    uint64_t t = MS;

    (void)state;
    world_queue(&w[0], 0, WORLD_DEVICE, 0, t);
    q = world_queue(&w[1], 0, WORLD_DEVICE, 10, t);
    world_step(s, w, 2, t);
    world_submit(&w[1], 0, 4, MS);
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_true(st.ready && st.permitted);
    xs_sched_process_say_absent(w[1].p, true);
    xs_sched_queue_follow_held(s, q);
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_false(st.ready);
    assert_false(st.permitted);
    assert_int_equal(atomic_load(&w[1].server->cells[0].armed), XS_ARMED_SUBMIT);
    atomic_fetch_add(&w[1].client->cells[0].waiters, 1);   /* a thread waits for the permit */
    assert_true(world_submit(&w[1], 0, 0, MS));            /* and rings */
    world_step(s, w, 2, t += MS);
    xs_sched_queue_status(q, t, &st);
    assert_true(st.ready && !st.permitted);
    world_done(s, w, 2);
}

/* The same where it is alone: such a one rings for nobody else. */
static void alone_without_memory_it_rings(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc w[1] = { world_join(s, 1, NULL, false) };
    struct xs_sched_queue *q = world_queue(&w[0], 0, WORLD_DEVICE, 0, MS);

    (void)state;
    world_step(s, w, 1, MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].armed), 0);
    xs_sched_process_say_absent(w[0].p, true);
    xs_sched_queue_follow_held(s, q);
    world_step(s, w, 1, 2 * MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].armed), XS_ARMED_SUBMIT);
    xs_sched_process_say_absent(w[0].p, false);
    xs_sched_queue_follow_held(s, q);
    world_step(s, w, 1, 3 * MS);
    assert_int_equal(atomic_load(&w[0].server->cells[0].armed), 0);
    world_done(s, w, 1);
}

static unsigned g_marks_wanted;

static void mark_wanted(void *ctx, struct xs_sched_queue *q)
{
    (void)ctx;
    (void)q;
    g_marks_wanted++;
}

/* While a mark is on its way that tells of the end of all that was submitted, nothing is inferred,
 * however long it takes; and where none is, one is asked for. */
static void a_mark_on_its_way_is_waited_for(void **state)
{
    static const struct xs_sched_ops ops = { .on_mark_wanted = mark_wanted };
    struct xs_sched_config config;
    struct xs_sched *s;
    struct proc w[2];
    uint64_t t = 2 * MS, next, start;

    (void)state;
    g_marks_wanted = 0;
    xs_sched_config_defaults(&config);
    config.stall_ns = 0;
    s = xs_sched_new(xs_policy_by_name("HPF"), &config, &ops, NULL);
    for (int i = 0; i < 2; i++) {
        w[i] = world_join(s, (uint64_t)i + 1, NULL, false);
        world_queue(&w[i], 0, WORLD_DEVICE, 10 * i, MS);
    }
    atomic_store(&w[1].client->cells[0].completed, UINT32_MAX - 1u); /* the word is the low half */
    atomic_store(&w[1].client->cells[0].entered, UINT32_MAX - 1u);
    atomic_store(&w[1].client->cells[0].returned, UINT32_MAX - 1u);
    world_step(s, w, 2, MS);
    world_submit(&w[0], 0, 50, MS);
    world_submit(&w[1], 0, 4, MS);
    atomic_store(&w[1].client->cells[0].marked_to, 2);
    next = world_step(s, w, 2, t);
    for (start = t; next < start + 3000 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_false(world_open(&w[0], 0));
    assert_int_equal(g_marks_wanted, 0);
    world_submit(&w[1], 0, 1, MS);                  /* one more, behind that mark */
    next = world_step(s, w, 2, t += 1);
    for (start = t; next < start + 40 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_int_equal(g_marks_wanted, 1);            /* once */
    assert_false(world_open(&w[0], 0));
    atomic_fetch_add(&w[1].client->cells[0].entered, 1); /* one is inside a call; a thread at the gate may count twice */
    atomic_store(&w[1].client->cells[0].waiters, 2);
    for (start = t; next < start + 20 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_int_equal(g_marks_wanted, 1);            /* for the same commands */
    atomic_fetch_add(&w[1].client->cells[0].returned, 1);
    for (start = t; next < start + 20 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_int_equal(g_marks_wanted, 2);            /* for one more */
    atomic_store(&w[1].client->cells[0].waiters, 0);
    atomic_store(&w[1].client->cells[0].marked_to, 4);
    for (start = t; next < start + 3000 * MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_false(world_open(&w[0], 0));
    assert_true(world_complete(&w[1], 0, 6, MS));
    next = world_step(s, w, 2, t += 1);
    for (start = t; next < start + MS;)
        next = xs_sched_run(s, t = XS_MAX(next, t + 1));
    assert_true(world_open(&w[0], 0));
    assert_int_equal(g_marks_wanted, 2);            /* nobody waits for the low side */
    world_done(s, w, 2);
}

/* Two of equal standing that come and go: nobody is held, so nobody has to ring. */
static void sharing_in_peace_costs_nothing(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 0);
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
    world_done(s, w, 2);
}

/* The urgent one ended while nobody waited, and nobody was told. What is held for it meanwhile is
 * idle, and opens in the end; then there is no timer and no lease any more. */
static void nothing_stays_closed_for_nothing(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
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
    world_done(s, w, 2);
}

/* The same, and the low one comes before anybody looked: it runs at once. */
static void stale_urgent_holds_nobody(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
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
    world_done(s, w, 2);
}

/* Of several queues that are held together one is looked at before: the others' times are as true. */
static void running_time_of_each_queue(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    struct xs_sched_queue *q[3];
    uint64_t t = 2 * MS, seen[3] = {0};

    (void)state;
    for (uint32_t k = 1; k < 3; k++) /* beside the queue of the pair, which has no work */
        q[k] = world_queue(&w[0], k, WORLD_DEVICE, 0, t);
    for (uint32_t k = 1; k < 3; k++) {
        world_submit(&w[0], k, 10000, MS);
        world_complete(&w[0], k, 1, MS);
    }
    world_step(s, w, 2, t += MS); /* the last time that both are read */
    for (int i = 0; i < 20; i++) {
        for (int step = 0; step < 3; step++) { /* runs for 50 ms, is held for 10, runs again */
            t += step == 0 ? 50 * MS : step == 1 ? MS : 10 * MS;
            if (step == 0) {
                for (uint32_t k = 1; k < 3; k++)
                    world_complete(&w[0], k, 50, MS);
            } else if (step == 1) {
                world_submit(&w[1], 0, 1, MS);
                world_step(s, w, 2, t);
                assert_false(world_open(&w[0], 1) || world_open(&w[0], 2));
            } else {
                world_complete(&w[1], 0, 1, MS);
                world_step(s, w, 2, t);
                world_step(s, w, 2, t += MS);
                assert_true(world_open(&w[0], 1) && world_open(&w[0], 2));
            }
            for (uint32_t k = 1; k < 3; k++) {
                struct xs_sched_queue_status st;

                xs_sched_queue_status(q[k], t, &st);
                assert_true(st.running_ns >= seen[k]);
                seen[k] = st.running_ns;
            }
        }
        assert_true(seen[1] >= (uint64_t)(i + 1) * 50 * MS && seen[1] <= (uint64_t)(i + 1) * 52 * MS);
        assert_true(seen[2] >= (uint64_t)(i + 1) * 50 * MS && seen[2] <= (uint64_t)(i + 1) * 52 * MS);
    }
    world_done(s, w, 2);
}

/* Nobody watches it, and what it received becomes known later: what was told is not taken back. */
static void running_time_never_falls(void **state)
{
    struct xs_sched *s = world_sched("HPF");
    struct proc p = world_join(s, 1, NULL, false);
    struct xs_sched_queue *q = world_queue(&p, 0, WORLD_DEVICE, 0, MS);
    struct xs_sched_queue_status st;

    (void)state;
    world_step(s, &p, 1, MS);
    world_submit(&p, 0, 2, MS);
    xs_page_ring(p.client, p.server, 0);
    world_step(s, &p, 1, MS);
    xs_sched_queue_status(q, 51 * MS, &st);
    assert_int_equal(st.running_ns, 50 * MS);
    world_complete(&p, 0, 1, MS);
    xs_sched_queue_status(q, 52 * MS, &st);
    assert_true(st.running_ns >= 50 * MS);
    world_done(s, &p, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nobody_rings),
        cmocka_unit_test(running_time_of_each_queue),
        cmocka_unit_test(running_time_never_falls),
        cmocka_unit_test(bound_follows_standing),
        cmocka_unit_test(high_holds_low_and_lingers),
        cmocka_unit_test(linger_adapts),
        cmocka_unit_test(linger_covers_short_pauses),
        cmocka_unit_test(estimated_end_and_looks),
        cmocka_unit_test(bell_overflow_and_lies),
        cmocka_unit_test(hostile_words),
        cmocka_unit_test(nothing_is_missed_between_look_and_arm),
        cmocka_unit_test(quiet_queue_is_inferred_idle),
        cmocka_unit_test(of_one_whose_memory_is_out_all_work_has_ended),
        cmocka_unit_test(alone_without_memory_it_rings),
        cmocka_unit_test(a_mark_on_its_way_is_waited_for),
        cmocka_unit_test(sharing_in_peace_costs_nothing),
        cmocka_unit_test(nothing_stays_closed_for_nothing),
        cmocka_unit_test(stale_urgent_holds_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
