/* SPDX-License-Identifier: Apache-2.0 */
/* Legal programs that an in-flight bound would hang: the work in flight completes only after the
 * very thread that submits goes on. Such a thread passes after at most twice the estimate. */
#include "xqueue_test.h"

static int setup(void **state)
{
    lane_setup(state);
    /* what 100 us kernels take is known, so that the bound is in force */
    fake_auto(true);
    for (int i = 0; i < 50; i++)
        fake_api_launch(g_l.stream, 100 * US, 99);
    fake_api_synchronize(g_l.stream);
    fake_auto(false);
    return 0;
}

enum obstacle { USER_EVENT, WAIT_VALUE, HOST_FUNCTION, POLLING_KERNEL };

struct program {
    enum obstacle obstacle;
    _Atomic uint64_t word;
    struct fake_event *event;
    uint64_t submitted_ns;
};

static void wait_for_word(void *data)
{
    struct program *p = data;

    while (!atomic_load(&p->word)) {
        struct timespec ts = {0, 200000};

        nanosleep(&ts, NULL);     /* virtual */
    }
}

/* Puts the obstacle into the stream, then much more work than any bound allows, then takes the
 * obstacle away. */
static void program_main(void *arg)
{
    struct program *p = arg;
    uint64_t began = xs_now_ns();

    switch (p->obstacle) {
    case USER_EVENT: fake_stream_wait_event(g_l.stream, p->event); break;
    case WAIT_VALUE: fake_wait_value(g_l.stream, &p->word, 1); break;
    case HOST_FUNCTION: fake_host_func(g_l.stream, wait_for_word, p); break;
    case POLLING_KERNEL: fake_api_launch_polling(g_l.stream, &p->word, 1); break;
    }
    for (int i = 0; i < 200; i++)
        fake_api_launch(g_l.stream, 100 * US, 1);
    p->submitted_ns = xs_now_ns() - began;
    atomic_store(&p->word, 1);
    if (p->event)
        fake_event_set(p->event);
    fake_api_synchronize(g_l.stream);
}

static void run(enum obstacle obstacle)
{
    struct program p = {.obstacle = obstacle};
    struct task t;

    if (obstacle == USER_EVENT)
        fake_event_create_user(&p.event);
    task_start(&t, program_main, &p);
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 1), 200);
    print_message("all submitted after %.1f ms of virtual time\n", (double)p.submitted_ns / 1e6);
    assert_true(p.submitted_ns < 200 * MS);           /* once and for all, not once a command */
}

static void behind_a_user_event(void **state)
{
    (void)state;
    run(USER_EVENT);
}

static void behind_a_stream_wait_value(void **state)
{
    (void)state;
    run(WAIT_VALUE);
}

static void behind_a_host_function(void **state)
{
    (void)state;
    run(HOST_FUNCTION);
}

static void behind_a_polling_kernel(void **state)
{
    (void)state;
    run(POLLING_KERNEL);
}

/* After such an episode the bound is in force again. */
static void the_bound_comes_back(void **state)
{
    size_t from;
    uint64_t now = 0, most = 0;

    (void)state;
    run(WAIT_VALUE);
    from = fake_trace_count();
    fake_auto(true);
    for (int i = 0; i < 200; i++)
        fake_api_launch(g_l.stream, 100 * US, 2);
    fake_api_synchronize(g_l.stream);
    fake_auto(false);
    for (size_t i = from; i < fake_trace_count(); i++) {
        enum fake_what w = fake_trace_get(i).what;

        now += w == FAKE_T_LAUNCH;
        now -= w == FAKE_T_END;
        most = XS_MAX(most, now);
    }
    print_message("afterwards at most %llu in flight\n", (unsigned long long)most);
    assert_true(most <= 22);
}

/* With an explicit bound by count, too. */
static void behind_a_wait_value_with_a_threshold(void **state)
{
    (void)state;
    ok(XQueueSetLaunchConfig(g_l.xq, 4, 2));
    run(WAIT_VALUE);
}

/* Two streams of one program, each waiting for an event of the other. */
static void across_streams(void **state)
{
    struct lane other = lane_open(g_d);
    struct fake_event *e;

    (void)state;
    fake_auto(true);
    fake_event_create(&e);
    for (int round = 0; round < 20; round++) {
        fake_api_launch(other.stream, 100 * US, 3);
        fake_event_record(e, other.stream);
        fake_stream_wait_event(g_l.stream, e);
        for (int i = 0; i < 30; i++)
            fake_api_launch(g_l.stream, 100 * US, 4);
        fake_event_record(e, g_l.stream);
        fake_stream_wait_event(other.stream, e);
    }
    fake_api_synchronize(g_l.stream);
    fake_api_synchronize(other.stream);
    fake_auto(false);
    assert_int_equal(fake_trace_count_of(FAKE_T_END, 4), 600);
    lane_close(&other);
}

int main(void)
{
#define A(name) cmocka_unit_test_setup_teardown(name, setup, lane_teardown)
    const struct CMUnitTest tests[] = {
        A(behind_a_user_event), A(behind_a_stream_wait_value), A(behind_a_host_function), A(behind_a_polling_kernel),
        A(the_bound_comes_back), A(behind_a_wait_value_with_a_threshold), A(across_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
