/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device itself: what a test builds upon must be exact. */
#include "fake_device.h"
#include "vtime.h"

#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define US 1000ull
#define T0 (vtime_now_ns() / 1000000000 * 1000000000) /* no test but one takes a second */

static int setup(void **state)
{
    (void)state;
    fake_world_reset(false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_world_reset(true);
    return 0;
}

static struct fake_stream *stream(struct fake_device *d)
{
    struct fake_stream *s;

    assert_int_equal(fake_stream_create(d, &s), FAKE_OK);
    return s;
}

static void exclusive_runs_in_order_of_submission(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct fake_stream *a = stream(d), *b = stream(d);
    char order[64];

    (void)state;
    fake_launch(a, 100 * US, 1, NULL);
    fake_launch(b, 50 * US, 2, NULL);
    fake_launch(a, 10 * US, 3, NULL);
    fake_advance(99 * US);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 0), 0);
    fake_advance(1 * US);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 1), 1);
    assert_true(fake_drain());
    assert_string_equal(fake_trace_order(FAKE_T_END, order, sizeof(order)), "1 2 3");
    assert_int_equal(fake_trace_time(FAKE_T_START, 2, 0), T0 + 100 * US);
    assert_int_equal(fake_trace_time(FAKE_T_END, 2, 0), T0 + 150 * US);
    assert_int_equal(fake_trace_time(FAKE_T_END, 3, 0), T0 + 160 * US);
}

static void shared_runs_evenly(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_SHARED);
    struct fake_stream *a = stream(d), *b = stream(d), *c = stream(d);

    (void)state;
    fake_launch(a, 100 * US, 1, NULL);
    fake_launch(b, 100 * US, 2, NULL);
    fake_launch(c, 40 * US, 3, NULL);
    assert_true(fake_drain());
    assert_int_equal(fake_trace_time(FAKE_T_END, 3, 0), T0 + 120 * US);   /* a third each */
    assert_int_equal(fake_trace_time(FAKE_T_END, 1, 0), T0 + 240 * US);   /* then a half each */
    assert_int_equal(fake_trace_time(FAKE_T_END, 2, 0), T0 + 240 * US);
}

static void two_devices_do_not_wait_for_each_other(void **state)
{
    struct fake_stream *a = stream(fake_device_create(FAKE_EXCLUSIVE));
    struct fake_stream *b = stream(fake_device_create(FAKE_EXCLUSIVE));

    (void)state;
    fake_launch(a, 100 * US, 1, NULL);
    fake_launch(b, 100 * US, 2, NULL);
    assert_true(fake_drain());
    assert_int_equal(fake_trace_time(FAKE_T_END, 2, 0), T0 + 100 * US);
}

static void count(void *data, bool failed)
{
    atomic_fetch_add((_Atomic int *)data, failed ? 100 : 1);
}

static void bump(void *data)
{
    atomic_fetch_add((_Atomic int *)data, 1);
}

static void marks_events_and_host_functions(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct fake_stream *a = stream(d), *b = stream(d);
    struct fake_event *e, *user;
    _Atomic int marks = 0, calls = 0;
    _Atomic uint64_t word = 0;

    (void)state;
    fake_event_create(&e);
    fake_event_create_user(&user);
    fake_launch(a, 100 * US, 1, NULL);
    fake_mark(a, count, &marks);
    fake_host_func(a, bump, &calls);
    fake_event_record(e, a);
    fake_stream_wait_event(b, e);
    fake_launch(b, 10 * US, 2, NULL);
    fake_stream_wait_event(b, user);
    fake_launch(b, 10 * US, 3, NULL);
    fake_wait_value(b, &word, 7);
    fake_launch(b, 10 * US, 4, NULL);
    fake_advance(99 * US);
    assert_int_equal(marks, 0);
    assert_int_equal(fake_event_query(e), FAKE_NOT_READY);
    fake_advance(1 * US);
    assert_int_equal(marks, 1);
    assert_int_equal(calls, 1);
    assert_int_equal(fake_event_query(e), FAKE_OK);
    assert_false(fake_drain());                       /* stands at the user event */
    assert_int_equal(fake_trace_time(FAKE_T_END, 2, 0), T0 + 110 * US);
    assert_int_equal(fake_trace_count_of(FAKE_T_START, 3), 0);
    fake_event_set(user);
    assert_false(fake_drain());                       /* stands at the value */
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 3), 1);
    atomic_store(&word, 7);
    assert_true(fake_drain());
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 4), 1);
}

static void polling_kernel_occupies_the_device(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct fake_stream *a = stream(d), *b = stream(d);
    _Atomic uint64_t word = 0;

    (void)state;
    fake_launch_polling(a, &word, 1);
    fake_launch(b, 10 * US, 2, NULL);
    assert_false(fake_drain());
    assert_int_equal(fake_trace_count_of(FAKE_T_START, 2), 0);
    atomic_store(&word, 1);
    assert_true(fake_drain());
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 2), 1);
}

static void faults(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct fake_stream *a = stream(d);
    _Atomic int marks = 0;

    (void)state;
    fake_fault_launch(a, 2);
    assert_int_equal(fake_launch(a, US, 1, NULL), FAKE_OK);
    assert_int_equal(fake_launch(a, US, 2, NULL), FAKE_ERROR_LAUNCH);
    assert_int_equal(fake_launch(a, US, 3, NULL), FAKE_OK);
    fake_fault_lose_mark(a, 1);
    fake_mark(a, count, &marks);
    fake_fault_refuse_mark(a, 1);
    assert_int_equal(fake_mark(a, count, &marks), FAKE_ERROR_LAUNCH);
    assert_true(fake_drain());
    assert_int_equal(marks, 0);
    assert_int_equal(fake_stream_completed(a), 2);
    fake_launch(a, US, 4, NULL);
    fake_mark(a, count, &marks);
    fake_fault_device_lost(d);
    assert_true(fake_drain());
    assert_int_equal(marks, 100);
    assert_int_equal(fake_launch(a, US, 5, NULL), FAKE_ERROR_LOST);
    assert_int_equal(fake_synchronize(a), FAKE_ERROR_LOST);
}

static _Atomic uint32_t g_word;
static _Atomic uint64_t g_woke_ns;
static _Atomic int g_result;

static void *sleeper(void *arg)
{
    atomic_store(&g_result, xs_futex_wait(&g_word, 0, *(uint64_t *)arg));
    atomic_store(&g_woke_ns, xs_now_ns());
    return NULL;
}

static void time_limits_run_out_in_virtual_time(void **state)
{
    uint64_t limit = 3600 * 1000000000ull, t0 = T0;
    struct timespec ts;
    pthread_t t;

    (void)state;
    assert_int_equal(xs_now_ns(), t0);
    pthread_create(&t, NULL, sleeper, &limit);
    fake_advance(limit - 1);
    assert_int_equal(g_woke_ns, 0);
    fake_advance(1);
    pthread_join(t, NULL);
    assert_int_equal(g_result, -ETIMEDOUT);
    assert_int_equal(g_woke_ns, t0 + limit);
    fake_auto(true);
    ts = (struct timespec){5, 0};
    nanosleep(&ts, NULL);
    assert_int_equal(xs_now_ns(), t0 + limit + 5000000000ull);
    fake_auto(false);
}

static void *ping(void *arg)
{
    struct fake_stream *s = arg;

    for (uint32_t i = 0; i < 50; i++) {
        fake_launch(s, 10 * US, 1, NULL);
        fake_synchronize(s);
    }
    return NULL;
}

static void automatic_time_waits_for_every_thread(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct fake_stream *a = stream(d), *b = stream(d);
    pthread_t t, u;

    (void)state;
    fake_auto(true);
    pthread_create(&t, NULL, ping, a);
    pthread_create(&u, NULL, ping, b);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    fake_auto(false);
    /* never a gap: whoever wakes at an end launches at that very time */
    for (size_t i = 0; i < 100; i++) {
        size_t found = 0;

        for (size_t r = 0; r < fake_trace_count(); r++)
            found += fake_trace_get(r).what == FAKE_T_START && fake_trace_get(r).t_ns == T0 + i * 10 * US;
        assert_int_equal(found, 1);
    }
}

static void real_time_takes_its_time(void **state)
{
    struct fake_device *d;
    struct fake_stream *a;
    uint64_t began;
    _Atomic int marks = 0;

    (void)state;
    fake_world_reset(true);
    d = fake_device_create(FAKE_EXCLUSIVE);
    a = stream(d);
    began = xs_now_ns();
    for (uint32_t i = 0; i < 5; i++)
        fake_launch(a, 1000 * US, 1, NULL);
    fake_mark(a, count, &marks);
    assert_int_equal(fake_synchronize(a), FAKE_OK);
    assert_true(xs_now_ns() - began >= 5000 * US);
    assert_int_equal(marks, 1);
}

/* A thread of libpreempt that puts marks into streams may come that late. */
static void a_mark_after_the_end_of_the_world_is_refused(void **state)
{
    struct fake_stream *gone = stream(fake_device_create(FAKE_EXCLUSIVE));
    _Atomic int marks = 0;

    (void)state;
    fake_world_reset(false);
    assert_int_equal(fake_mark(gone, count, &marks), FAKE_ERROR_INVALID);
    assert_int_equal(marks, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(exclusive_runs_in_order_of_submission),
        T(shared_runs_evenly),
        T(two_devices_do_not_wait_for_each_other),
        T(marks_events_and_host_functions),
        T(polling_kernel_occupies_the_device),
        T(faults),
        T(time_limits_run_out_in_virtual_time),
        T(automatic_time_waits_for_every_thread),
        T(real_time_takes_its_time),
        T(a_mark_after_the_end_of_the_world_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
