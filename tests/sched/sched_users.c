/* SPDX-License-Identifier: Apache-2.0 */
/* Several users on a device: what the standing that one asks for can take from another. Times are exact. */
#include "world.h"

#include <string.h>

#define MOST 6

/* What is played: all of them always have work, and some say from time to time that a command is complete. */
struct play {
    struct xs_sched *s;
    struct proc w[MOST];
    struct xs_sched_queue *q[MOST];
    size_t n;
    uint64_t t;
    uint64_t open_ns[MOST], closed_ns[MOST], worst_ns[MOST]; /* closed: without a break until now */
};

static void begin(struct play *p, const char *policy)
{
    memset(p, 0, sizeof(*p));
    p->s = world_sched(policy);
    p->t = MS;
}

static size_t add(struct play *p, uint64_t user, bool exempt, struct xs_hints hints)
{
    size_t i = p->n++;

    p->w[i] = world_join_as(p->s, (struct xs_sched_process_info){.id = i + 1, .user = user, .exempt = exempt});
    p->q[i] = xs_sched_queue_add(p->s, p->w[i].p, i + 1, WORLD_DEVICE, 0, &hints, p->t, NULL);
    assert_non_null(p->q[i]);
    /* its commands are not on the device while it is suspended: that waits for none of them */
    atomic_store(&p->w[i].client->cells[0].entered, 1000000);
    xs_page_ring(p->w[i].client, p->w[i].server, 0);
    return i;
}

static struct xs_hints with_priority(int32_t priority)
{
    struct xs_hints h = world_hints;

    h.priority = priority;
    return h;
}

static void pass(struct play *p, uint64_t until)
{
    for (size_t i = 0; i < p->n; i++) {
        uint64_t ns = until - p->t;

        if (world_open(&p->w[i], 0)) {
            p->open_ns[i] += ns;
            p->closed_ns[i] = 0;
        } else {
            p->closed_ns[i] += ns;
            p->worst_ns[i] = XS_MAX(p->worst_ns[i], p->closed_ns[i]);
        }
    }
    p->t = until;
}

/* The first `liars` say each 0.4 s that one command is complete, and use no device; the others complete one each 10 ms in
 * which they run. */
static void play(struct play *p, size_t liars, uint64_t length_ns)
{
    uint64_t end = p->t + length_ns, tick = p->t;

    memset(p->open_ns, 0, sizeof(p->open_ns));
    memset(p->worst_ns, 0, sizeof(p->worst_ns));
    while (p->t < end) {
        uint64_t next = world_step(p->s, p->w, p->n, p->t);

        assert_true(next > p->t);
        next = XS_MIN(XS_MIN(next, end), tick + 10 * MS);
        pass(p, next);
        if (p->t < tick + 10 * MS)
            continue;
        tick = p->t;
        for (size_t i = 0; i < p->n; i++)
            if (i < liars ? p->t / (10 * MS) % 40 == 0 : world_open(&p->w[i], 0))
                world_complete(&p->w[i], 0, 1, 10 * US);
    }
    world_step(p->s, p->w, p->n, p->t);
}

static void finish(struct play *p)
{
    world_done(p->s, p->w, p->n);
}

static void assert_percent(const struct play *p, size_t i, double percent, double tolerance, uint64_t length_ns)
{
    double is = 100.0 * (double)p->open_ns[i] / (double)length_ns;

    if (is < percent - tolerance || is > percent + tolerance)
        fail_msg("program %zu ran %.3f %% of the time, not %.3f", i, is, percent);
}

/* Priority 255, no device used, an invented command each 0.4 s: half of an equal share is left to the other user, under
 * whatever policy, and it never waits longer than the window and one slice's wait. */
static void invented_commands_take_a_bounded_part(void **state)
{
    static const struct {
        const char *policy;
        struct xs_hints liar, victim;
    } cases[] = {
        {"HPF", {255, 100, -1, -1, 0, 0}, {0, 100, -1, -1, 0, 0}},
        {"HHPF", {255, 100, -1, -1, 0, 0}, {0, 100, -1, -1, 0, 0}},
        {"CHPF", {0, 100, -1, -1, 0, 0}, {0, 100, -1, -1, 0, 0}},
        {"KEDF", {0, 100, 1, -1, 0, 0}, {0, 100, -1, -1, 0, 0}},
        {"LAX", {0, 100, -1, 0, 0, 255}, {0, 100, -1, -1, 0, 0}},
        {"AWF", {0, 100, -1, -1, 0, 0}, {0, 100, -1, -1, 0, 0}},
    };

    (void)state;
    for (size_t c = 0; c < XS_ARRAY_LEN(cases); c++) {
        struct play p;

        begin(&p, cases[c].policy);
        add(&p, 2001, false, cases[c].liar);
        add(&p, 2000, false, cases[c].victim);
        xs_sched_process_set_cpu_class(p.s, p.w[0].p, 1099);
        xs_sched_process_set_window(p.s, p.w[0].p, true);
        play(&p, 1, 10 * XS_NS_PER_S);
        /* 15 ms waited, then a slice of 5 ms, and so on */
        assert_int_equal(p.worst_ns[1], 15 * MS);
        assert_percent(&p, 1, 25, 0.1, 10 * XS_NS_PER_S);
        /* the liar runs dry for a while: then the other one has less to wait for, not more than the window */
        xs_sched_process_set_held(p.s, p.w[0].p, true);
        play(&p, 1, 2 * XS_NS_PER_S);
        assert_percent(&p, 1, 100, 0.1, 2 * XS_NS_PER_S);
        xs_sched_process_set_held(p.s, p.w[0].p, false);
        play(&p, 1, 2 * XS_NS_PER_S);
        assert_int_equal(p.worst_ns[1], 265 * MS);
        finish(&p);
    }
}

/* A whole equal share is left to each. The other one's work ends during a turn: the user whose turn it is now has all of the
 * device, and no time is known at which the turn ends. */
static void a_turn_alone_has_no_end(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    xs_sched_set_user_share(p.s, 100);
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    do
        play(&p, 1, MS);
    while (!world_open(&p.w[1], 0));
    xs_sched_process_set_held(p.s, p.w[0].p, true);
    play(&p, 1, XS_NS_PER_S);
    assert_percent(&p, 1, 100, 0.1, XS_NS_PER_S);
    xs_sched_process_set_held(p.s, p.w[0].p, false);
    play(&p, 1, 10 * XS_NS_PER_S);
    assert_percent(&p, 1, 50, 1, 10 * XS_NS_PER_S);
    finish(&p);
}

static double victims_percent(const char *policy, uint64_t share, uint64_t liars_user, bool exempt)
{
    struct play p;
    double percent;

    begin(&p, policy);
    xs_sched_set_user_share(p.s, share);
    add(&p, liars_user, exempt, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    play(&p, 1, 4 * XS_NS_PER_S);
    percent = 100.0 * (double)p.open_ns[1] / (4.0 * XS_NS_PER_S);
    finish(&p);
    return percent;
}

static void who_is_bounded_and_by_how_much(void **state)
{
    (void)state;
    assert_in_range(victims_percent("HPF", 50, 2001, false) * 100, 2450, 2550);
    assert_in_range(victims_percent("HPF", 100, 2001, false) * 100, 4950, 5050);
    assert_in_range(victims_percent("HPF", 10, 2001, false) * 100, 450, 550);
    assert_in_range(victims_percent("HPF", 0, 2001, false) * 100, 0, 1);
    assert_in_range(victims_percent("HPF", 50, 2001, true) * 100, 0, 1);  /* root, an operator */
    assert_in_range(victims_percent("HPF", 50, 2000, false) * 100, 0, 1); /* one user's own order is his */
}

/* However many programs one user starts, of whatever priority, another one's part stays the same. */
static void many_programs_of_one_user(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    for (int i = 0; i < 4; i++)
        add(&p, 2001, false, with_priority(252 + i));
    add(&p, 2000, false, with_priority(0));
    play(&p, 4, 4 * XS_NS_PER_S);
    assert_percent(&p, 4, 25, 0.2, 4 * XS_NS_PER_S);
    finish(&p);

    begin(&p, "CFS"); /* one at a time, by weights of 38 to 1 */
    for (int i = 0; i < 4; i++)
        add(&p, 2001, false, with_priority(20));
    add(&p, 2000, false, with_priority(-20));
    play(&p, 4, 4 * XS_NS_PER_S);
    assert_true(p.open_ns[4] >= XS_NS_PER_S - 20 * MS);
    finish(&p);
}

/* Of three users each that waits has half of a third. */
static void three_users(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    add(&p, 2002, false, with_priority(-255));
    play(&p, 1, 6 * XS_NS_PER_S);
    assert_percent(&p, 0, 66.7, 0.2, 6 * XS_NS_PER_S);
    assert_percent(&p, 1, 16.7, 0.2, 6 * XS_NS_PER_S);
    assert_percent(&p, 2, 16.7, 0.2, 6 * XS_NS_PER_S);
    assert_true(p.worst_ns[1] <= 265 * MS && p.worst_ns[2] <= 265 * MS);
    finish(&p);
}

/* The parts of users are as their weights, among those that have work. */
static void weights_of_users(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    xs_sched_set_user_share(p.s, 100);
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    xs_sched_process_set_weight(p.s, p.w[0].p, 70);
    xs_sched_process_set_weight(p.s, p.w[1].p, 30);
    play(&p, 1, 4 * XS_NS_PER_S);
    assert_percent(&p, 1, 30, 0.3, 4 * XS_NS_PER_S);
    xs_sched_process_set_weight(p.s, p.w[1].p, 70); /* live */
    play(&p, 1, 4 * XS_NS_PER_S);
    assert_percent(&p, 1, 50, 0.5, 4 * XS_NS_PER_S);
    finish(&p);

    /* half of 60 and of 20 in 100; a third user with work, whose weight is 1, takes part of both */
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    add(&p, 2002, false, with_priority(-255));
    xs_sched_process_set_weight(p.s, p.w[0].p, 1);
    xs_sched_process_set_weight(p.s, p.w[1].p, 3);
    xs_sched_process_set_weight(p.s, p.w[2].p, 1);
    play(&p, 1, 6 * XS_NS_PER_S);
    assert_percent(&p, 1, 30, 0.3, 6 * XS_NS_PER_S);
    assert_percent(&p, 2, 10, 0.3, 6 * XS_NS_PER_S);
    finish(&p);

    /* many programs of a user have one weight together, and the greatest one loses no precision */
    begin(&p, "HPF");
    for (int i = 0; i < 3; i++) {
        add(&p, 2001, false, with_priority(100 + i));
        xs_sched_process_set_weight(p.s, p.w[i].p, XS_WEIGHT_MAX);
    }
    add(&p, 2000, false, with_priority(0));
    xs_sched_process_set_weight(p.s, p.w[3].p, XS_WEIGHT_MAX);
    play(&p, 3, 4 * XS_NS_PER_S);
    assert_percent(&p, 3, 25, 0.2, 4 * XS_NS_PER_S);
    finish(&p);
}

static uint32_t g_seen[2];

static void see(struct xs_policy_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        g_seen[i % 2] = v->entities[i]->process->uid;
        v->entities[i]->run = true;
    }
}

static void a_policy_sees_users(void **state)
{
    static const struct xs_policy_ops seer = {
        .abi = XS_POLICY_ABI, .size = sizeof(seer), .name = "SEER", .title = "", .scope = XS_SCOPE_DEVICE, .decide = see};
    struct xs_sched *s = xs_sched_new(&seer, NULL, NULL, NULL);
    struct xs_hints hints = with_priority(0);
    struct proc w[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        w[i] = world_join_as(
            s, (struct xs_sched_process_info){.id = i + 1, .user = 1ull << 63 | i, .uid = 2000 + (uint32_t)i});
        assert_non_null(xs_sched_queue_add(s, w[i].p, i + 1, WORLD_DEVICE, 0, &hints, MS, NULL));
    }
    world_step(s, w, 2, MS);
    assert_int_equal(g_seen[0], 2000);
    assert_int_equal(g_seen[1], 2001);
    world_done(s, w, 2);
}

/* In a grant the user's own order is in force: his urgent program runs, his background one waits. */
static void a_grant_keeps_the_users_own_order(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(10));
    add(&p, 2000, false, with_priority(0));
    play(&p, 1, 4 * XS_NS_PER_S);
    assert_percent(&p, 1, 25, 0.2, 4 * XS_NS_PER_S);
    assert_int_equal(p.open_ns[2], 0);
    /* and level 3 hears of it, so that the other user's slices are short meanwhile */
    assert_false(xs_sched_queue_granted(p.q[0]));
    while (!world_open(&p.w[1], 0)) {
        assert_false(xs_sched_queue_granted(p.q[1]));
        play(&p, 1, MS);
    }
    assert_true(xs_sched_queue_granted(p.q[1]));
    assert_false(world_open(&p.w[0], 0));
    finish(&p);
}

/* A program of root with no priority is protected like others, and what runs for root is not taken away. */
static void root_waits_for_no_one_without_end(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255));
    add(&p, 0, true, with_priority(0));
    play(&p, 1, 4 * XS_NS_PER_S);
    assert_percent(&p, 1, 25, 0.2, 4 * XS_NS_PER_S);
    finish(&p);

    begin(&p, "HPF");
    add(&p, 0, true, with_priority(255));
    add(&p, 2001, false, with_priority(10));
    add(&p, 2000, false, with_priority(0));
    play(&p, 0, 4 * XS_NS_PER_S);
    assert_int_equal(p.open_ns[2], 0);
    assert_int_equal(p.open_ns[1], 0);
    finish(&p);
}

/* An urgent program that leaves enough is not disturbed: 30 ms of work in each 100. */
static void who_leaves_enough_is_not_disturbed(void **state)
{
    struct play p;

    (void)state;
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255));
    add(&p, 2000, false, with_priority(0));
    world_complete(&p.w[0], 0, 1000000, 10 * US);
    for (int i = 0; i < 40; i++) {
        play(&p, 0, 70 * MS);
        world_submit(&p.w[0], 0, 10000, 10 * US);
        play(&p, 0, 30 * MS);
        assert_int_equal(p.worst_ns[0], 0);
        assert_in_range(p.worst_ns[1], 30 * MS - US, 30 * MS);
        world_complete(&p.w[0], 0, 10000, 10 * US);
    }
    finish(&p);
}

/* Two programs of one user depend on each other: that this shows in a stall does not depend on other users' grants. */
static void grants_hide_no_stall(void **state)
{
    struct play p;
    struct xs_sched_counters c;

    (void)state;
    begin(&p, "HPF");
    add(&p, 2001, false, with_priority(255)); /* completes nothing: it waits for the next one */
    add(&p, 2001, false, with_priority(10));
    add(&p, 2000, false, with_priority(0));
    atomic_store(&p.w[0].client->cells[0].est_entered_ns, 500 * MS);
    while (p.t < 4 * XS_NS_PER_S) {
        uint64_t next = world_step(p.s, p.w, p.n, p.t);

        pass(&p, XS_MIN(next, p.t + 10 * MS));
        if (world_open(&p.w[2], 0))
            world_complete(&p.w[2], 0, 1, 10 * US);
    }
    xs_sched_counters(p.s, &c);
    assert_true(c.stalls > 0);
    assert_true(p.open_ns[1] > 0);
    finish(&p);
}

/* Shares that users asked for themselves are no injustice. */
static void partitions_are_not_overruled(void **state)
{
    static const char *const policies[] = {"UP", "PUP", "SPUP"};
    struct xs_hints much = world_hints, little = world_hints;

    (void)state;
    much.utilization = 90;
    little.utilization = 10;
    for (size_t i = 0; i < XS_ARRAY_LEN(policies); i++) {
        struct play p;

        uint64_t open_ns[2];

        for (int shared = 0; shared < 2; shared++) {
            begin(&p, policies[i]);
            xs_sched_set_user_share(p.s, shared ? 50 : 0);
            add(&p, 2001, false, much);
            add(&p, 2000, false, little);
            xs_sched_process_set_utilization(p.s, p.w[0].p, 90);
            xs_sched_process_set_utilization(p.s, p.w[1].p, 10);
            play(&p, 0, 4 * XS_NS_PER_S);
            open_ns[shared] = p.open_ns[1];
            finish(&p);
        }
        assert_int_equal(open_ns[0], open_ns[1]);
    }
}

/* One user with many shares of a partition leaves the other its half of a half. */
static void many_partitions_of_one_user(void **state)
{
    static const char *const policies[] = {"UP", "PUP", "MLFQ"};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(policies); i++) {
        struct play p;

        begin(&p, policies[i]);
        for (int k = 0; k < 5; k++)
            add(&p, 2001, false, world_hints);
        add(&p, 2000, false, world_hints);
        play(&p, 0, 4 * XS_NS_PER_S);
        assert_true(p.open_ns[5] >= XS_NS_PER_S - 60 * MS);
        finish(&p);
    }
}

/* What waits for a queue raises it to the user's ceiling, no more. */
static void a_ceiling_bounds_what_is_inherited(void **state)
{
    struct play p;

    (void)state;
    for (int ceiling = 10; ceiling <= 30; ceiling += 20) {
        begin(&p, "HPF");
        add(&p, 2000, false, with_priority(0));
        add(&p, 2000, false, with_priority(20));
        xs_sched_process_set_priority_most(p.w[0].p, ceiling);
        atomic_store(&p.w[0].client->cells[0].inherit_priority, 200);
        atomic_store(&p.w[0].client->cells[0].inherit, 1);
        play(&p, 0, 10 * MS);
        assert_int_equal(world_open(&p.w[0], 0), ceiling > 20);
        finish(&p);
    }
}

/* A program whose command never ends makes new queues. While its turn's end is awaited, it does not wait itself: else it
 * would be owed the turn that the other one is about to begin. That one's command of 1 ms ends on the device. */
static void what_never_ends_is_owed_nothing(void **state)
{
    static const char *const k_policies[] = {"PUP", "UP", "SPUP"};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_policies); i++) {
        struct xs_sched *s = world_sched(k_policies[i]);
        struct proc w[2] = {world_join_as(s, (struct xs_sched_process_info){.id = 1, .user = 1}),
                            world_join_as(s, (struct xs_sched_process_info){.id = 2, .user = 2})};
        struct xs_sched_queue *last = world_queue(&w[0], 0, WORLD_DEVICE, 0, MS), *q;
        uint64_t had_ns = 0, waits_ns = 0, worst_ns = 0, ran_ns = 0;
        bool on_device = true;

        world_queue(&w[1], 0, WORLD_DEVICE, 0, MS);
        world_submit(&w[0], 0, 1, 0);
        world_submit(&w[1], 0, 1, MS);
        for (uint64_t t = 2 * MS, n = 1; t < 10000 * MS; t += MS / 10) {
            bool open;

            if (t % (15 * MS) == 0) {
                uint32_t cell = n++ % 64;

                q = world_queue(&w[0], cell, WORLD_DEVICE, 0, t);
                world_submit(&w[0], cell, 1, 0);
                world_step(s, w, 2, t);
                xs_sched_queue_remove(s, last, t);
                last = q;
            }
            world_step(s, w, 2, t);
            open = world_open(&w[1], 0);
            had_ns += open ? MS / 10 : 0;
            waits_ns = open ? 0 : waits_ns + MS / 10;
            worst_ns = XS_MAX(worst_ns, waits_ns);
            if (open && !on_device) { /* the thread at the gate goes on */
                atomic_store(&w[1].client->cells[0].returned, atomic_load(&w[1].client->cells[0].entered));
                on_device = true;
            }
            ran_ns += on_device ? MS / 10 : 0;
            if (ran_ns == MS) { /* and the next command comes to the gate */
                ran_ns = 0;
                on_device = false;
                atomic_fetch_add(&w[1].client->cells[0].entered, 1);
                world_complete(&w[1], 0, 1, MS);
                xs_page_ring(w[1].client, w[1].server, 0);
            }
        }
        assert_true(had_ns > 2500 * MS);
        assert_true(worst_ns < 150 * MS);
        world_done(s, w, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_never_ends_is_owed_nothing),
        cmocka_unit_test(invented_commands_take_a_bounded_part),
        cmocka_unit_test(a_turn_alone_has_no_end),
        cmocka_unit_test(who_is_bounded_and_by_how_much),
        cmocka_unit_test(many_programs_of_one_user),
        cmocka_unit_test(three_users),
        cmocka_unit_test(weights_of_users),
        cmocka_unit_test(a_policy_sees_users),
        cmocka_unit_test(a_grant_keeps_the_users_own_order),
        cmocka_unit_test(root_waits_for_no_one_without_end),
        cmocka_unit_test(who_leaves_enough_is_not_disturbed),
        cmocka_unit_test(grants_hide_no_stall),
        cmocka_unit_test(partitions_are_not_overruled),
        cmocka_unit_test(many_partitions_of_one_user),
        cmocka_unit_test(a_ceiling_bounds_what_is_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
