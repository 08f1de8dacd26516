/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that leave their queue's lane beside a more important queue: how long each waits, to the nanosecond. */
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xsched/xqueue.h"
#include "wire/page.h"

#include "xqueue_test.h"

#define CONFINED (XS_LANE_ONLY | 120u)

static struct xs_queue *g_queue;
static _Atomic uint64_t g_waited_ns;

static int setup(void **state)
{
    if (pair_setup(state) != 0)
        return -1;
    g_queue = queue_of(g_low.stream);
    atomic_store(&atomic_load(&g_queue->state->server)->h.lease_until_ns, UINT64_MAX);
    atomic_store(&atomic_load(&g_queue->sc)->lane, CONFINED);
    return 0;
}

static void leave(void *arg)
{
    struct xs_ticket t = {.queue = g_queue, .est_ns = *(uint32_t *)arg, .lane = CONFINED};
    uint64_t began_ns = xs_now_ns();

    xsched_priv_submit_whole(&t);
    atomic_store(&g_waited_ns, xs_now_ns() - began_ns);
}

static uint64_t waits(uint32_t est_ns)
{
    struct task task;

    task_start(&task, leave, &est_ns);
    fake_auto(true);
    task_join(&task);
    fake_auto(false);
    return atomic_load(&g_waited_ns);
}

static void one_part_in_eight(void **state)
{
    (void)state;
    assert_int_equal(waits(100 * US), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(waits(400 * US), 0); /* 2 ms of them may come together */
    assert_int_equal(waits(100 * US), 0);     /* short ones do not count */
    assert_int_equal(waits(200 * US), 0);     /* 16 ms of 8 times 2 ms: not more than that, so far */
    assert_int_equal(waits(200 * US), 8 * 200 * US);
    assert_int_equal(waits(MS), 8 * 200 * US);
    assert_int_equal(waits(200 * US), 8 * MS);
    fake_advance(MS);
    assert_int_equal(waits(200 * US), 8 * 200 * US - MS);
}

/* However long none came, not more than 2 ms of them come together. */
static void unused_time_is_bounded(void **state)
{
    (void)state;
    fake_advance(10 * S);
    for (int i = 0; i < 3; i++)
        assert_int_equal(waits(MS), 0);
    assert_int_equal(waits(200 * US), 8 * MS);
}

/* Else its measured time had the wait in it, and its estimate stayed too long for ever. */
static void its_time_on_the_device_begins_after_the_wait(void **state)
{
    struct xs_client_cell *cc = g_queue->cc;
    uint64_t began_ns;

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(waits(MS), 0);
    atomic_store(&g_queue->busy_since_ns, 1);
    atomic_store(&cc->est_entered_ns, atomic_load(&cc->est_completed_ns) + 200 * US);
    began_ns = xs_now_ns();
    assert_int_equal(waits(200 * US), 8 * MS);
    assert_int_equal(atomic_load(&g_queue->busy_since_ns), began_ns + 8 * MS);

    atomic_store(&g_queue->busy_since_ns, 1);
    atomic_store(&cc->est_entered_ns, atomic_load(&cc->est_completed_ns) + 300 * US);
    assert_int_equal(waits(200 * US), 8 * 200 * US);
    assert_int_equal(atomic_load(&g_queue->busy_since_ns), 1); /* another command is in flight */
}

static void a_long_one_waits_for_the_device(void **state)
{
    uint32_t est_ns = MS + 1;
    struct task task;

    (void)state;
    task_start(&task, leave, &est_ns);
    for (int i = 0; i < 50; i++)
        fake_advance(100 * MS);
    assert_false(task.done);
    atomic_store(&atomic_load(&g_queue->sc)->lane, XS_LANE_OFF);
    fake_auto(true);                          /* nobody wakes it: it looks each tick */
    task_join(&task);
    fake_auto(false);
    assert_true(atomic_load(&g_waited_ns) >= 5 * S && atomic_load(&g_waited_ns) <= 5 * S + XS_LEASE_TICK_NS);
    atomic_store(&atomic_load(&g_queue->sc)->lane, CONFINED);
    assert_int_equal(waits(200 * US), 0);     /* it had the device, and took nothing from anybody */
}

static void suspend(void *arg)
{
    (void)arg;
    ok(XQueueSuspend(g_low.xq, kQueueSuspendFlagWaitIdle));
}

static void submit_a_long_one(void *arg)
{
    struct xs_ticket t;

    (void)arg;
    xsched_priv_submit_begin(g_queue, 4711, 0, &t);
    t.est_ns = 5 * MS;
    xsched_priv_submit_whole(&t);
    xsched_priv_submit_end(&t, true, false);
}

/* The launch waits for its lane's end, and then for the application, which waits for launches under way. */
static void a_suspension_ends_while_a_launch_waits(void **state)
{
    struct task launch, suspends;
    bool ended;

    (void)state;
    task_start(&launch, submit_a_long_one, NULL);
    fake_advance(10 * MS);
    assert_false(launch.done);
    task_start(&suspends, suspend, NULL);
    fake_advance(10 * MS);
    atomic_store(&atomic_load(&g_queue->sc)->lane, XS_LANE_OFF);
    for (int i = 0; i < 20; i++)
        fake_advance(100 * MS);
    ended = suspends.done;
    ok(XQueueResume(g_low.xq, 0));
    fake_auto(true);
    task_join(&launch);
    task_join(&suspends);
    fake_auto(false);
    assert_true(ended);
}

/* A scheduler that stood still for a second confined nothing meanwhile. */
static void a_void_lease_leaves_no_debt(void **state)
{
    struct xs_server_page *page = atomic_load(&g_queue->state->server);

    (void)state;
    atomic_store(&page->h.lease_until_ns, 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(waits(500 * US), 0);
        fake_advance(MS);
    }
    atomic_store(&page->h.lease_until_ns, UINT64_MAX);
    assert_true(waits(500 * US) <= 8 * 500 * US);
}

int main(void)
{
#define A(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {A(one_part_in_eight), A(unused_time_is_bounded),
                                     A(its_time_on_the_device_begins_after_the_wait), A(a_long_one_waits_for_the_device),
                                     A(a_suspension_ends_while_a_launch_waits), A(a_void_lease_leaves_no_debt)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
