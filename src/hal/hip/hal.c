/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on a hardware queue, and the public entries. */
#include "hal/hip/hal.h"

#include "base/log.h"

#include "xsched/hip/hal.h"

static XResult op_synchronize(void *opaque)
{
    struct xs_hip_hw *hw = opaque;
    struct xs_hip_entered e;
    hipError_t r;

    if (atomic_load(&hw->st.gone))
        return kXSchedErrorNotFound;
    if (!xs_hip_enter(hw->api, hw->device->dev, &e))
        return kXSchedErrorHardware;
    if (xs_stream_of_other_thread(&hw->st))
        r = hw->api->hipDeviceSynchronize(); /* no name for another thread's own stream in this one */
    else
        r = hw->api->hipStreamSynchronize(hw->stream);
    xs_hip_leave(&e);
    return r == XS_HIP_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

bool xs_hip_may_append(struct xs_hip_hw *hw)
{
    if (!xs_stream_here(&hw->st))
        return false;
    if (XS_LIKELY(atomic_load_explicit(&xsched_priv_hip_captures, memory_order_relaxed) == 0) &&
        XS_LIKELY(!atomic_load_explicit(&xsched_priv_hip_captures_unseen, memory_order_relaxed)))
        return true;
    return !xsched_priv_hip_capturing(hw->api, hw->stream);
}

static bool may_mark(struct xs_hip_hw *hw)
{
    return !atomic_load_explicit(&hw->st.no_marks, memory_order_relaxed) && xs_hip_may_append(hw);
}

static bool op_mark_write(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_hip_hw *hw = opaque;
    struct xs_hip_entered e;
    hipStream_t stream;
    hipError_t r = XS_HIP_NOT_READY;

    if (!may_mark(hw))
        return false;
    if (XS_UNLIKELY(atomic_load_explicit(&hw->st.mark_queue, memory_order_acquire) != q) && !xs_hip_marks_to(hw, q))
        return false;
    /* a created stream brings its device */
    if (!xs_hip_enter(hw->api, xs_stream_native(&hw->st) == (uintptr_t)hw->stream ? -1 : hw->device->dev, &e))
        return false;
    if (xs_hip_mark_stream(hw, number, &stream))
        r = hw->api->hipStreamWriteValue64(stream, (void *)(uintptr_t)hw->st.mark_at, number, 0);
    if (r == XS_HIP_NOT_SUPPORTED) {
        atomic_store_explicit(&hw->st.no_marks, true, memory_order_relaxed);
        XS_WARN_ONCE("HIP: this stream takes no writes; nothing bounds the commands in flight");
    }
    xs_hip_leave(&e);
    return r == XS_HIP_SUCCESS;
}

static bool op_mark_event(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_hip_hw *hw = opaque;
    struct xs_hip_entered e;
    bool ok;

    /* an event belongs to a device; make that current first */
    if (!may_mark(hw) || !xs_hip_enter(hw->api, hw->device->dev, &e))
        return false;
    ok = xs_hip_mark_event(hw, q, number);
    xs_hip_leave(&e);
    return ok;
}

static XResult op_enter(void *opaque, void **ret_saved)
{
    struct xs_hip_hw *hw = opaque;
    int dev = -1;

    if (hw->api->hipGetDevice(&dev) != XS_HIP_SUCCESS || hw->api->hipSetDevice(hw->device->dev) != XS_HIP_SUCCESS)
        return kXSchedErrorHardware;
    *ret_saved = (void *)(uintptr_t)((unsigned)dev + 1);
    return kXSchedSuccess;
}

static void op_leave(void *opaque, void *saved)
{
    struct xs_hip_hw *hw = opaque;

    if (saved)
        hw->api->hipSetDevice((int)((uintptr_t)saved - 1));
}

static void op_release(void *opaque)
{
    xs_stream_release(&xs_hip_streams, opaque);
}

#define OPS(marker, writes)                                                                       \
    {                                                                                             \
        .abi = XS_HAL_ABI,                                                                        \
        .size = sizeof(struct xs_hal_ops),                                                        \
        .platform = kPlatformHIP,                                                                 \
        .name = "HIP",                                                                            \
        .levels = 1u << kPreemptLevelBlock,                                                       \
        .synchronize = op_synchronize,                                                            \
        .mark = marker,                                                                           \
        .enter = op_enter,                                                                        \
        .leave = op_leave,                                                                        \
        .release = op_release,                                                                    \
        .device_marks = writes,                                                                   \
        .gate = xs_hip_gate,                                                                      \
        .ctx_entries = xs_hip_ctx_entries,                                                                      \
    }
/* Writers of levels: xsched_priv_hip_level, gates.c; the rest is constant. */
struct xs_hal_ops xs_hip_ops_write = OPS(op_mark_write, true);
struct xs_hal_ops xs_hip_ops_event = OPS(op_mark_event, false);

XS_EXPORT void xsched_priv_hip_level(uint32_t bit, bool works)
{
    struct xs_hal_ops *const ops[] = {&xs_hip_ops_write, &xs_hip_ops_event};

    for (size_t i = 0; i < XS_ARRAY_LEN(ops); i++) {
        /* relaxed: a queue that another thread makes now takes either */
        if (works)
            __atomic_fetch_or(&ops[i]->levels, bit, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(&ops[i]->levels, ~bit, __ATOMIC_RELAXED);
        if (XS_UNLIKELY(atomic_load(&xsched_priv_hip_at_level1))) /* seq_cst: seen here, or its setter takes the bit back */
            __atomic_fetch_and(&ops[i]->levels, 1u << kPreemptLevelBlock, __ATOMIC_SEQ_CST);
    }
}

XS_EXPORT _Atomic bool xsched_priv_hip_at_level1;

XS_EXPORT void xsched_priv_hip_level1_only(void)
{
    atomic_store(&xsched_priv_hip_at_level1, true);
    xsched_priv_hip_level(0, false);
    xsched_priv_level1_only(kPlatformHIP);
}

/* A created stream belongs to the runtime that knows it; a default stream belongs to the caller's runtime, as
 * far as XSched can tell. */
static const struct xs_hip_api *api_for(hipStream_t stream, const void *caller)
{
    const struct xs_hip_api *api = xsched_priv_hip_api(caller);

    return api && (uintptr_t)stream > 2 ? xs_hip_api_of_stream(stream) : api;
}

XS_EXPORT XResult HipQueueCreate(HwQueueHandle *hwq, struct ihipStream_t *stream)
{
    const struct xs_hip_api *api;
    uint64_t native;

    if (!hwq || ((uintptr_t)stream > 2 && ((uintptr_t)stream < 4096 || (uintptr_t)stream & (sizeof(void *) - 1))))
        return kXSchedErrorInvalidValue;
    if (!xsched_priv_hip_api(__builtin_return_address(0)))
        return kXSchedErrorNotFound;
    api = api_for(stream, __builtin_return_address(0));
    if (!api)
        return kXSchedErrorInvalidValue;
    native = xsched_priv_hip_native(api, stream, false);
    return native ? xsched_priv_hip_make(api, stream, native, hwq) : kXSchedErrorNotFound;
}

XS_EXPORT XResult HipQueueGet(HwQueueHandle *hwq, struct ihipStream_t *stream)
{
    const struct xs_hip_api *api = xsched_priv_hip_api(__builtin_return_address(0));
    HwQueueHandle handle;
    uint64_t native;

    if (!hwq)
        return kXSchedErrorInvalidValue;
    native = api ? xsched_priv_hip_native(api, stream, false) : 0;
    handle = native ? xsched_priv_hwq_find(kPlatformHIP, native) : 0;
    if (!handle)
        return kXSchedErrorNotFound;
    *hwq = handle;
    return kXSchedSuccess;
}
