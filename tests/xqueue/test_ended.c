/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and streams that end while another thread is in a call with them: their storage goes to nobody else before that
 * thread has come back. */
#include "xqueue/queue.h"

#include "xqueue_test.h"

/* What a new queue has to say of itself. */
static void is_fresh(struct lane *l)
{
    struct xs_client_cell *cc = queue_of(l->stream)->cc;
    uint64_t before = xs_now_ns();
    HwCommandHandle c;

    assert_int_equal(atomic_load(&cc->completed), 0);
    assert_int_equal(atomic_load(&cc->inherit), 0);
    assert_int_equal(atomic_load(&cc->entered), atomic_load(&cc->returned));
    c = command(l, 5 * MS, 7, kXSchedSuccess);
    fake_auto(true);
    ok(XQueueSubmit(l->xq, c));
    ok(XQueueWait(l->xq, c));
    ok(XQueueSuspend(l->xq, kQueueSuspendFlagSyncHwQueue));
    ok(XQueueResume(l->xq, 0));
    fake_auto(false);
    assert_true(xs_now_ns() - before >= 5 * MS);
}

static struct lane used_lane(int commands)
{
    struct lane l = lane_open(g_d);

    fake_auto(true);
    for (int i = 0; i < commands; i++)
        assert_int_equal(fake_api_launch(l.stream, 5 * US, 1), FAKE_OK);
    assert_int_equal(fake_api_synchronize(l.stream), FAKE_OK);
    fake_auto(false);
    return l;
}

/* A stream whose XQueue is destroyed. @return the XQueue, as a launch found it before */
static struct xs_queue *lane_without_queue(struct lane *ret)
{
    struct xs_queue *q;

    *ret = used_lane(3);
    q = queue_of(ret->stream);
    fake_auto(true);
    ok(XQueueDestroy(ret->xq));
    fake_auto(false);
    return q;
}

/* One thread waits for a whole context; another destroys one of its streams and makes a new one. */
static void a_wait_outlives_its_stream(void **state)
{
    struct lane old = used_lane(1000), fresh;
    struct xs_queue *q = queue_of(old.stream);
    uint64_t began = xsched_priv_wait_begin(q);

    (void)state;
    assert_int_equal(began, 1000);
    fake_api_stream_destroy(old.stream);
    fresh = lane_open(g_d);
    xsched_priv_wait_end(q, began, true);
    is_fresh(&fresh);
    lane_close(&fresh);
}

/* One that was found, and destroyed before the wait began. */
static void a_wait_that_comes_too_late_is_none(void **state)
{
    struct lane old = used_lane(10), fresh;
    uint64_t native = (uint64_t)(uintptr_t)old.stream;
    struct xs_queue *q = xsched_priv_queue_pin(FAKE_PLATFORM, native);
    uint64_t id;

    (void)state;
    assert_ptr_equal(q, queue_of(old.stream));
    id = xsched_priv_queue_id(q);
    assert_int_not_equal(id, 0);
    fake_api_stream_destroy(old.stream);
    assert_int_equal(xsched_priv_queue_id(q), 0);
    assert_null(xsched_priv_queue_pin(FAKE_PLATFORM, native));
    fresh = lane_open(g_d);
    assert_ptr_not_equal(queue_of(fresh.stream), q);
    xsched_priv_wait_end(q, xsched_priv_wait_begin(q), true); /* still this one's */
    xsched_priv_queue_let_go(q);
    is_fresh(&fresh);
    lane_close(&fresh);
}

/* When all are out, it is used again, and knows nothing of before. */
static void storage_comes_back_empty(void **state)
{
    struct lane old = used_lane(10), l[64];
    struct xs_queue *q = queue_of(old.stream);
    int n = 0;

    (void)state;
    atomic_store(&q->cc->collective, 5);
    q->completion.had = q->completion.above = 7;              /* nobody else uses the queue */
    fake_api_stream_destroy(old.stream);
    WAIT_FOR(atomic_load(&q->refs) == 0);                     /* the control thread has heard of it */
    do
        l[n] = lane_open(g_d);
    while (queue_of(l[n++].stream) != q && n < (int)XS_ARRAY_LEN(l));
    assert_ptr_equal(queue_of(l[n - 1].stream), q);
    assert_int_equal(atomic_load(&q->cc->collective), 0);
    assert_true(q->completion.had == 0 && q->completion.above == 0);
    is_fresh(&l[n - 1]);
    while (n > 0)
        lane_close(&l[--n]);
}

/* A launch had found the queue before XQueueDestroy, and comes back after XQueueCreate on the same stream. */
static void a_submit_outlives_its_queue(void **state)
{
    struct lane l;
    struct xs_queue *q = lane_without_queue(&l);
    struct xs_ticket t;

    (void)state;
    xsched_priv_submit_begin(q, 1, XS_SUBMIT_NO_MARK, &t);
    ok(XQueueCreate(&l.xq, l.hwq, kPreemptLevelBlock, 0));
    assert_int_equal(fake_launch(l.stream, US, 1, NULL), FAKE_OK);
    xsched_priv_submit_end(&t, true, false);
    is_fresh(&l);
    lane_close(&l);
}

/* The hardware queue is destroyed as well: before the launch is counted, and while it is under way. */
static void a_submit_outlives_its_hardware_queue(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        struct lane l, other;
        struct xs_queue *q = lane_without_queue(&l);
        struct xs_ticket t;

        if (early)
            xsched_priv_submit_begin(q, 12345, 0, &t);
        ok(HwQueueDestroy(l.hwq));
        other = lane_open(g_d);                               /* whoever makes one frees those that are over */
        assert_int_equal(atomic_load(&q->hwq) != NULL, early);
        if (!early)
            xsched_priv_submit_begin(q, 12345, 0, &t);
        assert_int_equal(fake_launch(l.stream, US, 1, NULL), FAKE_OK);
        t.mark = true;
        xsched_priv_submit_end(&t, true, false);
        is_fresh(&other);
        lane_close(&other);
    }
}

/* The second queue of a stream is destroyed too, while somebody is in a call with the first. */
static void an_older_queue_keeps_the_hardware_queue(void **state)
{
    struct lane l, other;
    struct xs_queue *q = lane_without_queue(&l);
    struct xs_ticket t;

    (void)state;
    xsched_priv_submit_begin(q, 12345, 0, &t);
    ok(XQueueCreate(&l.xq, l.hwq, kPreemptLevelBlock, 0));
    lane_close(&l);
    other = lane_open(g_d);
    t.mark = true;
    xsched_priv_submit_end(&t, true, false);
    is_fresh(&other);
    lane_close(&other);
}

static void suspend_and_wait(void *arg)
{
    struct lane *l = arg;

    assert_int_equal(XQueueSuspend(l->xq, kQueueSuspendFlagWaitAll), kXSchedErrorNotFound);
}

/* Nobody could open it again. */
static void a_suspension_that_comes_too_late_is_none(void **state)
{
    struct lane l = used_lane(3);
    struct xs_queue *q = queue_of(l.stream);
    struct task t;

    (void)state;
    fake_api_launch(l.stream, 10 * MS, 1);
    task_start(&t, suspend_and_wait, &l);
    fake_advance(MS);
    assert_false(t.done);
    xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)l.stream);
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    assert_int_equal(atomic_load(&q->app_permitted), XS_PERMIT_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(a_wait_outlives_its_stream),
        D(a_wait_that_comes_too_late_is_none),
        D(storage_comes_back_empty),
        D(a_submit_outlives_its_queue),
        D(a_submit_outlives_its_hardware_queue),
        D(an_older_queue_keeps_the_hardware_queue),
        D(a_suspension_that_comes_too_late_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
