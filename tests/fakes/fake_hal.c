/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_hal.h"

#include "base/futex.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic bool g_self_marked;
static bool (*_Atomic g_mark_by)(struct fake_stream *s, struct xs_queue *q, uint64_t number); /* NULL: mark() itself */
static _Atomic uint32_t g_device;
static struct {
    _Atomic uint64_t marks, marks_refused, completions, lost, enters, leaves, synchronizes, releases, outside;
} g_counts;

struct report {
    struct xs_queue *queue;
    uint64_t number;
};

/* Of marks in flight; those of lost marks are used again one turn of the ring later. */
static struct report g_reports[1u << 16];
static _Atomic uint32_t g_next_report;

static _Thread_local bool g_in_callback; /* inside the vendor's call to us */
static _Atomic bool g_block_outside;
static _Atomic uint32_t g_blocked; /* futex: 1 while such a mark is to stay */

static void no_callback(const char *what)
{
    static const char text[] = ": a vendor call from inside the vendor's callback\n";

    if (!g_in_callback)
        return;
    if (write(2, what, strlen(what)) < 0 || write(2, text, sizeof(text) - 1) < 0)
        _exit(99);
    abort();
}

/* libpreempt's threads take no signals. Those that launch deferred commands count, too. */
static bool from_outside(void)
{
    sigset_t set;

    pthread_sigmask(SIG_SETMASK, NULL, &set);
    return sigismember(&set, SIGUSR1) == 1;
}

void fake_hal_block_outside(void)
{
    atomic_store(&g_blocked, 1);
    atomic_store(&g_block_outside, true);
}

void fake_hal_unblock(void)
{
    atomic_store(&g_block_outside, false);
    atomic_store(&g_blocked, 0);
    xs_futex_wake(&g_blocked, INT_MAX);
}

static void report_done(void *data, bool failed)
{
    struct report *r = data;

    g_in_callback = true;
    if (failed) {
        atomic_fetch_add(&g_counts.lost, 1);
        xsched_priv_mark_lost(r->queue, r->number);
    } else {
        atomic_fetch_add(&g_counts.completions, 1);
        xsched_priv_completed(r->queue, r->number);
    }
    g_in_callback = false;
}

static bool mark(struct fake_stream *s, struct xs_queue *q, uint64_t number)
{
    bool (*by)(struct fake_stream *, struct xs_queue *, uint64_t) = atomic_load(&g_mark_by);
    struct report *r;

    atomic_fetch_add(&g_counts.marks, 1);
    if (by)
        return by(s, q, number);
    r = &g_reports[atomic_fetch_add(&g_next_report, 1) & 0xffff];
    *r = (struct report){q, number};
    if (fake_mark(s, report_done, r) == FAKE_OK)
        return true;
    atomic_fetch_add(&g_counts.marks_refused, 1);
    return false;
}

static XResult op_synchronize(void *hw)
{
    no_callback("synchronize");
    atomic_fetch_add(&g_counts.synchronizes, 1);
    return fake_synchronize(hw) == FAKE_OK ? kXSchedSuccess : kXSchedErrorHardware;
}

static bool op_mark(void *hw, struct xs_queue *q, uint64_t number)
{
    no_callback("mark");
    if (from_outside()) {
        atomic_fetch_add(&g_counts.outside, 1);
        if (atomic_exchange(&g_block_outside, false))
            while (atomic_load(&g_blocked))
                xs_futex_wait(&g_blocked, 1, UINT64_MAX);
    }
    return mark(hw, q, number);
}

static XResult op_enter(void *hw, void **ret_saved)
{
    *ret_saved = hw;
    atomic_fetch_add(&g_counts.enters, 1);
    return kXSchedSuccess;
}

static void op_leave(void *hw, void *saved)
{
    if (saved == hw)
        atomic_fetch_add(&g_counts.leaves, 1);
}

static void op_release(void *hw)
{
    (void)hw;
    atomic_fetch_add(&g_counts.releases, 1);
}

#define OPS(bits, outside)                                                                         \
    {XS_HAL_ABI, sizeof(struct xs_hal_ops), FAKE_PLATFORM, "the fake device", bits, op_synchronize, \
     op_mark, op_enter, op_leave, op_release, false, outside, NULL, NULL, 0}
static const struct xs_hal_ops k_ops[] = {OPS(2u, true), OPS(2u | 4u, true), OPS(2u | 8u, true),
                                           OPS(2u | 4u | 8u, true), OPS(2u, false)};
static _Atomic(const struct xs_hal_ops *) g_ops = &k_ops[0];

void fake_hal_set_levels(uint32_t levels)
{
    atomic_store(&g_ops, &k_ops[(levels >> 2) & 3]);
}

void fake_hal_no_outside(void)
{
    atomic_store(&g_ops, &k_ops[4]);
}

void fake_hal_set_mark(bool (*by)(struct fake_stream *s, struct xs_queue *q, uint64_t number))
{
    atomic_store(&g_mark_by, by);
}

void fake_hal_set_self_marked(bool on)
{
    atomic_store(&g_self_marked, on);
}

void fake_hal_set_device(uint32_t id)
{
    atomic_store(&g_device, id);
}

static XDevice device_of(void)
{
    return (XDevice)kDeviceTypeNPU << 32 | 0xffff0000u | atomic_load(&g_device);
}

XResult fake_queue_create(HwQueueHandle *ret, struct fake_stream *s)
{
    bool created;

    if (!ret || !s)
        return kXSchedErrorInvalidValue;
    return xsched_priv_hwq_create(atomic_load(&g_ops), (uint64_t)(uintptr_t)s, s, device_of(), ret, &created);
}

XResult fake_queue_auto(struct fake_stream *s, int32_t priority_offset)
{
    HwQueueHandle hwq;
    XResult r = fake_queue_create(&hwq, s);

    return r == kXSchedSuccess ? xsched_priv_auto_queue(hwq, priority_offset) : r;
}

static enum fake_result launch(struct fake_stream *s, uint64_t duration_ns, uint32_t tag, uint64_t key,
                               uint32_t flags, const _Atomic uint64_t *word, uint64_t value)
{
    struct xs_queue *q = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    bool self = atomic_load(&g_self_marked);
    enum fake_result r;
    struct xs_ticket t;
    uint64_t number;

    if (q)
        xsched_priv_submit_begin(q, key, flags, &t);
    r = word ? fake_launch_polling(s, word, value) : fake_launch(s, duration_ns, tag, NULL);
    if (!q)
        return r;
    number = xsched_priv_submit_end(&t, r == FAKE_OK, self);
    if (self && number && !mark(s, q, number))
        xsched_priv_mark_lost(q, number);
    return r;
}

enum fake_result fake_api_launch_with(struct fake_stream *s, uint64_t duration_ns, uint32_t tag, uint64_t key,
                                      uint32_t flags)
{
    return launch(s, duration_ns, tag, key, flags, NULL, 0);
}

uint64_t fake_api_key(uint64_t duration_ns)
{
    return (duration_ns + 1) * 0x9e3779b97f4a7c15ull;
}

enum fake_result fake_api_launch(struct fake_stream *s, uint64_t duration_ns, uint32_t tag)
{
    return launch(s, duration_ns, tag, fake_api_key(duration_ns), 0, NULL, 0);
}

enum fake_result fake_api_launch_polling(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value)
{
    return launch(s, 0, 0, 1, 0, word, value);
}

/* A command that takes no time of the device. @return the queue; NULL: none */
static struct xs_queue *no_time_begins(struct fake_stream *s, uint64_t key, struct xs_ticket *t)
{
    struct xs_queue *q = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);

    if (q)
        xsched_priv_submit_begin(q, key, XS_SUBMIT_PASS, t);
    return q;
}

static enum fake_result no_time_ends(const struct xs_queue *q, struct xs_ticket *t, enum fake_result r)
{
    if (q)
        xsched_priv_submit_end(t, r == FAKE_OK, false);
    return r;
}

enum fake_result fake_api_wait_value(struct fake_stream *s, const _Atomic uint64_t *word, uint64_t value)
{
    struct xs_ticket t;
    struct xs_queue *q = no_time_begins(s, XS_KEY_AWAITS, &t);

    return no_time_ends(q, &t, fake_wait_value(s, word, value));
}

enum fake_result fake_api_host_func(struct fake_stream *s, void (*fn)(void *data), void *data)
{
    struct xs_ticket t;
    struct xs_queue *q = no_time_begins(s, XS_KEY_HOST_FUNCTION, &t);

    return no_time_ends(q, &t, fake_host_func(s, fn, data));
}

enum fake_result fake_api_stream_waits(struct fake_stream *s, struct fake_stream *other, struct fake_event *e)
{
    struct xs_queue *of = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)other), *q;
    struct xs_ticket t;

    if (of && xsched_priv_awaits(of, xsched_priv_returned(of))) {
        q = no_time_begins(s, XS_KEY_AWAITS, &t);
        return no_time_ends(q, &t, fake_stream_wait_event(s, e));
    }
    q = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    if (q)
        xsched_priv_waits_elsewhere(q);
    return fake_stream_wait_event(s, e);
}

enum fake_result fake_api_synchronize(struct fake_stream *s)
{
    struct xs_queue *q = xsched_priv_queue_find(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    uint64_t began = q ? xsched_priv_wait_begin_own(q) : 0;
    enum fake_result r = fake_synchronize(s);

    if (q)
        xsched_priv_wait_end(q, began, r == FAKE_OK);
    return r;
}

enum fake_result fake_api_stream_destroy(struct fake_stream *s)
{
    xsched_priv_hwq_gone(FAKE_PLATFORM, (uint64_t)(uintptr_t)s);
    return fake_stream_destroy(s);
}

struct fake_hal_counts fake_hal_counts(void)
{
    return (struct fake_hal_counts){g_counts.marks, g_counts.marks_refused, g_counts.completions, g_counts.lost,
                                    g_counts.enters, g_counts.leaves, g_counts.synchronizes, g_counts.releases, g_counts.outside};
}

void fake_hal_counts_reset(void)
{
    atomic_store(&g_counts.marks, 0);
    atomic_store(&g_counts.marks_refused, 0);
    atomic_store(&g_counts.completions, 0);
    atomic_store(&g_counts.lost, 0);
    atomic_store(&g_counts.enters, 0);
    atomic_store(&g_counts.leaves, 0);
    atomic_store(&g_counts.synchronizes, 0);
    atomic_store(&g_counts.releases, 0);
    atomic_store(&g_counts.outside, 0);
}
