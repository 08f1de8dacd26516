/* SPDX-License-Identifier: Apache-2.0 */
/* Completion learnt from events, by a thread that gets its CPU late now and then, as one does where the device is the same
 * CPU: what is in flight stays bounded. */
#include "xqueue_test.h"

#include "hal/common/event_watch.h"

enum { LATE_EACH = 8, KERNELS = 600 };

static struct xs_watch_place g_place;
static _Atomic uint64_t g_late_ns; /* the thread that looks is late by so much, at each eighth question */

static int ask(const struct xs_watch_place *place, void *event)
{
    static uint32_t n; /* of the one thread that asks */
    enum fake_result r;

    (void)place;
    if (++n % LATE_EACH == 0 && atomic_load(&g_late_ns)) {
        struct timespec ts = {0, (long)atomic_load(&g_late_ns)};

        nanosleep(&ts, NULL);
    }
    r = fake_event_query(event);
    return r == FAKE_OK ? 0 : r == FAKE_NOT_READY ? 1 : -1;
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    if (reached)
        xsched_priv_completed(q, number);
    else
        xsched_priv_mark_lost(q, number);
}

static const struct xs_watch_ops k_ops = {"test", NULL, ask, done};

static bool mark(struct fake_stream *s, struct xs_queue *q, uint64_t number)
{
    void *event = NULL;
    int row = xs_watch_take(&k_ops, &g_place, &event);

    assert_true(row >= 0);
    if (!event)
        assert_int_equal(fake_event_create((struct fake_event **)&event), FAKE_OK);
    assert_int_equal(fake_event_record(event, s), FAKE_OK);
    xs_watch_set(row, event, q, number);
    return true;
}

struct flood {
    struct lane *l;
    uint64_t duration_ns;
};

static void flood(void *arg)
{
    struct flood *f = arg;

    fake_api_launch_with(f->l->stream, f->duration_ns / 25, 1, 77, 0); /* the first one of its kind was short */
    fake_api_synchronize(f->l->stream);
    for (uint32_t i = 0; i < KERNELS; i++)
        fake_api_launch_with(f->l->stream, f->duration_ns, 1, 77, 0);
    fake_api_synchronize(f->l->stream);
}

static void bounded(uint64_t duration_ns, uint64_t late_ns)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct lane l = lane_open(d);
    struct flood f = {&l, duration_ns};
    struct task t;
    uint64_t most_ns;

    atomic_store(&g_late_ns, late_ns);
    fake_hal_set_mark(mark);
    task_start(&t, flood, &f);
    fake_auto(true);
    task_join(&t);
    ok(XQueueWaitAll(l.xq));
    atomic_store(&g_late_ns, 0);
    xs_watch_hold(&g_place); /* its events end with this world */
    xs_watch_forget(&k_ops, &g_place);
    xs_watch_go_on(&g_place);
    fake_auto(false);
    fake_hal_set_mark(NULL);
    most_ns = most_in_flight(fake_trace_count() / 2) * duration_ns; /* when it is known how long they take */
    print_message("kernels of %llu us, looked at up to %llu us late: at most %llu us in flight\n",
                  (unsigned long long)(duration_ns / US), (unsigned long long)(late_ns / US),
                  (unsigned long long)(most_ns / US));
    assert_true(most_ns <= 2 * MS + duration_ns); /* 2 ms where nobody else is, and what is about to end */
    lane_close(&l);
}

static void in_time(void **state)
{
    (void)state;
    bounded(200 * US, 0);
}

static void late(void **state)
{
    (void)state;
    bounded(200 * US, 3 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(in_time), T(late)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
