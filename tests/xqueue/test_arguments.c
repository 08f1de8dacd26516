/* SPDX-License-Identifier: Apache-2.0 */
/* The 24 public functions with right and wrong arguments. */
#include "wire/unseen.h"
#include "xqueue/queue.h"

#include "xqueue_test.h"

#include <dlfcn.h>

#define NOBODY 0x7fff1234ull

static XResult nothing(HwQueueHandle hwq, void *data)
{
    (void)hwq;
    (void)data;
    return kXSchedSuccess;
}

static void xqueue_create(void **state)
{
    struct fake_stream *s;
    HwQueueHandle hwq;
    XQueueHandle xq = 77, again = 0, got = 78;

    (void)state;
    fake_stream_create(g_d, &s);
    ok(fake_queue_create(&hwq, s));
    assert_int_equal(XQueueCreate(NULL, hwq, 1, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueCreate(&xq, hwq, 0, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueCreate(&xq, hwq, 4, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueCreate(&xq, hwq, -1, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueCreate(&xq, hwq, (int64_t)1 << 32 | 1, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueCreate(&xq, NOBODY, 1, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueCreate(&xq, 0, 1, 0), kXSchedErrorNotFound);
    assert_int_equal(xq, 77);                          /* outputs change only on success */
    assert_int_equal(XQueueGet(&got, hwq), kXSchedErrorNotFound);
    assert_int_equal(got, 78);
    ok(XQueueCreate(&xq, hwq, 1, 0));
    assert_int_not_equal(xq, 0);
    ok(XQueueCreate(&again, hwq, 1, 0));
    assert_int_equal(again, xq);
    ok(XQueueGet(&got, hwq));
    assert_int_equal(got, xq);
    assert_int_equal(XQueueGet(NULL, hwq), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueGet(&got, NOBODY), kXSchedErrorNotFound);
    assert_int_equal(XQueueDestroy(NOBODY), kXSchedErrorNotFound);
    assert_int_equal(HwQueueDestroy(hwq), kXSchedErrorNotAllowed);
    ok(XQueueDestroy(xq));
    assert_int_equal(XQueueDestroy(xq), kXSchedErrorNotFound);
    assert_int_equal(XQueueGet(&got, hwq), kXSchedErrorNotFound);
    ok(XQueueCreate(&again, hwq, 1, 0));
    assert_int_not_equal(again, xq);                   /* handles are not used twice */
    ok(XQueueDestroy(again));
    ok(HwQueueDestroy(hwq));
    assert_int_equal(HwQueueDestroy(hwq), kXSchedErrorNotFound);
    assert_int_equal(fake_hal_counts().releases, 1);
    assert_int_equal(HwQueueSynchronize(hwq), kXSchedErrorNotFound);
    assert_int_equal(XQueueCreate(&again, hwq, 1, 0), kXSchedErrorNotFound);
}

static void hwqueue_create_gives_the_same_handle(void **state)
{
    HwQueueHandle again = 0;

    (void)state;
    ok(fake_queue_create(&again, g_l.stream));
    assert_int_equal(again, g_l.hwq);
    assert_int_equal(xsched_priv_hwq_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)g_l.stream), g_l.hwq);
    assert_int_equal(xsched_priv_hwq_find(kPlatformOpenCL, (uint64_t)(uintptr_t)g_l.stream), 0);
}

static void commands(void **state)
{
    HwCommandHandle c = 5;

    (void)state;
    assert_int_equal(HwCommandCreateCallback(NULL, nothing, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(HwCommandCreateCallback(&c, NULL, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(c, 5);
    ok(HwCommandCreateCallback(&c, nothing, NULL));
    assert_int_equal(XQueueSubmit(NOBODY, c), kXSchedErrorNotFound);
    assert_int_equal(XQueueSubmit(g_l.xq, NOBODY), kXSchedErrorNotFound);
    assert_int_equal(XQueueSubmit(g_l.xq, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueWait(g_l.xq, NOBODY), kXSchedErrorNotFound);
    assert_int_equal(XQueueWait(NOBODY, c), kXSchedErrorNotFound);
    assert_int_equal(XQueueWaitAll(NOBODY), kXSchedErrorNotFound);
    assert_int_equal(HwQueueLaunch(NOBODY, c), kXSchedErrorNotFound);
    assert_int_equal(HwQueueLaunch(g_l.hwq, NOBODY), kXSchedErrorNotFound);
    assert_int_equal(XQueueWait(g_l.xq, c), kXSchedErrorNotFound);   /* never submitted to it */
    ok(HwQueueLaunch(g_l.hwq, c));
    ok(HwCommandDestroy(c));
    assert_int_equal(HwCommandDestroy(c), kXSchedErrorNotFound);
    assert_int_equal(XQueueSubmit(g_l.xq, c), kXSchedErrorNotFound);
    assert_int_equal(HwCommandDestroy(0), kXSchedErrorNotFound);
}

static void queries(void **state)
{
    XQueueState st = kQueueStateUnknown;
    int64_t n = -1;

    (void)state;
    assert_int_equal(XQueueQuery(g_l.xq, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueQuery(NOBODY, &st), kXSchedErrorNotFound);
    assert_int_equal(XQueueProfileHwCommandCount(g_l.xq, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueProfileHwCommandCount(NOBODY, &n), kXSchedErrorNotFound);
    assert_int_equal(n, -1);
    ok(XQueueQuery(g_l.xq, &st));
    assert_int_equal(st, kQueueStateIdle);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, 0);
    ok(XQueueSetLaunchConfig(g_l.xq, 64, 8));          /* else the second of an unknown kernel waits */
    for (int i = 0; i < 3; i++)
        fake_api_launch(g_l.stream, 10 * US, 1);
    ok(XQueueProfileHwCommandCount(g_l.xq, &n));
    assert_int_equal(n, 3);
    ok(XQueueQuery(g_l.xq, &st));
    assert_int_equal(st, kQueueStateReady);
    fake_advance(30 * US);
    ok(XQueueQuery(g_l.xq, &st));
    fake_advance(0);
    ok(XQueueQuery(g_l.xq, &st));
    assert_int_equal(st, kQueueStateIdle);
    assert_int_equal(xsched_priv_scheduled_count() > 0, 1);
}

static void suspend_and_resume(void **state)
{
    (void)state;
    assert_int_equal(XQueueSuspend(NOBODY, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueResume(NOBODY, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueSuspend(g_l.xq, 0x100), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueResume(g_l.xq, 0x100), kXSchedErrorInvalidValue);
    ok(XQueueSuspend(g_l.xq, kQueueSuspendFlagNone));
    ok(XQueueSuspend(g_l.xq, kQueueSuspendFlagMaskAll));
    ok(XQueueResume(g_l.xq, kQueueResumeFlagNone));
    ok(XQueueResume(g_l.xq, kQueueResumeFlagMaskAll));
}

static void configuration(void **state)
{
    (void)state;
    assert_int_equal(XQueueSetPreemptLevel(NOBODY, kPreemptLevelBlock), kXSchedErrorNotFound);
    assert_int_equal(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelUnknown), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelMax), kXSchedErrorInvalidValue);
    assert_int_equal(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelDeactivate), kXSchedErrorNotSupported);
    assert_int_equal(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelInterrupt), kXSchedErrorNotSupported);
    ok(XQueueSetPreemptLevel(g_l.xq, kPreemptLevelBlock));
    assert_int_equal(XQueueSetLaunchConfig(NOBODY, 4, 2), kXSchedErrorNotFound);
    assert_int_equal(XQueueSetLaunchConfig(g_l.xq, 4, 5), kXSchedErrorInvalidValue);
    ok(XQueueSetLaunchConfig(g_l.xq, 32, 4));
    assert_int_equal(XQueueSetLaunchConfig(g_l.xq, 0, 33), kXSchedErrorInvalidValue); /* more than the 32 in force */
    ok(XQueueSetLaunchConfig(g_l.xq, 0, 32));
    ok(XQueueSetLaunchConfig(g_l.xq, -1, -1));
    ok(XQueueSetLaunchConfig(g_l.xq, 1, 1));
}

static void hints(void **state)
{
    static const Priority bad[] = {-257, 256, INT32_MAX, INT32_MIN};
    Priority before = 77;

    (void)state;
    for (size_t i = 0; i < XS_ARRAY_LEN(bad); i++) {
        assert_int_equal(XHintPriority(g_l.xq, bad[i]), kXSchedErrorInvalidValue);
        assert_int_equal(XHintLaxity(g_l.xq, 100, bad[i], 0), kXSchedErrorInvalidValue);
        assert_int_equal(XHintLaxity(g_l.xq, 100, 0, bad[i]), kXSchedErrorInvalidValue);
    }
    ok(XHintPriority(g_l.xq, PRIORITY_NO_EXECUTE));
    ok(XHintPriority(g_l.xq, PRIORITY_MIN));
    ok(XHintPriority(g_l.xq, PRIORITY_MAX));
    assert_int_equal(XHintPriority(NOBODY, 0), kXSchedErrorNotFound);
    for (size_t i = 0; i < XS_ARRAY_LEN(bad); i++)
        assert_int_equal(XHintSwapPriority(g_l.xq, bad[i], &before), kXSchedErrorInvalidValue);
    assert_int_equal(XHintSwapPriority(NOBODY, 0, &before), kXSchedErrorNotFound);
    assert_int_equal(before, 77);
    ok(XHintSwapPriority(g_l.xq, 3, &before));
    assert_int_equal(before, PRIORITY_MAX);
    ok(XHintSwapPriority(g_l.xq, 3, &before)); /* in force already */
    assert_int_equal(before, 3);
    ok(XHintSwapPriority(g_l.xq, 0, NULL));
    ok(XHintSwapPriority(g_l.xq, PRIORITY_NO_EXECUTE, &before));
    assert_int_equal(before, 0);
    assert_int_equal(XHintUtilization(g_l.xq, -1), kXSchedErrorInvalidValue);
    assert_int_equal(XHintUtilization(g_l.xq, 101), kXSchedErrorInvalidValue);
    ok(XHintUtilization(g_l.xq, 0));
    ok(XHintUtilization(g_l.xq, 100));
    assert_int_equal(XHintUtilization(NOBODY, 50), kXSchedErrorNotFound);
    assert_int_equal(XHintTimeslice(99), kXSchedErrorInvalidValue);
    assert_int_equal(XHintTimeslice(0), kXSchedErrorInvalidValue);
    assert_int_equal(XHintTimeslice(-2), kXSchedErrorInvalidValue);
    assert_int_equal(XHintTimeslice(10000001), kXSchedErrorInvalidValue);
    ok(XHintTimeslice(100));
    ok(XHintTimeslice(10000000));
    ok(XHintTimeslice((Timeslice)TIMESLICE_UNLIMITED));
    ok(XHintTimeslice(TIMESLICE_DEFAULT));
    assert_int_equal(XHintLaxity(g_l.xq, -2, 0, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XHintLaxity(NOBODY, 100, 0, 0), kXSchedErrorNotFound);
    ok(XHintLaxity(g_l.xq, NO_LAXITY, 0, 0));
    ok(XHintLaxity(g_l.xq, 1000, -5, 5));
    assert_int_equal(XHintDeadline(g_l.xq, 0), kXSchedErrorInvalidValue);
    assert_int_equal(XHintDeadline(g_l.xq, -2), kXSchedErrorInvalidValue);
    assert_int_equal(XHintDeadline(NOBODY, 100), kXSchedErrorNotFound);
    ok(XHintDeadline(g_l.xq, NO_DEADLINE));
    ok(XHintDeadline(g_l.xq, 16000));
    assert_int_equal(XHintKDeadline(0), kXSchedErrorInvalidValue);
    ok(XHintKDeadline(1));
    ok(XHintKDeadline(7));
}

static void set_scheduler(void **state)
{
    (void)state;
    assert_int_equal(XHintSetScheduler(kSchedulerUnknown, kPolicyHighestPriorityFirst), kXSchedErrorInvalidValue);
    assert_int_equal(XHintSetScheduler(kSchedulerMax, kPolicyHighestPriorityFirst), kXSchedErrorInvalidValue);
    assert_int_equal(XHintSetScheduler((XSchedulerType)-1, kPolicyHighestPriorityFirst), kXSchedErrorInvalidValue);
    assert_int_equal(XHintSetScheduler(kSchedulerLocal, kPolicyUnknown), kXSchedErrorInvalidValue);
    assert_int_equal(XHintSetScheduler(kSchedulerLocal, kPolicyMax), kXSchedErrorInvalidValue);
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
}

static void stale_handles(void **state)
{
    struct fake_stream *s;
    HwQueueHandle hwq;
    XQueueHandle xq;
    XQueueState st;
    int64_t n;
    HwCommandHandle c;

    (void)state;
    fake_stream_create(g_d, &s);
    ok(fake_queue_create(&hwq, s));
    ok(XQueueCreate(&xq, hwq, 1, 0));
    ok(XQueueDestroy(xq));
    ok(HwQueueDestroy(hwq));
    ok(HwCommandCreateCallback(&c, nothing, NULL));
    assert_int_equal(XQueueSubmit(xq, c), kXSchedErrorNotFound);
    assert_int_equal(XQueueWait(xq, c), kXSchedErrorNotFound);
    assert_int_equal(XQueueWaitAll(xq), kXSchedErrorNotFound);
    assert_int_equal(XQueueQuery(xq, &st), kXSchedErrorNotFound);
    assert_int_equal(XQueueProfileHwCommandCount(xq, &n), kXSchedErrorNotFound);
    assert_int_equal(XQueueSuspend(xq, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueResume(xq, 0), kXSchedErrorNotFound);
    assert_int_equal(XQueueSetPreemptLevel(xq, kPreemptLevelBlock), kXSchedErrorNotFound);
    assert_int_equal(XQueueSetLaunchConfig(xq, 4, 2), kXSchedErrorNotFound);
    assert_int_equal(XHintPriority(xq, 1), kXSchedErrorNotFound);
    assert_int_equal(XHintUtilization(xq, 1), kXSchedErrorNotFound);
    assert_int_equal(XHintDeadline(xq, 1), kXSchedErrorNotFound);
    assert_int_equal(XHintLaxity(xq, 1, 0, 0), kXSchedErrorNotFound);
    assert_int_equal(HwQueueLaunch(hwq, c), kXSchedErrorNotFound);
    assert_int_equal(HwQueueSynchronize(hwq), kXSchedErrorNotFound);
    /* handles of one kind are not handles of another */
    assert_int_equal(XQueueWaitAll(g_l.hwq), kXSchedErrorNotFound);
    assert_int_equal(HwQueueSynchronize(g_l.xq), kXSchedErrorNotFound);
    assert_int_equal(HwCommandDestroy(g_l.xq), kXSchedErrorNotFound);
    ok(HwCommandDestroy(c));
}

static void synchronize(void **state)
{
    (void)state;
    fake_auto(true);
    fake_launch(g_l.stream, 500 * US, 1, NULL);
    ok(HwQueueSynchronize(g_l.hwq));
    assert_int_equal(fake_stream_completed(g_l.stream), 1);
    ok(XQueueWaitAll(g_l.xq));
    fake_auto(false);
}

/* Above what the platform has: the highest that there is, and one warning for the process. */
static void one_warning_about_the_level(void **state)
{
    char path[] = "/tmp/xsched-core-XXXXXX", text[4096] = "";
    int file = mkstemp(path), err = dup(2), warnings = 0;

    (void)state;
    unlink(path);
    dup2(file, 2);
    for (int i = 0; i < 3; i++) {
        struct fake_stream *s;
        HwQueueHandle hwq;
        XQueueHandle xq;

        fake_stream_create(g_d, &s);
        ok(fake_queue_create(&hwq, s));
        ok(XQueueCreate(&xq, hwq, kPreemptLevelInterrupt, 0));
        assert_int_equal(XQueueSetPreemptLevel(xq, kPreemptLevelInterrupt), kXSchedErrorNotSupported);
        ok(XQueueDestroy(xq));
        ok(HwQueueDestroy(hwq));
    }
    dup2(err, 2);
    close(err);
    assert_true(pread(file, text, sizeof(text) - 1, 0) > 0);
    close(file);
    for (const char *at = text; (at = strstr(at, "[XSCHED WARN")); at++)
        warnings++;
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(text, "level 3"));
    assert_non_null(strstr(text, "level 1 takes its place"));
}

static void levels(void **state)
{
    struct lane l;
    struct fake_stream *s;

    (void)state;
    fake_stream_create(g_d, &s);
    fake_hal_set_levels(2 | 4 | 8);
    ok(fake_queue_create(&l.hwq, s));
    ok(XQueueCreate(&l.xq, l.hwq, 3, 0));
    ok(XQueueSetPreemptLevel(l.xq, kPreemptLevelDeactivate));
    ok(XQueueSetPreemptLevel(l.xq, kPreemptLevelInterrupt));
    ok(XQueueDestroy(l.xq));
    ok(HwQueueDestroy(l.hwq));
}

/* A platform that loses its levels: no queue of it keeps one, and other platforms do. */
static void level1_only(void **state)
{
    struct fake_stream *s;
    const struct xs_queue *q;
    struct lane l;

    (void)state;
    fake_stream_create(g_d, &s);
    fake_hal_set_levels(2 | 4 | 8);
    ok(fake_queue_create(&l.hwq, s));
    ok(XQueueCreate(&l.xq, l.hwq, 3, 0));
    q = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    assert_non_null(q);
    xsched_priv_level1_only(FAKE_PLATFORM + 1);
    assert_int_equal(q->wish.level, kPreemptLevelInterrupt);
    xsched_priv_level1_only(FAKE_PLATFORM);
    assert_int_equal(q->wish.level, kPreemptLevelBlock);
    ok(XQueueDestroy(l.xq));
    ok(HwQueueDestroy(l.hwq));
}

/* What passes unseen is listed once, by kind, and no further than there is place. */
static void unseen(void **state)
{
    const struct xs_unseen *l = dlsym(RTLD_DEFAULT, XS_UNSEEN_SYMBOL);
    char name[200];

    (void)state;
    assert_non_null(l);
    assert_int_equal(l->version, XS_UNSEEN_VERSION);
    assert_int_equal(l->bytes, sizeof(*l));
    for (int i = 0; i < 3; i++)
        xsched_priv_unseen("cuNew", 13090, true);
    assert_int_equal(l->count[XS_UNSEEN_WORKS], 1);
    assert_string_equal(l->names[XS_UNSEEN_WORKS][0], "cuNew 13090");
    assert_int_equal(l->count[XS_UNSEEN_PASSES], 0);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    for (unsigned i = 0; i < 3 * XS_UNSEEN_NAMES; i++) {
        name[0] = (char)('A' + i);
        xsched_priv_unseen(name, 0, false);
    }
    assert_int_equal(l->count[XS_UNSEEN_PASSES], 3 * XS_UNSEEN_NAMES);
    assert_int_equal(strlen(l->names[XS_UNSEEN_PASSES][XS_UNSEEN_NAMES - 1]), XS_UNSEEN_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        L(xqueue_create), L(hwqueue_create_gives_the_same_handle), L(commands), L(queries), L(suspend_and_resume),
        L(configuration), L(hints), L(set_scheduler), L(stale_handles), L(synchronize), L(one_warning_about_the_level),
        L(levels), L(level1_only), L(unseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
