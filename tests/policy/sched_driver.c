/* SPDX-License-Identifier: Apache-2.0 */
/* The decision driver on private pages, with HPF. */
#include "world.h"

#include <string.h>

#define DEV 7ull

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nobody_rings),
        cmocka_unit_test(high_holds_low_and_lingers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
