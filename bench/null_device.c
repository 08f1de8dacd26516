/* SPDX-License-Identifier: Apache-2.0 */
#include "null_device.h"

#define PLATFORM kPlatformVPI

__attribute__((noinline)) int null_launch(struct null_stream *s, uint64_t argument)
{
    s->ring[s->launched++ & 63] = argument;
    return 0;
}

static bool op_mark(void *hw, struct xs_queue *q, uint64_t number)
{
    struct null_stream *s = hw;

    if (number <= atomic_load(&s->hold_from)) {
        xsched_priv_completed(q, number);   /* in the caller's thread: its cost is part of the submit */
        return true;
    }
    if (atomic_load(&s->held_queue))
        return false;
    atomic_store(&s->held_number, number);
    atomic_store(&s->held_queue, q);
    return true;
}

static XResult op_synchronize(void *hw)
{
    (void)hw;
    return kXSchedSuccess;
}

static const struct xs_hal_ops k_ops = {
    .abi = XS_HAL_ABI, .size = sizeof(struct xs_hal_ops), .platform = PLATFORM, .name = "null device", .levels = 2,
    .synchronize = op_synchronize, .mark = op_mark};

int null_api_launch(struct null_stream *s, uint64_t argument, uint64_t key)
{
    struct xs_queue *q = xsched_priv_queue_find(PLATFORM, (uint64_t)(uintptr_t)s);
    struct xs_ticket t;
    int r;

    if (!q)
        return null_launch(s, argument);
    xsched_priv_submit_begin(q, key, 0, &t);
    r = null_launch(s, argument);
    xsched_priv_submit_end(&t, r == 0, false);
    return r;
}

void null_complete(struct null_stream *s)
{
    struct xs_queue *q;

    atomic_store(&s->hold_from, UINT64_MAX);
    q = atomic_exchange(&s->held_queue, NULL);
    if (q)
        xsched_priv_completed(q, atomic_load(&s->held_number));
}

XResult null_queue(struct null_stream *s, uint32_t device, HwQueueHandle *ret)
{
    bool created;

    if (!atomic_load(&s->hold_from))
        atomic_store(&s->hold_from, UINT64_MAX);
    return xsched_priv_hwq_create(&k_ops, (uint64_t)(uintptr_t)s, s, (XDevice)kDeviceTypeNPU << 32 | 0xffff7700u | device,
                                  ret, &created);
}
