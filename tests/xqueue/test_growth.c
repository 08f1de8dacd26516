/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of queues made and destroyed: memory, descriptors and threads do not grow; what was
 * destroyed stays harmless. */
#include "xqueue/queue.h"

#include "xqueue_test.h"

#include <malloc.h>
#include <stdio.h>

static uint64_t rss_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;

    if (fscanf(f, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * 4096ull;
}

/* One stream for all rounds: the fake keeps streams until its end. */
static void rounds(struct fake_stream *s, int n)
{
    for (int i = 0; i < n; i++) {
        HwQueueHandle hwq;
        XQueueHandle xq;
        HwCommandHandle c;
        struct lane l;

        ok(fake_queue_create(&hwq, s));
        ok(XQueueCreate(&xq, hwq, 1, 0));
        l = (struct lane){s, hwq, xq};
        assert_int_equal(fake_api_launch(s, 5 * US, 1), FAKE_OK);
        c = command(&l, 0, 1, kXSchedSuccess);
        ok(XQueueSubmit(xq, c));
        if (i % 3 == 0)
            ok(XQueueWait(xq, c));
        else
            ok(HwCommandDestroy(c));
        ok(XQueueSuspend(xq, 0));
        if (i % 2) {
            ok(XQueueDestroy(xq));
            ok(HwQueueDestroy(hwq));
        } else {
            xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
        }
    }
}

static void no_growth(void **state)
{
    struct fake_stream *s;
    uint64_t before;
    int fds, threads;

    (void)state;
    fake_stream_create(g_d, &s);
    fake_auto(true);
    rounds(s, 500);                                    /* what is made once is made now */
    fake_auto(false);                                  /* it looks into /proc, through descriptors */
    fds = entries("/proc/self/fd");
    threads = entries("/proc/self/task");
    before = rss_bytes();
    fake_auto(true);
    rounds(s, 5000);
    fake_auto(false);
    print_message("5000 queues later: %+.1f KiB resident\n", ((double)rss_bytes() - (double)before) / 1024);
    /* the fake's own trace: 4096 records a block of 32 bytes, a few records a round */
#ifndef XQUEUE_SANITIZED
    assert_true(rss_bytes() < before + 2 * 1024 * 1024);
#endif
    assert_int_equal(entries("/proc/self/fd"), fds);
    WAIT_FOR(entries("/proc/self/task") <= threads);
}

static void many_at_once_then_none(void **state)
{
    enum { N = 2000 };
    static struct lane l[N];
    XQueueHandle stale;

    (void)state;
    for (int i = 0; i < N; i++)
        l[i] = lane_open(g_d);
    for (int i = 0; i < N; i++)
        assert_int_equal(fake_api_launch(l[i].stream, US, 1), FAKE_OK);
    stale = l[N / 2].xq;
    fake_auto(true);
    for (int i = 0; i < N; i++) {
        ok(XQueueDestroy(l[i].xq));
        ok(HwQueueDestroy(l[i].hwq));
    }
    fake_auto(false);
    assert_int_equal(XQueueResume(stale, 0), kXSchedErrorNotFound);
    for (int i = 0; i < N; i++)
        assert_null(queue_of(l[i].stream));
}

/* More than the pages have room for: an error, and everything else goes on. */
static void more_than_there_is_room_for(void **state)
{
    enum { N = 17000 };
    struct lane *l = calloc(N, sizeof(*l));
    int made = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        fake_stream_create(g_d, &l[i].stream);
        ok(fake_queue_create(&l[i].hwq, l[i].stream));
        if (XQueueCreate(&l[i].xq, l[i].hwq, 1, 0) != kXSchedSuccess)
            break;
        made++;
    }
    print_message("%d queues at once\n", made);
    assert_in_range(made, 10000, 16384);
    assert_int_equal(fake_api_launch(l[made].stream, US, 1), FAKE_OK);   /* unscheduled, but it runs */
    fake_auto(true);
    for (int i = 0; i < made; i++)
        ok(XQueueDestroy(l[i].xq));
    fake_auto(false);
    ok(XQueueCreate(&l[made].xq, l[made].hwq, 1, 0));                    /* room again */
    ok(XQueueDestroy(l[made].xq));
    free(l);
}

/* A pointer that a shim kept although the stream is gone: harmless. */
static void stale_pointers(void **state)
{
    struct lane l = lane_open(g_d);
    struct xs_queue *q = queue_of(l.stream);
    struct xs_ticket t;

    (void)state;
    assert_non_null(q);
    fake_api_stream_destroy(l.stream);
    xsched_priv_submit_begin(q, 1, 0, &t);
    xsched_priv_submit_end(&t, false, false);
    xsched_priv_wait_end(q, xsched_priv_wait_begin(q), true);
    assert_int_equal(XQueueDestroy(l.xq), kXSchedErrorNotFound);
}

/* A thread that launched on a stream that was destroyed, then on a new one at the same address. */
static void address_used_again(void **state)
{
    struct fake_stream *s;
    HwQueueHandle hwq, hwq2;
    XQueueHandle xq, xq2;
    int64_t n;

    (void)state;
    fake_stream_create(g_d, &s);
    ok(fake_queue_create(&hwq, s));
    ok(XQueueCreate(&xq, hwq, 1, 0));
    fake_api_launch(s, US, 1);                          /* this thread's cache knows the queue */
    fake_drain();
    xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    fake_api_launch(s, US, 1);                          /* unscheduled now */
    ok(fake_queue_create(&hwq2, s));
    ok(XQueueCreate(&xq2, hwq2, 1, 0));
    assert_int_not_equal(hwq, hwq2);
    fake_api_launch(s, US, 1);
    ok(XQueueProfileHwCommandCount(xq2, &n));
    assert_int_equal(n, 1);
    fake_auto(true);
    ok(XQueueDestroy(xq2));
    ok(HwQueueDestroy(hwq2));
    fake_auto(false);
}

/* Two million streams later the numbers of handles come again. */
static void a_handle_is_not_given_twice(void **state)
{
    struct lane first = lane_open(g_d), later;
    struct xs_state *st = queue_of(first.stream)->state;

    (void)state;
    atomic_store(&st->next_handle, first.hwq & 0x3fffff); /* as after so many queues */
    later = lane_open(g_d);
    assert_true(later.hwq != first.hwq && later.hwq != first.xq && later.xq != first.hwq && later.xq != first.xq);
    lane_close(&later);
    ok(XQueueResume(first.xq, 0));
    lane_close(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(no_growth), D(many_at_once_then_none), D(stale_pointers), D(address_used_again),
        D(a_handle_is_not_given_twice), D(more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
