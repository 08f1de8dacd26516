/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of HIP's streams: the platform's part of hal/common/stream_queues.h. */
#include "hal/hip/hal.h"

struct xs_streams xs_hip_streams = {.platform = kPlatformHIP, .bytes = sizeof(struct xs_hip_hw)};

XS_EXPORT _Atomic int32_t xsched_priv_hip_captures;
XS_EXPORT _Atomic bool xsched_priv_hip_captures_unseen;

XS_EXPORT void xsched_priv_hip_on_first(void (*fn)(void))
{
    xs_streams_on_first(&xs_hip_streams, fn);
}

XS_EXPORT bool xsched_priv_hip_capturing(const struct xs_hip_api *api, hipStream_t stream)
{
    int status = 0;

    if (!api || !api->hipStreamIsCapturing)
        return false;
    return api->hipStreamIsCapturing(stream, &status) != XS_HIP_SUCCESS || status != 0;
}

/* Odd, and below the address of any object. */
static uint64_t null_native(const struct xs_hip_api *api, int dev)
{
    return (uint64_t)api->index << 20 | (uint64_t)((unsigned)dev & 0xffff) << 2 | 1;
}

XS_EXPORT uint64_t xsched_priv_hip_native(const struct xs_hip_api *api, hipStream_t stream, bool per_thread)
{
    int dev = -1;

    if (xs_stream_is_created(stream))
        return (uintptr_t)stream;
    if (!api || !api->hipGetDevice || api->hipGetDevice(&dev) != XS_HIP_SUCCESS || dev < 0)
        return 0;
    if (stream == XS_HIP_STREAM_PER_THREAD || (!stream && per_thread))
        return xs_native_of_thread(&xs_hip_streams, api, dev);
    return null_native(api, dev);
}

bool xs_hip_marks_to(struct xs_hip_hw *hw, struct xs_queue *q)
{
    return xs_stream_marks_at(&hw->st, q, xs_hip_device_address(hw->device, xsched_priv_mark_word(q), 0));
}

/* -1: the runtime does not know the stream, or there is no device. */
static int device_of(const struct xs_hip_api *api, hipStream_t stream, uint64_t native)
{
    int dev = -1;

    if (native != (uintptr_t)stream)
        return api->hipGetDevice && api->hipGetDevice(&dev) == XS_HIP_SUCCESS ? dev : -1;
    if (api->hipGetStreamDeviceId)
        return api->hipGetStreamDeviceId(stream);
    if (api->hipStreamGetDevice)
        return api->hipStreamGetDevice(stream, &dev) == XS_HIP_SUCCESS ? dev : -1;
    return api->hipGetDevice && api->hipGetDevice(&dev) == XS_HIP_SUCCESS ? dev : -1;
}

static bool is_blocking(const struct xs_hip_api *api, hipStream_t stream)
{
    unsigned flags = XS_HIP_STREAM_NONBLOCKING;

    return api->hipStreamGetFlags && api->hipStreamGetFlags(stream, &flags) == XS_HIP_SUCCESS &&
           !(flags & XS_HIP_STREAM_NONBLOCKING);
}

XS_EXPORT XResult xsched_priv_hip_make(const struct xs_hip_api *api, hipStream_t stream, uint64_t native,
                                       HwQueueHandle *ret)
{
    HwQueueHandle handle = xsched_priv_hwq_find(kPlatformHIP, native);
    bool created = native == (uintptr_t)stream, blocking;
    enum xs_hip_marks marks;
    struct xs_hip_device *d;
    struct xs_hip_entered e;
    struct xs_hip_hw *hw;

    if (handle) {
        *ret = handle;
        return kXSchedSuccess;
    }
    if (!api || !xs_hip_enter(api, -1, &e))
        return kXSchedErrorNotFound;
    d = xs_hip_device_get(api, device_of(api, stream, native));
    /* a thread's own default stream waits for the null stream, and it for that */
    blocking = created ? is_blocking(api, stream) : !xs_native_is_null(native);
    xs_hip_leave(&e);
    if (!d)
        return kXSchedErrorInvalidValue;
    marks = xs_hip_device_marks(d);
    hw = (struct xs_hip_hw *)xs_stream_new(&xs_hip_streams, native, created);
    if (!hw)
        return kXSchedErrorUnknown;
    hw->api = api;
    if (created)
        hw->stream = stream;
    else /* older runtimes know no other name for the null stream */
        hw->stream = xs_native_is_null(native) ? NULL : XS_HIP_STREAM_PER_THREAD;
    hw->device = d;
    atomic_store(&hw->st.blocking, blocking);
    atomic_store(&hw->st.no_marks, marks == XS_HIP_MARKS_NONE);
    return xs_stream_enter(&xs_hip_streams, &hw->st, &d->group,
                           marks == XS_HIP_MARKS_WRITE ? &xs_hip_ops_write : &xs_hip_ops_event, d->device, ret);
}

static struct xs_queue *make_queue(const void *opaque, void *stream, uint64_t native)
{
    const struct xs_hip_api *api = opaque;
    struct xs_hip_hw *hw;
    struct xs_hip_entered e;
    HwQueueHandle handle;
    struct xs_queue *q;
    int priority = 0;

    if (xsched_priv_hip_make(api, stream, native, &handle) != kXSchedSuccess)
        return NULL;
    if (native == (uintptr_t)stream && api->hipStreamGetPriority && xs_hip_enter(api, -1, &e)) {
        if (api->hipStreamGetPriority(stream, &priority) != XS_HIP_SUCCESS)
            priority = 0;
        xs_hip_leave(&e);
    }
    q = xs_stream_make_queue(&xs_hip_streams, handle, native, priority);
    hw = (struct xs_hip_hw *)xs_stream_find(&xs_hip_streams, native);
    if (q && hw && xs_hip_device_marks(hw->device) == XS_HIP_MARKS_WRITE)
        xs_hip_marks_to(hw, q);
    return q;
}

XS_EXPORT struct xs_queue *xsched_priv_hip_adopt(const struct xs_hip_api *api, hipStream_t stream, uint64_t native)
{
    return xs_stream_adopt(&xs_hip_streams, native, make_queue, api, stream);
}

XS_EXPORT void xsched_priv_hip_stream_gone(hipStream_t stream)
{
    if (xs_stream_is_created(stream))
        xs_stream_forget(&xs_hip_streams, (uintptr_t)stream);
}

XS_EXPORT void xsched_priv_hip_stream_ends(hipStream_t stream)
{
    if (xs_stream_is_created(stream))
        xs_stream_ends(&xs_hip_streams, (uintptr_t)stream);
}

XS_EXPORT void xsched_priv_hip_implicit(struct xs_queue *q, uint64_t native)
{
    xs_group_implicit(&xs_hip_streams, native, q);
}

XS_EXPORT void xsched_priv_hip_lend_device(const struct xs_hip_api *api)
{
    xsched_priv_hip_each_queue(api, xs_group_inherit, NULL);
}
