/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of XQueueSubmit: order, waiting, errors, dropping, blocking queues. */
#include "xqueue/queue.h"

#include "xqueue_test.h"

#include <stdio.h>

static void submit_then_wait_frees_the_handle(void **state)
{
    HwCommandHandle c = command(&g_l, 100 * US, 1, kXSchedSuccess);
    uint64_t began = xs_now_ns();

    (void)state;
    ok(XQueueSubmit(g_l.xq, c));
    fake_auto(true);
    ok(XQueueWait(g_l.xq, c));
    fake_auto(false);
    assert_int_equal(xs_now_ns() - began, 100 * US);
    assert_int_equal(XQueueWait(g_l.xq, c), kXSchedErrorNotFound);
    assert_int_equal(HwCommandDestroy(c), kXSchedErrorNotFound);
}

static void an_idle_queue_launches_in_the_callers_thread(void **state)
{
    HwCommandHandle c = command(&g_l, 100 * US, 1, kXSchedSuccess);

    (void)state;
    ok(XQueueSubmit(g_l.xq, c));
    assert_int_equal(fake_stream_launched(g_l.stream), 1);   /* at once, no thread in between */
    assert_int_equal(fake_hal_counts().enters, 1);
    assert_int_equal(fake_hal_counts().leaves, 1);
    ok(HwCommandDestroy(c));                                  /* not waited for: also fine */
}

static void twice_is_not_allowed(void **state)
{
    HwCommandHandle c = command(&g_l, 0, 1, kXSchedSuccess);

    (void)state;
    ok(XQueueSubmit(g_l.xq, c));
    assert_int_equal(XQueueSubmit(g_l.xq, c), kXSchedErrorNotAllowed);
    fake_auto(true);
    ok(XQueueWait(g_l.xq, c));
    fake_auto(false);
}

static void a_callback_that_fails_is_the_commands_error(void **state)
{
    static const XResult results[] = {kXSchedErrorHardware, kXSchedErrorNotSupported, (XResult)42};

    (void)state;
    fake_auto(true);
    for (size_t i = 0; i < XS_ARRAY_LEN(results); i++) {
        HwCommandHandle c = command(&g_l, 0, 1, results[i]);
        HwCommandHandle fine = command(&g_l, 10 * US, 2, kXSchedSuccess);

        ok(XQueueSubmit(g_l.xq, c));
        ok(XQueueSubmit(g_l.xq, fine));
        assert_int_equal(XQueueWait(g_l.xq, c), results[i]);
        ok(XQueueWait(g_l.xq, fine));
    }
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
}

static void launch_refused_by_the_vendor(void **state)
{
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);

    (void)state;
    fake_fault_launch(g_l.stream, 1);
    fake_auto(true);
    ok(XQueueSubmit(g_l.xq, c));
    assert_int_equal(XQueueWait(g_l.xq, c), kXSchedErrorHardware);
    fake_fault_launch(g_l.stream, 2);
    assert_int_equal(fake_api_launch(g_l.stream, 10 * US, 2), FAKE_OK);
    assert_int_equal(fake_api_launch(g_l.stream, 10 * US, 3), FAKE_ERROR_LAUNCH);
    assert_int_equal(fake_api_launch(g_l.stream, 10 * US, 4), FAKE_OK);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    assert_int_equal(fake_stream_completed(g_l.stream), 2);
}

static void suspended_commands_keep_their_order(void **state)
{
    enum { N = 20 };
    HwCommandHandle c[N];
    char order[256], expect[256] = "";
    int64_t n;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    for (uint32_t i = 0; i < N; i++) {
        c[i] = command(&g_l, 10 * US, i + 1, kXSchedSuccess);
        ok(XQueueSubmit(g_l.xq, c[i]));                       /* never blocks */
        sprintf(expect + strlen(expect), i ? " %u" : "%u", i + 1);
    }
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, N);
    fake_advance(10 * MS);
    assert_int_equal(fake_trace_count_of(FAKE_T_LAUNCH, 0), 0);
    assert_int_equal(HwCommandDestroy(c[0]), kXSchedErrorNotAllowed);
    ok(XQueueResume(g_l.xq, 0));
    fake_auto(true);
    for (uint32_t i = N; i-- > 0;)
        ok(XQueueWait(g_l.xq, c[i]));
    fake_auto(false);
    assert_string_equal(fake_trace_order(FAKE_T_END, order, sizeof(order)), expect);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 0), N);
}

static void drop(void **state)
{
    HwCommandHandle a = command(&g_l, 10 * US, 1, kXSchedSuccess), b = command(&g_l, 10 * US, 2, kXSchedSuccess);
    HwCommandHandle after = command(&g_l, 10 * US, 3, kXSchedSuccess);

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    ok(XQueueSubmit(g_l.xq, a));
    ok(XQueueSubmit(g_l.xq, b));
    fake_settle();
    ok(XQueueResume(g_l.xq, kQueueResumeFlagDropCommands));
    fake_auto(true);
    ok(XQueueSubmit(g_l.xq, after));
    ok(XQueueWait(g_l.xq, after));
    ok(XQueueWaitAll(g_l.xq));
    assert_int_not_equal(XQueueWait(g_l.xq, a), kXSchedSuccess);   /* it never ran */
    assert_int_not_equal(XQueueWait(g_l.xq, b), kXSchedSuccess);
    fake_auto(false);
    assert_int_equal(fake_trace_count_of(FAKE_T_LAUNCH, 1), 0);
    assert_int_equal(fake_trace_count_of(FAKE_T_LAUNCH, 2), 0);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 3), 1);
}

static void waiter(void *arg)
{
    *(XResult *)((void **)arg)[1] = XQueueWait(g_l.xq, *(HwCommandHandle *)((void **)arg)[0]);
}

static void drop_lets_a_waiter_go(void **state)
{
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);
    XResult r = kXSchedSuccess;
    void *arg[] = {&c, &r};
    struct task t;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    ok(XQueueSubmit(g_l.xq, c));
    task_start(&t, waiter, arg);
    fake_settle();
    assert_false(t.done);
    ok(XQueueResume(g_l.xq, kQueueResumeFlagDropCommands));
    task_join(&t);
    assert_int_not_equal(r, kXSchedSuccess);
}

static void direct_launch(void *arg)
{
    (void)arg;
    fake_api_launch(g_l.stream, 10 * US, 9);
}

static void a_direct_call_waits_for_the_list(void **state)
{
    HwCommandHandle c[3];
    char order[64];
    struct task t;

    (void)state;
    ok(XQueueSuspend(g_l.xq, 0));
    for (uint32_t i = 0; i < 3; i++) {
        c[i] = command(&g_l, 10 * US, i + 1, kXSchedSuccess);
        ok(XQueueSubmit(g_l.xq, c[i]));
    }
    task_start(&t, direct_launch, NULL);
    fake_settle();
    ok(XQueueResume(g_l.xq, 0));
    fake_auto(true);
    task_join(&t);
    for (int i = 0; i < 3; i++)
        ok(XQueueWait(g_l.xq, c[i]));
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    assert_string_equal(fake_trace_order(FAKE_T_LAUNCH, order, sizeof(order)), "1 2 3 9");
}

static void blocking(void *arg)
{
    struct lane *l = arg;
    HwCommandHandle c = command(l, 10 * US, 1, kXSchedSuccess);

    ok(XQueueSubmit(l->xq, c));
    assert_true(fake_stream_launched(l->stream) == 1);
    ok(XQueueWait(l->xq, c));
}

static void a_blocking_queue_returns_when_launched(void **state)
{
    struct lane l = lane_open_flags(g_d, kQueueCreateFlagBlockingSubmit);
    struct task t;

    (void)state;
    ok(XQueueSuspend(l.xq, 0));
    task_start(&t, blocking, &l);
    fake_settle();
    assert_false(t.done);
    ok(XQueueResume(l.xq, 0));
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    lane_close(&l);
}

static void command_of_another_queue(void **state)
{
    struct lane other = lane_open(g_d);
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);

    (void)state;
    ok(XQueueSubmit(g_l.xq, c));
    assert_int_equal(XQueueWait(other.xq, c), kXSchedErrorNotFound);
    fake_auto(true);
    ok(XQueueWait(g_l.xq, c));
    fake_auto(false);
    lane_close(&other);
}

static void destroy_drains(void **state)
{
    struct lane l = lane_open(g_d);
    HwCommandHandle c[4];

    (void)state;
    ok(XQueueSuspend(l.xq, 0));
    for (uint32_t i = 0; i < 4; i++) {
        c[i] = command(&l, 10 * US, i + 1, kXSchedSuccess);
        ok(XQueueSubmit(l.xq, c[i]));
    }
    lane_close(&l);                                           /* opens first, then waits */
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 0), 4);
    for (int i = 0; i < 4; i++)
        ok(HwCommandDestroy(c[i]));                           /* the handles are still ours */
}

static XResult launch_again(HwQueueHandle hwq, void *data)
{
    struct lane *l = data;

    (void)hwq;
    /* a callback that goes through the shim: part of this command, not another one */
    return fake_api_launch(l->stream, 10 * US, 5) == FAKE_OK ? kXSchedSuccess : kXSchedErrorHardware;
}

static void a_callback_may_call_the_shim(void **state)
{
    HwCommandHandle c;
    int64_t n;

    (void)state;
    ok(HwCommandCreateCallback(&c, launch_again, &g_l));
    fake_auto(true);
    ok(XQueueSubmit(g_l.xq, c));
    ok(XQueueWait(g_l.xq, c));
    fake_auto(false);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 5), 1);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, 1);
    ok(HwCommandCreateCallback(&c, launch_again, &g_l));
    ok(HwQueueLaunch(g_l.hwq, c));
    ok(HwCommandDestroy(c));
}

/* A collective that the vendor refuses leaves an earlier one under way. */
static void a_refused_collective_is_none(void **state)
{
    struct xs_queue *q = queue_of(g_l.stream);
    _Atomic uint64_t *word = &q->cc->collective;
    struct xs_ticket t;

    (void)state;
    assert_int_equal(fake_api_launch_with(g_l.stream, 50 * MS, 3, 77, XS_SUBMIT_COLLECTIVE), FAKE_OK);
    assert_int_equal(atomic_load(word), 1);
    xsched_priv_submit_begin(q, 78, XS_SUBMIT_COLLECTIVE | XS_SUBMIT_PASS, &t); /* does not wait for room */
    assert_int_equal(atomic_load(word), 2);
    xsched_priv_submit_end(&t, false, false);
    assert_int_equal(atomic_load(word), 1);
    fake_auto(true);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
}

static HwCommandHandle g_inner;

static XResult submit_another(HwQueueHandle hwq, void *data)
{
    struct lane *l = data;

    (void)hwq;
    g_inner = command(l, 50 * MS, 7, kXSchedSuccess);
    return XQueueSubmit(l->xq, g_inner);
}

/* A command submitted from a callback of the same queue is complete when its kernel is, not with what was before. */
static void a_callback_may_submit(void **state)
{
    HwCommandHandle outer;
    uint64_t began;

    (void)state;
    for (int i = 1; i <= 3; i++) {
        ok(HwCommandCreateCallback(&outer, submit_another, &g_l));
        ok(XQueueSubmit(g_l.xq, outer));
        fake_settle();
        began = xs_now_ns();
        fake_auto(true);
        ok(XQueueWait(g_l.xq, g_inner));
        assert_true(xs_now_ns() - began >= 50 * MS);
        ok(XQueueWait(g_l.xq, outer));
        fake_auto(false);
        assert_int_equal(fake_trace_count_of(FAKE_T_END, 7), i);
    }
}

static void wait_on_a_lost_device_returns(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct lane l = lane_open(d);
    HwCommandHandle c = command(&l, 10 * MS, 1, kXSchedSuccess);

    (void)state;
    ok(XQueueSubmit(l.xq, c));
    fake_fault_device_lost(d);
    fake_auto(true);
    assert_int_equal(XQueueWait(l.xq, c), kXSchedErrorHardware);
    fake_auto(false);
    lane_close(&l);
}

static void wait_survives_a_lost_mark(void **state)
{
    HwCommandHandle c = command(&g_l, 10 * US, 1, kXSchedSuccess);

    (void)state;
    fake_fault_lose_mark(g_l.stream, 1);
    ok(XQueueSubmit(g_l.xq, c));
    fake_auto(true);
    ok(XQueueWait(g_l.xq, c));
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        L(submit_then_wait_frees_the_handle), L(an_idle_queue_launches_in_the_callers_thread),
        L(twice_is_not_allowed), L(a_callback_that_fails_is_the_commands_error), L(launch_refused_by_the_vendor),
        L(suspended_commands_keep_their_order), L(drop), L(drop_lets_a_waiter_go),
        L(a_direct_call_waits_for_the_list), L(a_blocking_queue_returns_when_launched), L(command_of_another_queue),
        L(destroy_drains), L(a_callback_may_call_the_shim), L(a_refused_collective_is_none), L(a_callback_may_submit),
        L(wait_on_a_lost_device_returns), L(wait_survives_a_lost_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
