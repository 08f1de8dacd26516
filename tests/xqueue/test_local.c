/* SPDX-License-Identifier: Apache-2.0 */
/* The local scheduler on the fake device: who starts when, to the nanosecond. */
#include "xqueue/queue.h"

#include "xqueue_test.h"

#include <stdio.h>

static _Atomic bool g_stop;

static int setup(void **state)
{
    atomic_store(&g_stop, false);
    return pair_setup(state);
}

static void flood_low(void *arg)
{
    uint64_t duration_ns = *(uint64_t *)arg;

    while (!atomic_load(&g_stop))
        fake_api_launch(g_low.stream, duration_ns, LOW);
}

/* Four kernels of 1 ms every 20 ms, open loop. */
static void requests(void *arg)
{
    int n = *(int *)arg;

    for (int i = 0; i < n; i++) {
        uint64_t next = xs_now_ns() + 20 * MS;
        struct timespec ts;

        for (int k = 0; k < 4; k++)
            fake_api_launch(g_high.stream, MS, HIGH);
        fake_api_synchronize(g_high.stream);
        if (next > xs_now_ns()) {
            ts = (struct timespec){0, (long)(next - xs_now_ns())};
            nanosleep(&ts, NULL);
        }
    }
}

static void launch_high(void *arg)
{
    (void)arg;
    fake_api_launch(g_high.stream, MS, HIGH);
}

static void launch_low(void *arg)
{
    struct lane *l = arg ? arg : &g_low;

    fake_api_launch(l->stream, 100 * US, LOW);
}

/* A kernel of the urgent lane runs, and a launch on the other one waits for its end. */
static void low_is_suspended(struct task *low, uint64_t high_ns, uint64_t so_far_ns)
{
    fake_api_launch(g_high.stream, high_ns, HIGH);
    fake_settle();
    task_start(low, launch_low, NULL);
    fake_advance(so_far_ns);
    assert_false(low->done);
}

static void high_goes_first(void **state)
{
    uint64_t duration_ns = 500 * US, waits[50], worst = 0, low_in_between = 0;
    struct task low, high;
    int n = 50;
    size_t records;
    uint64_t ready = 0, low_while_high = 0;
    bool started = false;         /* of the present request */

    (void)state;
    task_start(&low, flood_low, &duration_ns);
    fake_auto(true);
    task_start(&high, requests, &n);
    task_join(&high);
    atomic_store(&g_stop, true);
    task_join(&low);
    fake_api_synchronize(g_low.stream);
    fake_auto(false);
    records = fake_trace_count();
    assert_int_equal(fake_trace_count_of(FAKE_T_END, HIGH), 4 * n);
    for (int i = 0; i < n; i++) {
        waits[i] = fake_trace_time(FAKE_T_START, HIGH, (size_t)i * 4) - fake_trace_time(FAKE_T_LAUNCH, HIGH, (size_t)i * 4);
        worst = XS_MAX(worst, waits[i]);
    }
    /* between a request's first launch and its last end the low side launches nothing but what had
     * already passed the look, and what it had in flight is bounded */
    for (size_t i = 0; i < records; i++) {
        struct fake_record r = fake_trace_get(i);

        if (r.tag == HIGH && r.what == FAKE_T_LAUNCH)
            ready++;
        if (r.tag == HIGH && r.what == FAKE_T_END)
            ready--;
        if (r.tag == LOW && r.what == FAKE_T_LAUNCH && ready)
            low_while_high++;
        if (r.tag == HIGH && r.what == FAKE_T_START)
            started = true;
        if (!ready)
            started = false;
        if (r.tag == LOW && r.what == FAKE_T_START && started)
            low_in_between++;
    }
    print_message("high waits at most %.3f ms; %llu low launches while high was ready; %llu low kernels between\n",
                  (double)worst / 1e6, (unsigned long long)low_while_high, (unsigned long long)low_in_between);
    assert_int_equal(low_in_between, 0);
    assert_true(low_while_high <= (uint64_t)n);
    /* in flight at most 1 ms beside others (2 ms while alone), plus the kernel that runs */
    assert_true(worst <= 3 * MS);
}

static void order_of_groups(void **state)
{
    struct task t[6];
    struct lane lanes[6];
    uint32_t by[8], n = 0;

    (void)state;
    /* one long kernel runs; then six queues of three priorities get ready, the least urgent first */
    fake_api_launch(g_high.stream, 5 * MS, 9);
    for (int i = 0; i < 6; i++) {
        lanes[i] = lane_open(g_d);
        ok(XHintPriority(lanes[i].xq, -10 + 2 * (i / 2)));
    }
    fake_settle();
    for (int i = 0; i < 6; i++) {
        task_start(&t[i], launch_low, &lanes[i]);
        fake_settle();
    }
    fake_auto(true);
    for (int i = 0; i < 6; i++)
        task_join(&t[i]);
    for (int i = 0; i < 6; i++)
        ok(XQueueWaitAll(lanes[i].xq));
    fake_auto(false);
    /* by stream: the two most urgent first, then the middle, then the least */
    for (size_t i = 0; i < fake_trace_count() && n < 7; i++)
        if (fake_trace_get(i).what == FAKE_T_START)
            by[n++] = fake_trace_get(i).stream;
    assert_int_equal(n, 7);
    for (uint32_t k = 0; k < 6; k++) {
        uint32_t group = 2 - k / 2;
        bool found = by[1 + k] == fake_stream_id(lanes[2 * group].stream) ||
                     by[1 + k] == fake_stream_id(lanes[2 * group + 1].stream);

        if (!found)
            fake_trace_print(2);
        assert_true(found);
    }
    for (int i = 0; i < 6; i++)
        lane_close(&lanes[i]);
}

static void the_low_side_comes_back(void **state)
{
    struct task low;
    uint64_t end;

    (void)state;
    fake_api_launch(g_high.stream, 2 * MS, HIGH);
    fake_settle();
    task_start(&low, launch_low, NULL);
    fake_advance(2 * MS - 1);
    assert_false(low.done);
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
    end = fake_trace_time(FAKE_T_END, HIGH, 0);
    print_message("low starts %.1f us after the end of high\n",
                  (double)(fake_trace_time(FAKE_T_LAUNCH, LOW, 0) - end) / 1e3);
    assert_true(fake_trace_time(FAKE_T_LAUNCH, LOW, 0) - end <= 2 * MS);
}

/* Few short kernels of known length, whose program never waits for them: the end is told all the
 * same, and the device does not stand idle until somebody infers it. */
static void the_end_of_short_kernels_is_told(void **state)
{
    fake_auto(true);
    for (int i = 0; i < 20; i++)
        fake_api_launch(g_high.stream, 20 * US, HIGH);
    fake_api_synchronize(g_high.stream);
    fake_auto(false);
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct task low;
        uint64_t began;

        fake_advance(S);
        began = xs_now_ns();
        for (int k = 0; k <= i; k++)  /* a burst that may be over before the scheduler has looked */
            fake_api_launch(g_high.stream, 20 * US, HIGH);
        fake_settle();
        task_start(&low, launch_low, NULL);
        fake_auto(true);
        task_join(&low);
        fake_auto(false);
        assert_in_range(xs_now_ns() - began, 20 * US, 3 * MS);
    }
}

/* The first run of a kernel, longer than any silence that says something: it carries a mark. */
static void a_long_first_kernel_is_not_overtaken(void **state)
{
    struct task low;

    (void)state;
    fake_api_launch(g_high.stream, 400 * MS, HIGH);
    fake_settle();
    task_start(&low, launch_low, NULL);
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
    assert_in_range(fake_trace_time(FAKE_T_LAUNCH, LOW, 0) - fake_trace_time(FAKE_T_END, HIGH, 0), 0, 2 * MS);
}

/* A burst whose only mark had completed before anybody waited for its end: a mark is asked for. */
static void a_burst_without_a_mark_gets_one(void **state)
{
    struct task low;
    uint64_t began;

    (void)state;
    fake_auto(true);
    for (int i = 0; i < 20; i++)
        fake_api_launch(g_high.stream, 100 * US, HIGH);
    fake_api_synchronize(g_high.stream);
    fake_auto(false);
    for (int i = 0; i < 8; i++) {
        uint64_t marks;

        fake_advance(S);
        for (int k = 0; k < 4; k++) {
            fake_api_launch(g_high.stream, 100 * US, HIGH);
            fake_settle();        /* the scheduler knows of the first, and asks for no mark of the others */
        }
        fake_advance(110 * US);   /* the first is over */
        marks = fake_hal_counts().marks;
        began = xs_now_ns();
        task_start(&low, launch_low, NULL);
        fake_auto(true);
        task_join(&low);
        fake_auto(false);
        print_message("%llu marks, low after %.1f us\n", (unsigned long long)(fake_hal_counts().marks - marks),
                      (double)(xs_now_ns() - began) / 1e3);
        assert_in_range(xs_now_ns() - began, 290 * US, 5 * MS);
    }
}

static void equal_priorities_run_together(void **state)
{
    (void)state;
    ok(XHintPriority(g_low.xq, 10));
    fake_settle();
    fake_api_launch(g_high.stream, 2 * MS, HIGH);
    fake_settle();
    fake_api_launch(g_low.stream, 100 * US, LOW);      /* would hang if it were held */
    assert_int_equal(fake_stream_launched(g_low.stream), 1);
}

static void another_device_is_not_held(void **state)
{
    struct fake_device *d = fake_device_create(FAKE_EXCLUSIVE);
    struct lane other;

    (void)state;
    fake_hal_set_device(1);
    other = lane_open(d);
    ok(XHintPriority(other.xq, -100));
    fake_settle();
    fake_api_launch(g_high.stream, 2 * MS, HIGH);
    fake_settle();
    fake_api_launch(other.stream, 100 * US, LOW);
    assert_int_equal(fake_stream_launched(other.stream), 1);
    lane_close(&other);
}

static void a_change_of_priority_acts_at_once(void **state)
{
    struct task low;

    (void)state;
    low_is_suspended(&low, S / 2, MS);
    ok(XHintPriority(g_low.xq, 20));
    WAIT_FOR(low.done);
    task_join(&low);
}

static void a_swapped_priority_acts_at_once(void **state)
{
    Priority before;
    struct task low;

    (void)state;
    low_is_suspended(&low, S / 2, MS);
    ok(XHintSwapPriority(g_low.xq, 0, &before)); /* as it was */
    assert_int_equal(before, 0);
    fake_advance(MS);
    assert_false(low.done);
    ok(XHintSwapPriority(g_low.xq, 20, &before));
    WAIT_FOR(low.done);
    task_join(&low);
}

static void no_execute_never_runs(void **state)
{
    struct task low;

    (void)state;
    ok(XHintPriority(g_low.xq, PRIORITY_NO_EXECUTE));
    fake_settle();
    task_start(&low, launch_low, NULL);
    fake_advance(30 * S);                              /* alone on the device, and still not */
    assert_false(low.done);
    ok(XHintPriority(g_low.xq, PRIORITY_MIN));
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
}

static void changing_the_scheduler_resumes(void **state)
{
    struct task low;

    (void)state;
    low_is_suspended(&low, S / 2, MS);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    WAIT_FOR(low.done);                                /* without any time passing */
    task_join(&low);
}

static void queues_move_to_a_new_scheduler(void **state)
{
    struct task low;

    (void)state;
    for (int i = 0; i < 3; i++) {
        ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
        fake_settle();
        ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
        fake_settle();
    }
    low_is_suspended(&low, 10 * MS, 5 * MS);
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
}

static void the_applications_own_suspension_stays(void **state)
{
    struct task high;

    (void)state;
    ok(XQueueSuspend(g_high.xq, 0));
    task_start(&high, launch_high, NULL);
    fake_advance(S);
    assert_false(high.done);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    fake_settle();
    assert_false(high.done);
    ok(XQueueResume(g_high.xq, 0));
    task_join(&high);
}

/* A thread at a closed gate found that its lease had run out, as after Ctrl-Z and fg: it opens past the session. */
static void fail_open(struct lane *l)
{
    static struct xs_server_cell open_cell = {.permitted = XS_PERMIT_OPEN};
    struct xs_queue *q = queue_of(l->stream);

    atomic_store(&q->state->server, NULL);
    atomic_store(&q->sc, &open_cell);
}

static void it_holds_again_after_a_lease_ran_out(void **state)
{
    struct xs_state *st = queue_of(g_low.stream)->state;
    struct task low;

    (void)state;
    fail_open(&g_low);
    fail_open(&g_high);
    ok(XHintPriority(g_low.xq, 1));                    /* the control thread looks */
    WAIT_FOR(atomic_load(&st->server) != NULL);
    fake_settle();
    low_is_suspended(&low, 10 * MS, MS);
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
}

/* The urgent queue waits on the device for what a held one would do: taken for idle when it is
 * quiet long beyond its estimate, else let go by the stall rule after a second. */
static void a_circle_is_broken(void **state)
{
    struct fake_event *e, *user;
    struct task low;
    uint64_t began, held_ns;

    (void)state;
    fake_event_create_user(&user);
    fake_event_create(&e);
    fake_stream_wait_event(g_high.stream, user);
    fake_api_launch(g_high.stream, MS, HIGH);
    fake_settle();
    began = xs_now_ns();
    task_start(&low, launch_low, NULL);
    fake_auto(true);
    task_join(&low);                                   /* would hang for ever */
    fake_auto(false);
    held_ns = xs_now_ns() - began;
    print_message("released after %.3f s\n", (double)held_ns / 1e9);
    fake_event_set(user);
    assert_true(held_ns <= 1500 * MS);
}

/* A thread of the urgent side waits for a held queue: it runs meanwhile. */
static void wait_for_low(void *arg)
{
    (void)arg;
    fake_api_launch(g_high.stream, 50 * MS, HIGH);     /* what this thread is */
    fake_api_synchronize(g_low.stream);
}

static void a_waiter_lends_its_priority(void **state)
{
    struct task waiter, low;
    HwCommandHandle c;

    (void)state;
    fake_api_launch(g_high.stream, 50 * MS, HIGH);
    fake_settle();
    c = command(&g_low, 100 * US, LOW, kXSchedSuccess);
    ok(XQueueSubmit(g_low.xq, c));                     /* held in the list */
    task_start(&low, launch_low, NULL);
    fake_settle();
    assert_int_equal(fake_stream_launched(g_low.stream), 0);
    task_start(&waiter, wait_for_low, NULL);
    fake_settle();
    /* the wait itself finds an empty stream; what matters is that nothing stays held for it */
    fake_auto(true);
    task_join(&waiter);
    task_join(&low);
    ok(XQueueWait(g_low.xq, c));
    fake_auto(false);
}

static void a_destroyed_queue_lets_others_run(void **state)
{
    struct lane top = lane_open(g_d);
    struct task low;

    (void)state;
    ok(XHintPriority(top.xq, 100));
    fake_settle();
    fake_api_launch(top.stream, S / 2, HIGH);
    fake_settle();
    task_start(&low, launch_low, NULL);
    fake_advance(MS);
    assert_false(low.done);
    fake_api_stream_destroy(top.stream);               /* the queue goes, not the work */
    WAIT_FOR(low.done);
    task_join(&low);
}

/* Short requests with short breaks: the other side has a permit for 2 ms at a time. */
static void often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000 && !atomic_load(&g_stop); i++) {
        const struct timespec pause = {0, 2 * MS};

        fake_api_launch(g_high.stream, MS, HIGH);
        fake_api_synchronize(g_high.stream);
        nanosleep(&pause, NULL);
    }
}

/* The work waits for what its own thread does behind the last launch. Time with a permit counts as patience, however many
 * suspensions interrupt it. */
static void it_gets_through_between_suspensions(void **state)
{
    uint64_t begin_ns = xs_now_ns(), launched_ns;
    struct fake_event *event;
    struct task high;

    (void)state;
    task_start(&high, often, NULL);
    fake_auto(true);
    assert_int_equal(fake_event_create_user(&event), FAKE_OK);
    assert_int_equal(fake_stream_wait_event(g_low.stream, event), FAKE_OK);
    for (int i = 0; i < 40; i++)
        fake_api_launch(g_low.stream, 500 * US, LOW);
    launched_ns = xs_now_ns();
    assert_int_equal(fake_event_set(event), FAKE_OK);
    fake_api_synchronize(g_low.stream);
    atomic_store(&g_stop, true);
    task_join(&high);
    fake_auto(false);
    print_message("40 launches that wait for this thread: %.1f ms\n", (double)(launched_ns - begin_ns) / 1e6);
    assert_true(launched_ns - begin_ns < 500 * MS);
}

int main(void)
{
#define A(name) cmocka_unit_test_setup_teardown(name, setup, pair_teardown)
    const struct CMUnitTest tests[] = {
        A(high_goes_first), A(order_of_groups), A(the_low_side_comes_back), A(the_end_of_short_kernels_is_told),
        A(a_long_first_kernel_is_not_overtaken), A(a_burst_without_a_mark_gets_one), A(equal_priorities_run_together),
        A(another_device_is_not_held), A(a_change_of_priority_acts_at_once), A(no_execute_never_runs),
        A(another_device_is_not_held), A(a_swapped_priority_acts_at_once), A(no_execute_never_runs),
        A(changing_the_scheduler_resumes), A(queues_move_to_a_new_scheduler),
        A(the_applications_own_suspension_stays), A(it_holds_again_after_a_lease_ran_out), A(a_circle_is_broken),
        A(a_waiter_lends_its_priority), A(a_destroyed_queue_lets_others_run),
        A(it_gets_through_between_suspensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
