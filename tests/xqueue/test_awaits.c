/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose work waits for the host, turn by turn: they are as fast as without XSched, and the time for which
 * their commands waited is no time of the device. Virtual time. */
#include "xqueue_test.h"

#define PAUSE_NS (2 * MS)         /* what the host does before it lets the work go on */
#define WORK_NS  (5 * US)         /* a command, of which a round has three */

/* How a round waits for the host. */
enum obstacle {
    SEEN_WAIT,                    /* a wait for a value that the shim sees */
    UNSEEN_WAIT,                  /* one that it does not see */
    POLLING_KERNEL,
    HOST_FUNCTION,                /* which the shim sees; it lasts as long as the pause */
    OTHER_STREAM,                 /* the rest goes to a stream that waits for an event behind a wait that the shim sees */
    BEHIND_WORK_SEEN, BEHIND_WORK, /* a kernel of a quarter of a pause, then the wait */
    DEFERRED,                     /* the wait and the rest are commands of XQueueSubmit */
    OBSTACLES
};

struct program {
    enum obstacle obstacle;
    struct lane other;
    struct fake_event *event;
    _Atomic uint64_t word;
    uint64_t round;
    uint64_t until_ns, slowest_ns;
};

static void pause_ns(uint64_t ns)
{
    struct timespec ts = {(time_t)(ns / S), (long)(ns % S)};

    nanosleep(&ts, NULL);         /* virtual */
}

static void host_function(void *data)
{
    (void)data;
    pause_ns(PAUSE_NS);
}

static XResult wait_in_command(HwQueueHandle hwq, void *data)
{
    struct program *p = data;

    (void)hwq;
    return fake_api_wait_value(g_l.stream, &p->word, p->round) == FAKE_OK ? kXSchedSuccess : kXSchedErrorHardware;
}

static void submit_deferred(struct program *p)
{
    HwCommandHandle wait;

    ok(HwCommandCreateCallback(&wait, wait_in_command, p));
    ok(XQueueSubmit(g_l.xq, wait));
    for (int i = 0; i < 3; i++)
        ok(XQueueSubmit(g_l.xq, command(&g_l, WORK_NS, 1, kXSchedSuccess)));
}

static void round_of(struct program *p)
{
    struct fake_stream *s = g_l.stream, *rest = p->obstacle == OTHER_STREAM ? p->other.stream : s;

    p->round++;
    switch (p->obstacle) {
    case SEEN_WAIT: case OTHER_STREAM: fake_api_wait_value(s, &p->word, p->round); break;
    case BEHIND_WORK_SEEN:
        fake_api_launch(s, PAUSE_NS / 4, 4);
        fake_api_wait_value(s, &p->word, p->round);
        break;
    case BEHIND_WORK:
        fake_api_launch(s, PAUSE_NS / 4, 4);
        fake_wait_value(s, &p->word, p->round);
        break;
    case UNSEEN_WAIT: fake_wait_value(s, &p->word, p->round); break;
    case POLLING_KERNEL: fake_api_launch_polling(s, &p->word, p->round); break;
    case HOST_FUNCTION: fake_api_host_func(s, host_function, p); break;
    case DEFERRED: submit_deferred(p); break;
    case OBSTACLES: break;
    }
    if (p->obstacle != DEFERRED) {
        fake_api_launch(s, WORK_NS, 1);
        if (rest != s) {
            fake_event_record(p->event, s);
            fake_api_stream_waits(rest, s, p->event);
        }
        fake_api_launch(rest, WORK_NS + 1, 1);
        fake_api_launch(rest, WORK_NS + 2, 1);
    }
    if (p->obstacle != HOST_FUNCTION)
        pause_ns(PAUSE_NS);
    atomic_store(&p->word, p->round);
    if (p->obstacle == DEFERRED)
        ok(XQueueWaitAll(g_l.xq));
    fake_api_synchronize(rest);
}

static void program_main(void *arg)
{
    struct program *p = arg;

    while (xs_now_ns() < p->until_ns) {
        uint64_t began = xs_now_ns();

        round_of(p);
        p->slowest_ns = XS_MAX(p->slowest_ns, xs_now_ns() - began);
    }
}

/* @return rounds a second in these seconds */
static double rate(struct program *p, uint64_t seconds)
{
    uint64_t before = p->round;
    struct task t;

    p->until_ns = xs_now_ns() + seconds * S;
    p->slowest_ns = 0;
    task_start(&t, program_main, p);
    fake_auto(true);
    task_join(&t);
    fake_auto(false);
    return (double)(p->round - before) / (double)seconds;
}

static const double k_native = (double)S / (double)(PAUSE_NS + 3 * WORK_NS);

/* A wait that the shim does not see looks like a kernel that takes as long. Behind other work that is more than the bound
 * allows in flight, so the program waits for that work in each round. It must not get slower from round to round. */
static double least(enum obstacle obstacle)
{
    return obstacle == BEHIND_WORK ? 0.6 : 0.9;
}

static void as_fast_as_without(enum obstacle obstacle)
{
    static const char *const names[OBSTACLES] = {"a wait that the shim sees", "a wait that it does not see", "a polling kernel",
                                                 "a host function", "in two streams", "a wait that the shim sees, behind work",
                                                 "a wait that it does not see, behind work", "deferred"};
    struct program p = {.obstacle = obstacle};
    double first, later;

    p.other = lane_open(g_d);
    fake_event_create(&p.event);
    first = rate(&p, 7);
    later = rate(&p, 7);
    print_message("%s: %.0f rounds a second, then %.0f; without XSched %.0f; the slowest then takes %.1f ms\n", names[obstacle],
                  first, later, k_native, (double)p.slowest_ns / 1e6);
    assert_true(first >= least(obstacle) * k_native);
    assert_true(later >= 0.95 * first);
    lane_close(&p.other);
}

static void behind_a_wait_that_the_shim_sees(void **state)
{
    (void)state;
    as_fast_as_without(SEEN_WAIT);
}

static void behind_a_wait_that_it_does_not_see(void **state)
{
    (void)state;
    as_fast_as_without(UNSEEN_WAIT);
}

static void behind_a_polling_kernel(void **state)
{
    (void)state;
    as_fast_as_without(POLLING_KERNEL);
}

static void behind_a_host_function(void **state)
{
    (void)state;
    as_fast_as_without(HOST_FUNCTION);
}

static void in_two_streams(void **state)
{
    (void)state;
    as_fast_as_without(OTHER_STREAM);
}

static void behind_work_and_a_wait_that_the_shim_sees(void **state)
{
    (void)state;
    as_fast_as_without(BEHIND_WORK_SEEN);
}

static void behind_work_and_a_wait_that_it_does_not_see(void **state)
{
    (void)state;
    as_fast_as_without(BEHIND_WORK);
}

static void deferred(void **state)
{
    (void)state;
    as_fast_as_without(DEFERRED);
}

/* A program that was suspended for three seconds is as fast afterwards, whatever stood in its streams meanwhile. */
static void after_a_suspension(void **state)
{
    (void)state;
    for (enum obstacle o = 0; o < OBSTACLES; o++) {
        struct program p = {.obstacle = o};
        struct task t;
        double after;

        p.other = lane_open(g_d);
        fake_event_create(&p.event);
        rate(&p, 2);
        p.until_ns = xs_now_ns() + 4 * S;
        task_start(&t, program_main, &p);
        fake_auto(true);
        pause_ns(501 * MS);       /* in the middle of a round */
        ok(XQueueSuspend(g_l.xq, 0));
        ok(XQueueSuspend(p.other.xq, 0));
        pause_ns(3 * S);
        ok(XQueueResume(g_l.xq, 0));
        ok(XQueueResume(p.other.xq, 0));
        task_join(&t);
        fake_auto(false);
        after = rate(&p, 2);
        print_message("%d: %.0f rounds a second afterwards, the slowest takes %.1f ms\n", o, after, (double)p.slowest_ns / 1e6);
        assert_true(after >= least(o) * k_native);
        lane_close(&p.other);
    }
}

static uint64_t device_ns(const struct program *p)
{
    return atomic_load(&cell_of(g_l.stream)->est_completed_ns) + atomic_load(&cell_of(p->other.stream)->est_completed_ns);
}

/* The time for which commands waited is not counted as theirs. */
static void what_commands_take(void **state)
{
    static const enum obstacle seen[] = {SEEN_WAIT, HOST_FUNCTION, OTHER_STREAM};

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(seen); i++) {
        struct program p = {.obstacle = seen[i]};
        uint64_t before, ns, round;

        p.other = lane_open(g_d);
        fake_event_create(&p.event);
        rate(&p, 1);
        before = device_ns(&p);
        round = p.round;
        rate(&p, 1);
        ns = (device_ns(&p) - before) / (p.round - round);
        print_message("%d: %llu us of the device a round\n", seen[i], (unsigned long long)(ns / US));
        assert_in_range(ns, 1, 6 * WORK_NS);
        lane_close(&p.other);
    }
}

/* Afterwards the bound is in force again. */
static void the_bound_comes_back(void **state)
{
    (void)state;
    for (enum obstacle o = 0; o < OBSTACLES; o++) {
        struct program p = {.obstacle = o};
        size_t from;

        p.other = lane_open(g_d);
        fake_event_create(&p.event);
        rate(&p, 2);
        fake_auto(true);
        for (int i = 0; i < 600; i++) {
            if (i == 200)         /* a program whose waits were in vain may pass the bound a few times more */
                from = fake_trace_count();
            fake_api_launch(g_l.stream, 100 * US, 2);
        }
        fake_api_synchronize(g_l.stream);
        fake_auto(false);
        print_message("%d: at most %llu in flight\n", o, (unsigned long long)most_in_flight(from));
        assert_true(most_in_flight(from) <= 22);
        lane_close(&p.other);
    }
}

/* While the stream stands at such a wait, a bound by count is in force. */
static void no_more_than_so_many(void **state)
{
    _Atomic uint64_t word = 0;
    struct task t;
    struct program p = {.obstacle = SEEN_WAIT};

    (void)state;
    (void)t;
    rate(&p, 1);
    fake_api_wait_value(g_l.stream, &word, 1);
    fake_auto(true);
    for (int i = 0; i < 500; i++)
        fake_api_launch(g_l.stream, 100 * US, 3);
    assert_int_equal(fake_stream_launched(g_l.stream), fake_stream_completed(g_l.stream) + 500);
    fake_auto(false);
    atomic_store(&word, 1);
    fake_auto(true);
    fake_api_synchronize(g_l.stream);
    fake_auto(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        L(behind_a_wait_that_the_shim_sees), L(behind_a_wait_that_it_does_not_see), L(behind_a_polling_kernel),
        L(behind_a_host_function), L(in_two_streams), L(behind_work_and_a_wait_that_the_shim_sees),
        L(behind_work_and_a_wait_that_it_does_not_see), L(deferred), L(after_a_suspension), L(what_commands_take),
        L(the_bound_comes_back), L(no_more_than_so_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
