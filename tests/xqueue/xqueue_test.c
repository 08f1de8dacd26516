/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue_test.h"

#include <dirent.h>

struct fake_device *g_d;
struct lane g_l, g_low, g_high;

struct lane lane_open_flags(struct fake_device *d, int64_t flags)
{
    struct lane l;

    assert_int_equal(fake_stream_create(d, &l.stream), FAKE_OK);
    ok(fake_queue_create(&l.hwq, l.stream));
    ok(XQueueCreate(&l.xq, l.hwq, kPreemptLevelBlock, flags));
    return l;
}

struct lane lane_open(struct fake_device *d)
{
    return lane_open_flags(d, kQueueCreateFlagNone);
}

void lane_close(struct lane *l)
{
    fake_auto(true);
    ok(XQueueDestroy(l->xq));
    ok(HwQueueDestroy(l->hwq));
    fake_auto(false);
}

struct xs_queue *queue_of(struct fake_stream *s)
{
    return xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
}

struct xs_client_cell *cell_of(struct fake_stream *s)
{
    char *marked = (char *)xsched_priv_mark_word(queue_of(s));

    return (struct xs_client_cell *)(void *)(marked - offsetof(struct xs_client_cell, marked));
}

struct kernel {
    struct fake_stream *stream;
    uint64_t duration_ns;
    uint32_t tag;
    XResult result;
};

/* A dropped command's is never called back, so nobody would free it: a ring. */
static struct kernel g_kernels[1u << 14];
static _Atomic uint32_t g_next_kernel;

static XResult launch_kernel(HwQueueHandle hwq, void *data)
{
    struct kernel *k = data;
    XResult result = k->result;

    (void)hwq;
    if (k->duration_ns && fake_launch(k->stream, k->duration_ns, k->tag, NULL) != FAKE_OK && result == kXSchedSuccess)
        result = kXSchedErrorHardware;
    return result;
}

HwCommandHandle command(struct lane *l, uint64_t duration_ns, uint32_t tag, XResult result)
{
    struct kernel *k = &g_kernels[atomic_fetch_add(&g_next_kernel, 1) & 0x3fff];
    HwCommandHandle c = 0;

    *k = (struct kernel){l->stream, duration_ns, tag, result};
    ok(HwCommandCreateCallback(&c, launch_kernel, k));
    assert_int_not_equal(c, 0);
    return c;
}

uint64_t most_in_flight(size_t from_record)
{
    uint64_t now = 0, most = 0;

    for (size_t i = 0; i < fake_trace_count(); i++) {
        enum fake_what w = fake_trace_get(i).what;

        now += w == FAKE_T_LAUNCH;
        now -= w == FAKE_T_END;
        if (i >= from_record)
            most = XS_MAX(most, now);
    }
    return most;
}

int world_setup(void **state)
{
    (void)state;
    fake_world_reset(false);
    fake_hal_counts_reset();
    fake_hal_set_levels(2);
    fake_hal_set_self_marked(false);
    fake_hal_set_device(0);
    return 0;
}

int world_teardown(void **state)
{
    (void)state;
    fake_auto(false);             /* still on after a failure */
    fake_drain();
    fake_world_reset(false);
    return 0;
}

int device_setup(void **state)
{
    world_setup(state);
    g_d = fake_device_create(FAKE_EXCLUSIVE);
    return 0;
}

int lane_setup(void **state)
{
    device_setup(state);
    g_l = lane_open(g_d);
    return 0;
}

int lane_teardown(void **state)
{
    lane_close(&g_l);
    return world_teardown(state);
}

void pair_open(void)
{
    g_d = fake_device_create(FAKE_EXCLUSIVE);
    ok(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    g_low = lane_open(g_d);
    g_high = lane_open(g_d);
    ok(XHintPriority(g_low.xq, 0));
    ok(XHintPriority(g_high.xq, 10));
    fake_settle();
}

int pair_setup(void **state)
{
    world_setup(state);
    pair_open();
    return 0;
}

int pair_teardown(void **state)
{
    ok(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    lane_close(&g_low);
    if (g_high.stream)
        lane_close(&g_high);
    return world_teardown(state);
}

int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

int threads(void)
{
    return entries("/proc/self/task") - 2;
}

static void *task_main(void *arg)
{
    struct task *t = arg;

    t->fn(t->arg);
    atomic_store(&t->done, true);
    return NULL;
}

void task_start(struct task *t, void (*fn)(void *arg), void *arg)
{
    t->fn = fn;
    t->arg = arg;
    atomic_store(&t->done, false);
    assert_int_equal(pthread_create(&t->thread, NULL, task_main, t), 0);
}

void task_join(struct task *t)
{
    pthread_join(t->thread, NULL);
}
