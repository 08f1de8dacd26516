/* SPDX-License-Identifier: Apache-2.0 */
/* Suspension by the application: what may start, what the flags wait for, what never blocks. */
#include "xqueue_test.h"

static void launch_one(void *arg)
{
    fake_api_launch(((struct lane *)arg)->stream, 100 * US, 7);
}

static void a_direct_call_waits_while_suspended(void **state)
{
    struct task t;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    task_start(&t, launch_one, &g_l);
    fake_advance(30 * S);                             /* however long */
    assert_false(t.done);
    assert_int_equal(fake_stream_launched(g_l.stream), 0);
    ok(XQueueResume(g_l.xq, 0));
    task_join(&t);
    assert_int_equal(fake_stream_launched(g_l.stream), 1);
}

static void what_runs_goes_on(void **state)
{
    (void)state;
    fake_api_launch(g_l.stream, 100 * US, 1);
    ok(XQueueSuspend(g_l.xq, 0));
    fake_advance(100 * US);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 1), 1);
    ok(XQueueResume(g_l.xq, 0));
}

struct suspension {
    struct lane *l;
    int64_t flags;
    uint64_t returned_ns;
};

static void suspend_it(void *arg)
{
    struct suspension *s = arg;

    ok(XQueueSuspend(s->l->xq, s->flags));
    s->returned_ns = xs_now_ns();
}

static void flags_wait_for_what_they_say(void **state)
{
    static const int64_t waits[] = {kQueueSuspendFlagSyncHwQueue, kQueueSuspendFlagWaitAll,
                                    kQueueSuspendFlagWaitIdle, kQueueSuspendFlagMaskAll};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(waits); i++) {
        struct suspension s = {&g_l, waits[i], 0};
        struct task t;
        uint64_t began;

        fake_advance(S);
        began = xs_now_ns();
        fake_api_launch(g_l.stream, 300 * US, 1);
        task_start(&t, suspend_it, &s);
        fake_advance(299 * US);
        assert_false(t.done);
        fake_advance(1 * US);
        fake_auto(true);
        task_join(&t);
        fake_auto(false);
        assert_true(s.returned_ns >= began + 300 * US);
        ok(XQueueResume(g_l.xq, 0));
    }
}

static void none_returns_at_once(void **state)
{
    (void)state;
    fake_api_launch(g_l.stream, 300 * US, 1);
    ok(XQueueSuspend(g_l.xq, kQueueSuspendFlagNone));
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 0), 0);
    ok(XQueueResume(g_l.xq, 0));
}

static void wait_all_lets_the_list_run(void **state)
{
    struct suspension s = {&g_l, kQueueSuspendFlagWaitAll, 0};
    HwCommandHandle c[3];
    struct task t;

    (void)state;
    ok(XQueueSetLaunchConfig(g_l.xq, 1, 1));          /* the second and third have to wait in the list */
    for (uint32_t i = 0; i < 3; i++) {
        c[i] = command(&g_l, 100 * US, i + 1, kXSchedSuccess);
        ok(XQueueSubmit(g_l.xq, c[i]));
    }
    task_start(&t, suspend_it, &s);
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 0), 3);
    ok(XQueueResume(g_l.xq, 0));
    fake_auto(true);
    for (int i = 0; i < 3; i++)
        ok(XQueueWait(g_l.xq, c[i]));
    fake_auto(false);
}

static void repeated_suspension_is_one(void **state)
{
    struct task t;

    (void)state;
    for (int i = 0; i < 5; i++)
        ok(XQueueSuspend(g_l.xq, 0));
    task_start(&t, launch_one, &g_l);
    fake_settle();
    assert_false(t.done);
    ok(XQueueResume(g_l.xq, 0));                      /* one is enough */
    task_join(&t);
    ok(XQueueResume(g_l.xq, 0));
}

static void configuration_never_waits_for_a_suspended_queue(void **state)
{
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);
    struct task t;
    XQueueState st;
    int64_t n;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    ok(XQueueSubmit(g_l.xq, c));
    task_start(&t, launch_one, &g_l);
    fake_settle();
    /* every one of these would hang the test if it waited */
    ok(XQueueSetLaunchConfig(g_l.xq, 4, 2));
    ok(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelBlock));
    ok(XHintPriority(g_l.xq, 3));
    ok(XHintUtilization(g_l.xq, 30));
    ok(XQueueQuery(g_l.xq, &st));
    assert_int_equal(st, kQueueStateReady);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    assert_false(t.done);                             /* and the application's own suspension still holds */
    ok(XQueueResume(g_l.xq, 0));
    fake_auto(true);
    task_join(&t);
    ok(XQueueWait(g_l.xq, c));
    fake_auto(false);
}

static void another_queue_is_not_touched(void **state)
{
    struct lane other = lane_open(g_d);

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    fake_api_launch(other.stream, 10 * US, 2);
    assert_int_equal(fake_stream_launched(other.stream), 1);
    ok(XQueueResume(g_l.xq, 0));
    lane_close(&other);
}

static void a_stream_that_goes_away_opens(void **state)
{
    struct fake_stream *s;
    struct lane l;
    struct task t;

    (void)state;
    fake_stream_create(g_d, &s);
    l.stream = s;
    ok(fake_queue_create(&l.hwq, s));
    ok(XQueueCreate(&l.xq, l.hwq, 1, 0));
    ok(XQueueSuspend(l.xq, 0));
    task_start(&t, launch_one, &l);
    fake_settle();
    assert_false(t.done);
    xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    task_join(&t);                                    /* let go, not left behind */
    assert_int_equal(XQueueResume(l.xq, 0), kXSchedErrorNotFound);
    assert_null(queue_of(s));
    xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);   /* twice: nothing happens */
    xsched_priv_hwq_gone(FAKE_PLATFORM, 0x1234);
    fake_stream_destroy(s);
}

static void captures_pass(void **state)
{
    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    /* inside a capture, a callback or a group a call is counted and never waits */
    assert_int_equal(fake_api_launch_with(g_l.stream, 10 * US, 1, 1, XS_SUBMIT_PASS | XS_SUBMIT_NO_MARK), FAKE_OK);
    assert_int_equal(fake_hal_counts().marks, 0);
    ok(XQueueResume(g_l.xq, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        L(a_direct_call_waits_while_suspended), L(what_runs_goes_on), L(flags_wait_for_what_they_say),
        L(none_returns_at_once), L(wait_all_lets_the_list_run), L(repeated_suspension_is_one),
        L(configuration_never_waits_for_a_suspended_queue), L(another_queue_is_not_touched),
        L(a_stream_that_goes_away_opens), L(captures_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
