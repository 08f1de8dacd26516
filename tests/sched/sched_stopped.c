/* SPDX-License-Identifier: Apache-2.0 */
/* An urgent process that a signal stops while it has commands under way: it reports nothing any more, and others wait for no more
 * than XS_STOPPED_NS, not for the stall time. */
#include "world.h"

#define LOW  0u
#define HIGH 1u

struct scene {
    struct xs_sched *s;
    struct proc w[2];
    uint64_t now, next;
    bool stopped;            /* the urgent one */
    unsigned asked;          /* whether it is */
};

static bool is_stopped(void *ctx, struct xs_sched_process *p)
{
    struct scene *b = ctx;

    assert_ptr_equal(p, b->w[HIGH].p);
    b->asked++;
    return b->stopped;
}

/* Both have work; a thread of the urgent one is inside a call. */
static void begin(struct scene *b, const struct xs_sched_ops *ops)
{
    *b = (struct scene){.now = 3600 * XS_NS_PER_S};
    b->s = xs_sched_new(xs_policy_by_name("HPF"), NULL, ops, b);
    assert_non_null(b->s);
    b->w[LOW] = world_join(b->s, 1, NULL, false);
    b->w[HIGH] = world_join(b->s, 2, NULL, false);
    world_queue(&b->w[LOW], 0, WORLD_DEVICE, 0, b->now);
    world_queue(&b->w[HIGH], 0, WORLD_DEVICE, 10, b->now);
    world_submit(&b->w[LOW], 0, 1000, MS);
    world_submit(&b->w[HIGH], 0, 5, MS);
    atomic_fetch_sub(&b->w[HIGH].client->cells[0].returned, 1);
    b->next = world_step(b->s, b->w, 2, b->now);
    assert_false(world_open(&b->w[LOW], 0));
}

static void run_for(struct scene *b, uint64_t ns)
{
    uint64_t until = b->now + ns;

    while (b->next < until) {
        b->now = XS_MAX(b->next, b->now);
        b->next = world_step(b->s, b->w, 2, b->now);
    }
    b->now = until;
    b->next = world_step(b->s, b->w, 2, b->now);
}

static uint64_t until_low_runs(struct scene *b)
{
    uint64_t began = b->now;

    while (!world_open(&b->w[LOW], 0)) {
        assert_true(b->now < began + 5 * XS_NS_PER_S);
        run_for(b, MS);
    }
    return b->now - began;
}

static const struct xs_sched_ops k_ops = {.is_stopped = is_stopped};

static void test_stopped(void **state)
{
    struct scene b;

    (void)state;
    begin(&b, &k_ops);
    b.stopped = true;
    assert_in_range(until_low_runs(&b), 50 * MS, 65 * MS); /* 5 ms were expected */
    run_for(&b, 100 * MS);
    assert_true(world_open(&b.w[LOW], 0));

    /* the background process idles and comes again: it waits no second time */
    world_complete(&b.w[LOW], 0, 1000, MS);
    run_for(&b, 300 * MS);
    world_submit(&b.w[LOW], 0, 1000, MS);
    assert_in_range(until_low_runs(&b), 0, 2 * MS);

    /* it goes on: the device is its own with the first command that completes, and stays so */
    b.stopped = false;
    world_complete(&b.w[HIGH], 0, 1, MS);
    run_for(&b, 2 * MS);
    assert_false(world_open(&b.w[LOW], 0));
    for (int i = 0; i < 40; i++) {
        world_submit(&b.w[HIGH], 0, 1, MS);
        world_complete(&b.w[HIGH], 0, 1, MS);
        run_for(&b, 10 * MS);
        assert_false(world_open(&b.w[LOW], 0));
    }
    world_done(b.s, b.w, 2);
}

/* It is not stopped, and completes nothing: the others wait for the stall time as ever, and the question is no burden. */
static void test_slow(void **state)
{
    struct scene b;

    (void)state;
    begin(&b, &k_ops);
    assert_in_range(until_low_runs(&b), 990 * MS, 1100 * MS);
    assert_in_range(b.asked, 5, 25);
    world_done(b.s, b.w, 2);
}

/* A command that may run for long is no reason to ask. */
static void test_long_command(void **state)
{
    struct scene b;

    (void)state;
    begin(&b, &k_ops);
    world_complete(&b.w[HIGH], 0, 5, MS);
    world_submit(&b.w[HIGH], 0, 1, 400 * MS);
    b.asked = 0;
    b.next = b.now;
    run_for(&b, 350 * MS);
    assert_int_equal(b.asked, 0);
    assert_false(world_open(&b.w[LOW], 0));
    world_done(b.s, b.w, 2);
}

/* Without the question there is the stall time alone; that is what the first test would notice. */
static void test_nobody_to_ask(void **state)
{
    static const struct xs_sched_ops none = {0};
    struct scene b;

    (void)state;
    begin(&b, &none);
    b.stopped = true;
    assert_in_range(until_low_runs(&b), 990 * MS, 1100 * MS);
    world_done(b.s, b.w, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stopped), cmocka_unit_test(test_slow),
                                       cmocka_unit_test(test_long_command), cmocka_unit_test(test_nobody_to_ask)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
