/* SPDX-License-Identifier: Apache-2.0 */
/* What is in flight: bounded by count where the program says so, else by estimated time. */
#include "xqueue_test.h"

#include <stdio.h>

struct flood {
    struct lane *l;
    uint32_t n;
    uint64_t duration_ns;
};

static void flood(void *arg)
{
    struct flood *f = arg;

    for (uint32_t i = 0; i < f->n; i++)
        fake_api_launch(f->l->stream, f->duration_ns, 1);
}

static void by_threshold(void **state)
{
    static const int64_t thresholds[] = {1, 2, 3, 8, 64};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(thresholds); i++) {
        struct flood f = {&g_l, 200, 50 * US};
        size_t from = fake_trace_count();
        struct task t;

        ok(XQueueSetLaunchConfig(g_l.xq, thresholds[i], 1));
        task_start(&t, flood, &f);
        fake_auto(true);
        task_join(&t);
        ok(XQueueWaitAll(g_l.xq));
        fake_auto(false);
        assert_int_equal(most_in_flight(from), thresholds[i]);
    }
}

static void by_threshold_and_batch(void **state)
{
    struct flood f = {&g_l, 300, 50 * US};
    struct task t;
    uint64_t marks;

    (void)state;
    ok(XQueueSetLaunchConfig(g_l.xq, 16, 8));
    task_start(&t, flood, &f);
    fake_auto(true);
    task_join(&t);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    assert_in_range(most_in_flight(0), 8, 16);
    marks = fake_hal_counts().marks;
    assert_in_range(marks, 300 / 8, 300 / 8 + 12);     /* one a batch, a few while nothing is known */
}

static void by_estimated_time(void **state)
{
    static const uint64_t durations[] = {20 * US, 50 * US, 200 * US, 900 * US, 5 * MS};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(durations); i++) {
        struct flood f = {&g_l, 20, durations[i]};
        size_t from;
        struct task t;
        uint64_t most, began;

        task_start(&t, flood, &f);                     /* learns the duration */
        fake_auto(true);
        task_join(&t);
        ok(XQueueWaitAll(g_l.xq));
        fake_auto(false);
        from = fake_trace_count();
        f.n = 400;
        began = xs_now_ns();
        task_start(&t, flood, &f);
        fake_auto(true);
        task_join(&t);
        ok(XQueueWaitAll(g_l.xq));
        fake_auto(false);
        most = most_in_flight(from);
        print_message("%6llu us kernels: at most %llu in flight, %.1f us of work; device idle %.2f %%\n",
                      (unsigned long long)(durations[i] / US), (unsigned long long)most,
                      (double)(most * durations[i]) / 1e3,
                      100.0 * (1.0 - (double)(400 * durations[i]) / (double)(xs_now_ns() - began)));
        /* 1 ms by default (2 ms alone), one more for what is about to end; never less than one */
        assert_true(most >= 1);
        assert_true(most <= 2 * MS / durations[i] + 2);
        /* and the bound costs nothing: the device never runs dry */
        assert_true(xs_now_ns() - began <= 400 * durations[i] * 101 / 100 + MS);
    }
}

static void self_marked(void **state)
{
    struct flood f = {&g_l, 100, 100 * US};
    struct task t;
    int64_t n;

    (void)state;
    fake_hal_set_self_marked(true);
    task_start(&t, flood, &f);
    fake_auto(true);
    task_join(&t);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, 100);
    assert_true(most_in_flight(0) <= 22);
}

static void a_wider_bound_lets_a_waiting_call_pass(void **state)
{
    struct flood f = {&g_l, 2, S};
    struct task t;

    (void)state;
    ok(XQueueSetLaunchConfig(g_l.xq, 1, 1));
    task_start(&t, flood, &f);
    fake_settle();
    assert_false(t.done);
    ok(XQueueSetLaunchConfig(g_l.xq, 2, 1));
    WAIT_FOR(t.done);
    task_join(&t);
}

static void suspend_beats_the_bound(void **state)
{
    struct flood f = {&g_l, 4, MS};
    struct task t;

    (void)state;
    ok(XQueueSetLaunchConfig(g_l.xq, 2, 1));
    task_start(&t, flood, &f);
    fake_settle();
    assert_int_equal(fake_stream_launched(g_l.stream), 2);
    ok(XQueueSuspend(g_l.xq, 0));
    fake_advance(100 * MS);
    assert_int_equal(fake_stream_launched(g_l.stream), 2);   /* room again, but held */
    ok(XQueueResume(g_l.xq, 0));
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
}

/* A shim may mark what libpreempt would not have marked (a blocking call proves itself), also
 * while nobody manages the queue: the number is the command's, whatever was in the ticket before. */
static void a_mark_that_only_the_shim_wants(void **state)
{
    struct fake_stream *stream;
    struct xs_queue *q;

    (void)state;
    assert_int_equal(fake_stream_create(g_d, &stream), FAKE_OK);
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    ok(fake_queue_auto(stream, 0));           /* one that nobody manages */
    unsetenv("XSCHED_AUTO_XQUEUE");
    q = queue_of(stream);
    for (uint64_t n = 1; n <= 3; n++) {
        struct xs_ticket t;

        memset(&t, 0xa5, sizeof(t));
        xsched_priv_submit_begin(q, 7, 0, &t);
        assert_int_equal(fake_launch(stream, US, 1, NULL), FAKE_OK);
        assert_true(fake_drain());
        t.mark = true;
        assert_int_equal(xsched_priv_submit_end(&t, true, true), n);
        xsched_priv_completed(q, n);
    }
    assert_int_equal(fake_api_stream_destroy(stream), FAKE_OK);
}

static uint64_t est_completed_ns(void)
{
    struct xs_client_cell *cell = cell_of(g_l.stream);

    assert_int_equal(atomic_load(&cell->completed), atomic_load(&cell->entered));
    assert_int_equal(atomic_load(&cell->est_completed_ns), atomic_load(&cell->est_entered_ns));
    return atomic_load(&cell->est_completed_ns);
}

/* @return what is put down for it; 0: it had a mark */
static uint64_t awaited(uint64_t duration_ns, uint64_t key)
{
    uint64_t before_ns = est_completed_ns(), marks = fake_hal_counts().marks;

    fake_api_launch_with(g_l.stream, duration_ns, 1, key, 0);
    fake_api_synchronize(g_l.stream);
    return fake_hal_counts().marks == marks ? est_completed_ns() - before_ns : 0;
}

/* What is waited for is put down as what it took, and what is too short to be told from the way to the device as what it
 * was thought to take. Nothing stays in flight. */
static void what_no_mark_covers(void **state)
{
    uint64_t before_ns, unmarked = 0;

    (void)state;
    fake_auto(true);
    for (uint64_t key = 70; key < 90; key++) {
        uint64_t ns;

        for (int i = 0; i < 20; i++)
            fake_api_launch_with(g_l.stream, 200 * US, 1, key, 0);
        ok(XQueueWaitAll(g_l.xq));
        ns = awaited(20 * US, key); /* a tenth of what it is thought to take */
        unmarked += ns != 0;
        if (ns)
            assert_in_range(ns, 20 * US, 100 * US);
    }
    assert_true(unmarked > 0);
    for (int i = 0; i < 20; i++)
        fake_api_launch_with(g_l.stream, 2 * US, 1, 90, 0);
    ok(XQueueWaitAll(g_l.xq));
    before_ns = est_completed_ns();
    for (int i = 0; i < 300; i++)
        awaited(2 * US, 90);
    assert_in_range(est_completed_ns() - before_ns, 300 * US, 900 * US);
    fake_auto(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        L(by_threshold), L(by_threshold_and_batch), L(by_estimated_time), L(self_marked),
        L(a_wider_bound_lets_a_waiting_call_pass), L(suspend_beats_the_bound),
        L(a_mark_that_only_the_shim_wants), L(what_no_mark_covers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
