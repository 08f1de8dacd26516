/* SPDX-License-Identifier: Apache-2.0 */
/* Marks while somebody waits for a queue's end: which commands get one, and those from outside. The fake
 * ends the process when it is called from inside its own call to us, as a driver that holds a lock then
 * would deadlock: a libpreempt that marks where it is told of a completion does not survive the first of
 * these. */
#include "xqueue_test.h"


/* A platform whose streams are marked by the submitting thread alone. */
static int setup_no_outside(void **state)
{
    world_setup(state);
    fake_hal_no_outside();
    pair_open();
    return 0;
}

static int teardown(void **state)
{
    fake_hal_unblock();
    return pair_teardown(state);
}

static _Atomic uint64_t g_low_went_ns;

static void launch_low(void *arg)
{
    (void)arg;
    fake_api_launch(g_low.stream, 100 * US, LOW);
    atomic_store(&g_low_went_ns, xs_now_ns());
}

/* What a kernel takes is learnt, so that not each of them is marked. */
static void learn(struct lane *l)
{
    fake_auto(true);
    for (int i = 0; i < 40; i++)
        fake_api_launch(l->stream, i % 2 ? 20 * US : 5 * US, HIGH);
    fake_api_synchronize(l->stream);
    fake_auto(false);
    fake_advance(S);
}

/* A burst that nobody waits for, then the low side. @return how long that had to wait */
static uint64_t burst(struct lane *l, int n)
{
    struct task low;
    uint64_t began = xs_now_ns();

    for (int k = 0; k < n; k++) {
        fake_api_launch(l->stream, 20 * US, HIGH);
        fake_settle();            /* the scheduler knows of the first, and asks for no mark of the others */
    }
    task_start(&low, launch_low, NULL);
    fake_auto(true);
    task_join(&low);
    fake_auto(false);
    return xs_now_ns() - began;
}

/* n launches of the high side 10 us apart while the low side waits for its end, of kernels that take so long. @return how many
 * marks they had */
static uint64_t marks_of_kernels(int n, uint64_t ns, struct task *low)
{
    uint64_t before;

    fake_api_launch(g_high.stream, 20 * US, HIGH);
    fake_settle();
    task_start(low, launch_low, NULL);
    fake_settle();
    before = fake_hal_counts().marks;
    for (int i = 0; i < n; i++) {
        fake_api_launch(g_high.stream, ns, HIGH);
        fake_advance(10 * US);
    }
    return fake_hal_counts().marks - before;
}

static uint64_t marks_of(int n, struct task *low)
{
    return marks_of_kernels(n, 20 * US, low);
}

static void let_low_run(struct task *low, bool synchronize)
{
    fake_auto(true);
    if (synchronize)
        fake_api_synchronize(g_high.stream);
    task_join(low);
    fake_auto(false);
    fake_advance(50 * MS);
}

/* A mark for each of its launches makes a burst longer. */
static void few_in_a_burst(void **state)
{
    struct task low;

    (void)state;
    learn(&g_high);
    for (int i = 0; i < 5; i++) {
        assert_in_range(marks_of(100, &low), 5, 20);
        let_low_run(&low, true);
    }
}

/* The end of it is told by the last launch's mark, which the call puts there that waits for it. */
static void one_where_the_end_is_waited_for(void **state)
{
    struct task low;
    uint64_t began, marks;

    (void)state;
    learn(&g_high);
    marks_of(5, &low);
    marks = fake_hal_counts().marks;
    began = xs_now_ns();
    let_low_run(&low, true);
    assert_int_equal(fake_hal_counts().marks, marks + 2); /* and the low side's, which was never timed */
    assert_in_range(xs_now_ns() - began - 50 * MS, 0, 400 * US);
}

/* No thread waits for the end, and no other thread may mark it. The scheduler finds the first end late. Then each launch has a
 * mark, until the earned ones are spent or the program waits for an end. */
static void each_where_nobody_waits(void **state)
{
    struct task low;
    uint64_t began;

    (void)state;
    learn(&g_high);
    for (int i = 0; i < 6; i++) {
        uint64_t marks = marks_of(5, &low);

        began = xs_now_ns();
        let_low_run(&low, false);
        if (i == 0) {
            assert_in_range(marks, 0, 2);
            assert_in_range(xs_now_ns() - began - 50 * MS, 50 * MS, 60 * MS);
        } else {
            assert_int_equal(marks, 5);
            assert_in_range(xs_now_ns() - began - 50 * MS, 0, 400 * US);
        }
    }
    assert_in_range(marks_of_kernels(4000, 5 * US, &low), 2450, 2700); /* a pause earns 2450; the others: one in 100 us */
    let_low_run(&low, false);
    marks_of(5, &low);
    let_low_run(&low, false);
    assert_int_equal(marks_of(50, &low), 50);
    let_low_run(&low, true);
    assert_in_range(marks_of(100, &low), 5, 20);
    let_low_run(&low, true);
}

static _Atomic bool g_stop;

static void flood_low(void *arg)
{
    (void)arg;
    while (!atomic_load(&g_stop))
        fake_api_launch(g_low.stream, 50 * US, LOW);
}

/* A program that launches again and again has pauses, too: its host hesitates. Another one has work all the time.
 * @return how many marks of its own 100 launches had behind each pause, on average */
static double marks_beside_pauses(uint64_t pause_ns)
{
    struct task low;
    uint64_t before, marks = 0, launches = 0;

    fake_api_launch(g_high.stream, 20 * US, HIGH);
    fake_settle();
    atomic_store(&g_stop, false);
    task_start(&low, flood_low, NULL);
    fake_settle();
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 100; k++) {
            before = fake_hal_counts().marks;
            fake_api_launch(g_high.stream, 5 * US, HIGH);
            marks += i ? fake_hal_counts().marks - before : 0; /* the first are behind no pause */
            launches += i != 0;
            fake_advance(10 * US);
        }
        fake_advance(pause_ns);
    }
    atomic_store(&g_stop, true);
    let_low_run(&low, true);
    return 100.0 * (double)marks / (double)launches;
}

/* Others gain nothing in a short pause, so it earns none. A pause that does not pay for 100 marks earns none, either. */
static void a_pause_earns_marks(void **state)
{
    static const struct { uint64_t pause_ns; unsigned least, most; } k_rows[] = {
        {0, 5, 20}, {300 * US, 5, 20}, {900 * US, 5, 20}, {2 * MS, 5, 20}, {5 * MS, 95, 100},
    };

    (void)state;
    learn(&g_high);
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        double marks = marks_beside_pauses(k_rows[i].pause_ns);

        print_message("a pause of %llu us: %.1f of 100 launches have a mark\n",
                      (unsigned long long)(k_rows[i].pause_ns / US), marks);
        assert_in_range((unsigned)(marks + 0.5), k_rows[i].least, k_rows[i].most);
    }
}

/* As a call that waits for a whole context: it marks nothing. */
static void wait_for_all(void *arg)
{
    struct xs_queue *q = queue_of(g_high.stream);
    uint64_t began = xsched_priv_wait_begin(q);

    (void)arg;
    xsched_priv_wait_end(q, began, fake_synchronize(g_high.stream) == FAKE_OK);
}

/* A last command without a mark that takes 10,000 times what it was thought to take: the low side does not run beside it
 * while a thread waits for it in a call, and such ends are not ends that nobody waits for. */
static void a_call_that_waits_tells(void **state)
{
    struct task low, waiter;

    (void)state;
    learn(&g_high);
    for (int i = 0; i < 4; i++) {
        uint64_t began = xs_now_ns();

        marks_of(3, &low);
        fake_api_launch_with(g_high.stream, 200 * MS, HIGH, fake_api_key(20 * US), 0);
        task_start(&waiter, wait_for_all, NULL);
        let_low_run(&low, false);
        task_join(&waiter);
        assert_in_range(atomic_load(&g_low_went_ns) - began, 200 * MS, 210 * MS);
    }
    assert_in_range(marks_of(100, &low), 5, 20);
    let_low_run(&low, true);
}

static void from_a_thread_of_their_own(void **state)
{
    int before;

    (void)state;
    learn(&g_high);
    before = threads();
    for (int i = 2; i < 10; i++) {
        assert_in_range(burst(&g_high, i), 20 * US, 3 * MS);
        fake_advance(50 * MS);
    }
    assert_true(fake_hal_counts().outside > 0);
    fake_advance(S);
    WAIT_FOR(threads() <= before); /* and no thread stays for it */
}

static void one_that_is_stuck_harms_nobody(void **state)
{
    struct lane other = lane_open(g_d);
    uint64_t outside;

    (void)state;
    ok(XHintPriority(other.xq, 5));
    learn(&g_high);
    learn(&other);
    outside = fake_hal_counts().outside;
    fake_hal_block_outside();
    for (int i = 2; fake_hal_counts().outside == outside; i = i % 8 + 2) {
        assert_in_range(burst(&g_high, i), 20 * US, 200 * MS); /* noticed late, but noticed */
        fake_advance(50 * MS);
    }
    assert_int_equal(fake_hal_counts().outside, outside + 1);
    fake_advance(3 * S);
    for (int i = 2; i < 10; i++) {                         /* as if nothing had happened */
        assert_in_range(burst(&other, i), 20 * US, 3 * MS);
        fake_advance(50 * MS);
    }
    assert_true(fake_hal_counts().outside > outside + 1);
    lane_close(&g_high);                                   /* also the queue itself can go */
    g_high.stream = NULL;
    fake_hal_unblock();
    lane_close(&other);
}

static void bursts_that_end_by_destruction(void *arg)
{
    (void)arg;
    for (int i = 0; i < 150; i++) {
        struct lane l = lane_open(g_d);

        ok(XHintPriority(l.xq, 10 + i % 3));
        for (int k = 0; k < 2 + i % 7; k++)
            fake_api_launch(l.stream, 20 * US, HIGH);
        if (i % 3 == 0)
            fake_api_synchronize(l.stream);
        if (i % 2) {
            fake_api_stream_destroy(l.stream);
        } else {
            ok(XQueueDestroy(l.xq));
            ok(HwQueueDestroy(l.hwq));
        }
    }
}

/* Completions, marks from outside and the end of the queues that they are for, all at once. */
static void queues_end_under_it(void **state)
{
    struct task low, makers[3];

    (void)state;
    atomic_store(&g_stop, false);
    fake_auto(true);
    task_start(&low, flood_low, NULL);
    for (int i = 0; i < 3; i++)
        task_start(&makers[i], bursts_that_end_by_destruction, NULL);
    for (int i = 0; i < 3; i++)
        task_join(&makers[i]);
    atomic_store(&g_stop, true);
    task_join(&low);
    fake_auto(false);
}

int main(void)
{
#define A(name) cmocka_unit_test_setup_teardown(name, pair_setup, teardown)
    const struct CMUnitTest tests[] = {
        A(few_in_a_burst),
        A(one_where_the_end_is_waited_for),
        cmocka_unit_test_setup_teardown(each_where_nobody_waits, setup_no_outside, teardown),
        cmocka_unit_test_setup_teardown(a_pause_earns_marks, setup_no_outside, teardown),
        cmocka_unit_test_setup_teardown(a_call_that_waits_tells, setup_no_outside, teardown),
        A(from_a_thread_of_their_own),
        A(one_that_is_stuck_harms_nobody),
        A(queues_end_under_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
