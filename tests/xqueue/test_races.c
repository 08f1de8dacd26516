/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads at once: no suspension or resumption is lost, no queue is left standing, nothing
 * starts while suspended, counts add up. Meant to run under the thread sanitizer, too. */
#include "xqueue_test.h"

#include <sched.h>

#define THREADS 4
#ifdef XQUEUE_SANITIZED
#define ROUNDS 100
#else
#define ROUNDS 400
#endif

static _Atomic bool g_stop;
static _Atomic uint64_t g_launched;

static int setup(void **state)
{
    world_setup(state);
    g_d = fake_device_create(FAKE_SHARED);
    g_l = lane_open(g_d);
    atomic_store(&g_stop, false);
    atomic_store(&g_launched, 0);
    return 0;
}

static void launch_until_stopped(void *arg)
{
    (void)arg;
    while (!atomic_load(&g_stop)) {
        fake_api_launch(g_l.stream, 5 * US, 1);
        atomic_fetch_add(&g_launched, 1);
    }
}

static void suspend_and_resume(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        ok(XQueueSuspend(g_l.xq, 0));
        if (rand_r(&seed) % 4 == 0)
            sched_yield();
        ok(XQueueResume(g_l.xq, 0));
    }
}

/* However suspensions and resumptions of many threads mix: after the last resume it runs. */
static void none_is_lost(void **state)
{
    struct task launchers[2], changers[THREADS];
    int64_t n;
    uint64_t before;

    (void)state;
    fake_auto(true);
    for (int i = 0; i < 2; i++)
        task_start(&launchers[i], launch_until_stopped, NULL);
    for (int i = 0; i < THREADS; i++)
        task_start(&changers[i], suspend_and_resume, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++)
        task_join(&changers[i]);
    before = atomic_load(&g_launched);
    WAIT_FOR(atomic_load(&g_launched) > before + 10);
    atomic_store(&g_stop, true);
    for (int i = 0; i < 2; i++)
        task_join(&launchers[i]);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, g_launched);
    assert_int_equal(fake_stream_completed(g_l.stream), g_launched);
}

/* After a suspension has returned, at most one command a thread still comes. */
static void suspended_means_suspended(void **state)
{
    struct task launchers[THREADS];

    (void)state;
    fake_auto(true);
    for (int i = 0; i < THREADS; i++)
        task_start(&launchers[i], launch_until_stopped, NULL);
    for (int round = 0; round < ROUNDS / 20; round++) {
        uint64_t at_suspension, later;

        ok(XQueueSuspend(g_l.xq, 0));
        at_suspension = fake_stream_launched(g_l.stream);
        for (int i = 0; i < 20; i++)
            sched_yield();
        later = fake_stream_launched(g_l.stream);
        assert_true(later - at_suspension <= THREADS);
        ok(XQueueSuspend(g_l.xq, kQueueSuspendFlagSyncHwQueue));
        at_suspension = fake_stream_launched(g_l.stream);
        assert_int_equal(fake_stream_completed(g_l.stream), at_suspension);
        for (int i = 0; i < 20; i++)
            sched_yield();
        assert_int_equal(fake_stream_launched(g_l.stream), at_suspension);   /* now none at all */
        ok(XQueueResume(g_l.xq, 0));
        WAIT_FOR(fake_stream_launched(g_l.stream) > at_suspension);
    }
    atomic_store(&g_stop, true);
    for (int i = 0; i < THREADS; i++)
        task_join(&launchers[i]);
    fake_auto(false);
}

static void configure(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        switch (rand_r(&seed) % 6) {
        case 0: ok(XQueueSetLaunchConfig(g_l.xq, 1 + rand_r(&seed) % 20, 1)); break;
        case 1: ok(XHintPriority(g_l.xq, rand_r(&seed) % 100)); break;
        case 2: ok(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelBlock)); break;
        case 3: ok(XHintTimeslice(1000)); break;
        case 4: {
            XQueueState st;

            ok(XQueueQuery(g_l.xq, &st));
            break;
        }
        default: ok(XHintSetScheduler(rand_r(&seed) % 2 ? kSchedulerLocal : kSchedulerAppManaged,
                                      kPolicyHighestPriorityFirst));
        }
    }
}

static void everything_at_once(void **state)
{
    struct task launchers[2], changers[2], configurers[2];

    (void)state;
    fake_auto(true);
    for (int i = 0; i < 2; i++) {
        task_start(&launchers[i], launch_until_stopped, NULL);
        task_start(&changers[i], suspend_and_resume, (void *)(uintptr_t)(i + 1));
        task_start(&configurers[i], configure, (void *)(uintptr_t)(i + 7));
    }
    for (int i = 0; i < 2; i++) {
        task_join(&changers[i]);
        task_join(&configurers[i]);
    }
    atomic_store(&g_stop, true);
    for (int i = 0; i < 2; i++)
        task_join(&launchers[i]);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    assert_int_equal(fake_stream_completed(g_l.stream), g_launched);
}

static _Atomic uint64_t g_called;

static XResult count_call(HwQueueHandle hwq, void *data)
{
    (void)hwq;
    (void)data;
    atomic_fetch_add(&g_called, 1);
    return fake_launch(g_l.stream, 5 * US, 2, NULL) == FAKE_OK ? kXSchedSuccess : kXSchedErrorHardware;
}

static void submit_commands(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS / 2; i++) {
        HwCommandHandle c;

        ok(HwCommandCreateCallback(&c, count_call, NULL));
        ok(XQueueSubmit(g_l.xq, c));
        if (i % 2)
            ok(XQueueWait(g_l.xq, c));
        else
            while (HwCommandDestroy(c) == kXSchedErrorNotAllowed) {
                struct timespec ts = {0, 20000};

                nanosleep(&ts, NULL);     /* virtual */
            }
    }
}

/* Commands from many threads while others suspend and resume: each runs exactly once. */
static void commands_run_exactly_once(void **state)
{
    struct task submitters[THREADS], changers[2];

    (void)state;
    atomic_store(&g_called, 0);
    fake_auto(true);
    for (int i = 0; i < THREADS; i++)
        task_start(&submitters[i], submit_commands, NULL);
    for (int i = 0; i < 2; i++)
        task_start(&changers[i], suspend_and_resume, (void *)(uintptr_t)(i + 3));
    for (int i = 0; i < 2; i++)
        task_join(&changers[i]);
    for (int i = 0; i < THREADS; i++)
        task_join(&submitters[i]);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
    assert_int_equal(g_called, THREADS * (ROUNDS / 2));
}

static void make_and_destroy(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct fake_stream *s;
        HwQueueHandle hwq;
        XQueueHandle xq;

        fake_stream_create(g_d, &s);
        ok(fake_queue_create(&hwq, s));
        ok(XQueueCreate(&xq, hwq, 1, 0));
        fake_api_launch(s, 5 * US, 3);
        if (i % 2) {
            ok(XQueueDestroy(xq));
            ok(HwQueueDestroy(hwq));
            fake_stream_destroy(s);
        } else {
            fake_api_stream_destroy(s);
        }
    }
}

static void hint_strangers(void *arg)
{
    /* handles of queues that come and go: found or not found, never anything else */
    (void)arg;
    while (!atomic_load(&g_stop)) {
        struct timespec ts = {0, 200000};

        nanosleep(&ts, NULL);     /* virtual: asleep now and then, so that time goes on */
        for (XQueueHandle h = g_l.xq; h < g_l.xq + 64; h++) {
            XResult r = XHintPriority(h, 1);

            assert_true(r == kXSchedSuccess || r == kXSchedErrorNotFound);
            r = XQueueSuspend(h, 0);
            assert_true(r == kXSchedSuccess || r == kXSchedErrorNotFound);
            r = XQueueResume(h, 0);
            assert_true(r == kXSchedSuccess || r == kXSchedErrorNotFound);
        }
    }
}

static void queues_come_and_go(void **state)
{
    struct task makers[THREADS], stranger;

    (void)state;
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    fake_auto(true);
    for (int i = 0; i < THREADS; i++)
        task_start(&makers[i], make_and_destroy, NULL);
    task_start(&stranger, hint_strangers, NULL);
    for (int i = 0; i < THREADS; i++)
        task_join(&makers[i]);
    atomic_store(&g_stop, true);
    task_join(&stranger);
    fake_auto(false);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
}

int main(void)
{
#define A(name) cmocka_unit_test_setup_teardown(name, setup, lane_teardown)
    const struct CMUnitTest tests[] = {
        A(none_is_lost), A(suspended_means_suspended), A(everything_at_once), A(commands_run_exactly_once),
        A(queues_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
