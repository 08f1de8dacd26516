/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives belong to a group: who runs because of one that is under way, for how long, and how far. */
#include "world.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A0 0 /* rank 0 of group A, beside the urgent program */
#define A1 1 /* rank 1 of group A, on a device of its own */
#define B0 2 /* rank of group B, beside the urgent program */
#define B1 3
#define URGENT 4
#define ALL 5

static char g_log[] = "/tmp/sched_collective.XXXXXX";

/* How many lines say that a group is not believed. */
static unsigned doubts(void)
{
    FILE *f = fopen(g_log, "r");
    char line[512];
    unsigned n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, "completed nothing for") != NULL;
    fclose(f);
    return n;
}

static bool logged(const char *what)
{
    FILE *f = fopen(g_log, "r");
    char line[512];
    bool found = false;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f))
        found = found || strstr(line, what);
    fclose(f);
    return found;
}

/* A kernel that waits for others: told of as the process does it, before its vendor call. */
static void collective_begins(struct proc *p, uint32_t cell, uint64_t est_ns)
{
    world_submit(p, cell, 1, est_ns);
    atomic_store(&p->client->cells[cell].collective, atomic_load(&p->client->cells[cell].entered));
    atomic_fetch_add(&p->client->h.collectives, 1);
    xs_page_ring(p->client, p->server, cell);
}

static uint64_t permitted(const struct proc *p, uint32_t cell)
{
    return atomic_load(&p->server->cells[cell].permitted);
}

/* Looks whenever the scheduler wants to, up to then. */
static uint64_t run_until(struct xs_sched *s, struct proc *w, size_t n, uint64_t t, uint64_t end)
{
    uint64_t next = world_step(s, w, n, t);

    while (next < end) {
        assert_true(next > t);
        next = world_step(s, w, n, t = next);
    }
    world_step(s, w, n, end);
    return end;
}

/* Two groups with a rank each on the urgent program's device and one elsewhere; the urgent one is at work. */
static struct xs_sched *groups(struct proc w[ALL], const char *a, const char *b, bool named)
{
    static const XDevice devices[ALL] = {WORLD_DEVICE, WORLD_DEVICE + 1, WORLD_DEVICE, WORLD_DEVICE + 2, WORLD_DEVICE};
    struct xs_sched *s = world_sched("HPF");

    for (unsigned i = 0; i < ALL; i++) {
        const char *of = i == URGENT ? NULL : i < B0 ? a : b;

        w[i] = world_join_as(s, (struct xs_sched_process_info){.id = i + 1, .group = named ? of : NULL,
                                                               .job = named ? NULL : of});
        world_queue(&w[i], 0, devices[i], i == URGENT ? 10 : 0, MS);
        if (i != URGENT)
            atomic_store(&w[i].client->h.collectives, 1);
    }
    for (unsigned i = 0; i < ALL; i++)
        xs_page_ring(w[i].client, w[i].server, 0);
    world_step(s, w, ALL, MS);
    for (unsigned i = 0; i < ALL; i++)
        world_submit(&w[i], 0, 1, MS);
    world_submit(&w[URGENT], 0, 1, 59000 * MS);
    for (unsigned i = 0; i < ALL; i++)
        xs_page_ring(w[i].client, w[i].server, 0);
    world_step(s, w, ALL, 2 * MS);
    assert_false(world_open(&w[A0], 0));
    assert_false(world_open(&w[B0], 0));
    return s;
}

static void only_members_run(void **state)
{
    (void)state;
    for (unsigned named = 0; named < 2; named++) {
        struct proc w[ALL];
        struct xs_sched *s = groups(w, "1000:a", "1001:b", named);
        uint64_t t = 3 * MS;

        if (named) /* a gang is suspended on all its devices: the urgent program is done with this one */
            assert_false(world_open(&w[A1], 0));
        collective_begins(&w[A1], 0, MS);
        world_step(s, w, ALL, t);
        assert_true(permitted(&w[A0], 0) > 0);
        assert_false(world_open(&w[B0], 0));        /* a collective of another group is none of its */
        world_complete(&w[A1], 0, 2, MS);
        t = run_until(s, w, ALL, t, t + 300 * US);
        assert_false(permitted(&w[A0], 0) > 0);
        collective_begins(&w[B1], 0, MS);
        world_step(s, w, ALL, t);
        assert_true(permitted(&w[B0], 0) > 0);
        assert_false(permitted(&w[A0], 0) > 0);
        world_done(s, w, ALL);
    }
}

/* A rank, alone on its device, makes a queue that has its collective on it already. */
static void a_queue_that_comes_with_one(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", true);
    struct xs_client_cell *cell = &w[A1].client->cells[1];

    (void)state;
    assert_false(world_open(&w[A0], 0));
    world_submit(&w[A1], 1, 1, MS);
    atomic_store(&cell->collective, atomic_load(&cell->entered));
    world_queue(&w[A1], 1, WORLD_DEVICE + 1, 0, 3 * MS);
    xs_page_ring(w[A1].client, w[A1].server, 1);
    world_step(s, w, ALL, 3 * MS);
    assert_true(world_open(&w[A0], 0));
    assert_false(world_open(&w[B0], 0));
    world_done(s, w, ALL);
}

/* Programs of which nothing is known, of one user: all belong together, as far as is known. */
static void of_one_user_all_run(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:", "1000:", false);

    (void)state;
    collective_begins(&w[A1], 0, MS);
    world_step(s, w, ALL, 3 * MS);
    assert_true(permitted(&w[A0], 0) > 0);
    assert_true(permitted(&w[B0], 0) > 0);
    world_done(s, w, ALL);
}

static void one_that_hangs_is_not_believed(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    unsigned before = doubts();
    uint64_t t = 3 * MS, start = t;

    (void)state;
    collective_begins(&w[A1], 0, MS);
    t = run_until(s, w, ALL, t, start + 2900 * MS);
    assert_true(permitted(&w[A0], 0) > 0);
    assert_int_equal(doubts(), before);
    t = run_until(s, w, ALL, t, start + 3010 * MS);
    assert_false(permitted(&w[A0], 0) > 0);          /* three stall times */
    assert_int_equal(doubts(), before + 1);
    t = run_until(s, w, ALL, t, start + 20000 * MS);
    assert_false(permitted(&w[A0], 0) > 0);
    assert_int_equal(doubts(), before + 1);          /* one line */
    /* meanwhile another group is judged by itself */
    collective_begins(&w[B1], 0, MS);
    t = run_until(s, w, ALL, t, t + MS);
    assert_true(permitted(&w[B0], 0) > 0);
    assert_false(permitted(&w[A0], 0) > 0);
    /* it completes, and the next one is under way: believed */
    collective_begins(&w[A1], 0, MS);
    world_complete(&w[A1], 0, 2, MS);
    t = run_until(s, w, ALL, t, t + 20 * MS);
    assert_true(permitted(&w[A0], 0) > 0);
    world_done(s, w, ALL);
}

/* One that lasts is believed while it completes, and the time in which nobody waits does not count. */
static void progress_and_peace_are_no_reason(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    unsigned before = doubts();
    uint64_t t = 3 * MS;

    (void)state;
    collective_begins(&w[A1], 0, MS);
    for (unsigned i = 0; i < 10; i++) {              /* one completes each second, the next one is submitted before */
        collective_begins(&w[A1], 0, MS);
        t = run_until(s, w, ALL, t, t + 1000 * MS);
        assert_true(permitted(&w[A0], 0) > 0);
        world_complete(&w[A1], 0, i == 0 ? 2 : 1, MS);
    }
    collective_begins(&w[A1], 0, MS);
    world_complete(&w[URGENT], 0, 2, MS);            /* nobody waits for ten seconds */
    t = run_until(s, w, ALL, t, t + 10000 * MS);
    assert_true(world_open(&w[A0], 0));
    world_submit(&w[URGENT], 0, 1, 30000 * MS);
    xs_page_ring(w[URGENT].client, w[URGENT].server, 0);
    t = run_until(s, w, ALL, t, t + 2900 * MS);
    assert_true(permitted(&w[A0], 0) > 0);
    assert_int_equal(doubts(), before);
    t = run_until(s, w, ALL, t, t + 200 * MS);
    assert_false(permitted(&w[A0], 0) > 0);
    assert_int_equal(doubts(), before + 1);
    world_done(s, w, ALL);
}

static void a_member_that_dies(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    uint64_t t = 3 * MS;

    (void)state;
    collective_begins(&w[A1], 0, MS);                /* only the dying one has begun */
    world_step(s, w, ALL, t);
    assert_true(permitted(&w[A0], 0) > 0);
    xs_sched_process_remove(s, w[A1].p, t);
    for (unsigned i = 0; i < ALL; i++)
        if (i != A1)
            xs_sched_process_poll(s, w[i].p, t);
    xs_sched_run(s, t);
    assert_false(permitted(&w[A0], 0) > 0);
    xs_sched_process_remove(s, w[A0].p, t);
    xs_sched_process_remove(s, w[B0].p, t);          /* who is left waits for what never comes */
    collective_begins(&w[B1], 0, MS);
    xs_sched_process_poll(s, w[B1].p, t);
    xs_sched_run(s, t);
    assert_true(world_open(&w[B1], 0));
    xs_sched_free(s);
    for (unsigned i = 0; i < ALL; i++)
        world_free(&w[i]);
}

/* Its partner has begun, too, and waits for ever. */
static void who_waits_for_a_dead_member(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    uint64_t t = 3 * MS, start = t, next;

    (void)state;
    collective_begins(&w[A1], 0, MS);
    world_step(s, w, ALL, t);
    collective_begins(&w[A0], 0, MS);
    world_step(s, w, ALL, t);
    xs_sched_process_remove(s, w[A1].p, t);
    for (next = xs_sched_run(s, t); next < start + 4000 * MS; next = xs_sched_run(s, t)) {
        t = next;
        if (t < start + 2900 * MS)
            assert_true(permitted(&w[A0], 0) > 0);
    }
    assert_false(permitted(&w[A0], 0) > 0);
    assert_true(logged("is its partner in another group, on another host, or gone?"));
    xs_sched_free(s);
    for (unsigned i = 0; i < ALL; i++)
        world_free(&w[i]);
}

/* One process with a collective under way runs until that is over: its partner may be on another host. */
static void a_group_of_one(void **state)
{
    struct proc w[2];
    struct xs_sched *s = world_pair(w, "HPF", 0, 10);
    uint64_t t = 2 * MS;

    (void)state;
    collective_begins(&w[0], 0, MS);
    world_submit(&w[1], 0, 1, 59000 * MS);
    xs_page_ring(w[1].client, w[1].server, 0);
    t = run_until(s, w, 2, t, t + 100 * MS);
    assert_true(permitted(&w[0], 0) > 0);
    t = run_until(s, w, 2, t, t + 3000 * MS);
    assert_false(permitted(&w[0], 0) > 0);
    world_complete(&w[0], 0, 1, MS);
    t = run_until(s, w, 2, t, t + 20 * MS);
    assert_false(permitted(&w[0], 0) > 0);
    collective_begins(&w[0], 0, MS);                 /* as if its thread had passed the gate before */
    t = run_until(s, w, 2, t, t + 20 * MS);
    assert_true(permitted(&w[0], 0) > 0);
    world_done(s, w, 2);
}

/* A member that runs only for a collective goes on up to its own, so that the group comes to a rest. */
static void no_further_than_the_collective(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    struct xs_client_cell *c = &w[A0].client->cells[0];
    uint64_t t = 3 * MS;

    (void)state;
    collective_begins(&w[A1], 0, MS);
    t = run_until(s, w, ALL, t, t + MS);
    assert_true(world_open(&w[A0], 0));              /* it has begun none: as far as it needs */
    collective_begins(&w[A0], 0, MS);
    t = run_until(s, w, ALL, t, t + MS);
    assert_int_equal(permitted(&w[A0], 0), atomic_load(&c->collective));
    assert_true(xs_sched_renew_leases(s, t));        /* as any word that is closed to somebody */
    collective_begins(&w[A0], 0, MS);                /* it had passed before the word changed */
    t = run_until(s, w, ALL, t, t + MS);
    assert_int_equal(permitted(&w[A0], 0), atomic_load(&c->collective));
    /* what stands behind it is not submitted, and both end */
    atomic_fetch_add(&c->entered, 1);
    atomic_store(&c->waiters, 1);
    world_complete(&w[A0], 0, (unsigned)(atomic_load(&c->returned) - atomic_load(&c->completed)), MS);
    world_complete(&w[A1], 0, 2, MS);
    t = run_until(s, w, ALL, t, t + MS);
    assert_int_equal(permitted(&w[A0], 0), 0);
    /* where nothing moves, the order of its streams may matter: it is free until a collective completes */
    atomic_fetch_add(&c->returned, 1);
    atomic_store(&c->waiters, 0);
    collective_begins(&w[A1], 0, MS);
    collective_begins(&w[A0], 0, MS);
    t = run_until(s, w, ALL, t, t + 2 * MS);
    assert_int_equal(permitted(&w[A0], 0), atomic_load(&c->collective));
    t = run_until(s, w, ALL, t, t + 60 * MS);
    assert_true(world_open(&w[A0], 0));
    world_done(s, w, ALL);
}

/* The urgent program is done while the word has a limit. */
static void a_limit_ends(void **state)
{
    struct proc w[ALL];
    struct xs_sched *s = groups(w, "1000:a", "1001:b", false);
    uint64_t t = 3 * MS;

    (void)state;
    collective_begins(&w[A1], 0, MS);
    collective_begins(&w[A0], 0, MS);
    t = run_until(s, w, ALL, t, t + MS);
    assert_false(world_open(&w[A0], 0));
    world_complete(&w[URGENT], 0, 2, MS);
    t = run_until(s, w, ALL, t, t + 2 * MS);
    assert_true(world_open(&w[A0], 0));
    for (unsigned i = 0; i < ALL; i++)
        assert_true(world_open(&w[i], 0));
    assert_false(xs_sched_renew_leases(s, t));
    world_done(s, w, ALL);
}

static void without_stalls_it_is_always_believed(void **state)
{
    struct xs_sched_config config;
    struct xs_sched *s;
    struct proc w[2];
    uint64_t t = MS;

    (void)state;
    xs_sched_config_defaults(&config);
    config.stall_ns = 0;
    s = xs_sched_new(xs_policy_by_name("HPF"), &config, NULL, NULL);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = world_join(s, i + 1, NULL, false);
        world_queue(&w[i], 0, WORLD_DEVICE, i ? 10 : 0, t);
    }
    world_step(s, w, 2, t);
    collective_begins(&w[0], 0, MS);
    world_submit(&w[1], 0, 1, 59000 * MS);
    xs_page_ring(w[1].client, w[1].server, 0);
    run_until(s, w, 2, t, t + 30000 * MS);
    assert_true(permitted(&w[0], 0) > 0);
    world_done(s, w, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_members_run),
        cmocka_unit_test(a_queue_that_comes_with_one),
        cmocka_unit_test(of_one_user_all_run),
        cmocka_unit_test(one_that_hangs_is_not_believed),
        cmocka_unit_test(progress_and_peace_are_no_reason),
        cmocka_unit_test(a_member_that_dies),
        cmocka_unit_test(who_waits_for_a_dead_member),
        cmocka_unit_test(a_group_of_one),
        cmocka_unit_test(no_further_than_the_collective),
        cmocka_unit_test(a_limit_ends),
        cmocka_unit_test(without_stalls_it_is_always_believed),
    };
    int fd = mkstemp(g_log), failed;

    if (fd < 0)
        return 1;
    close(fd);
    setenv("XLOG_FILE", g_log, 1);
    xs_log_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(g_log);
    return failed;
}
