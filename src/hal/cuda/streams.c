/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of CUDA's streams: the platform's part of hal/common/stream_queues.h. */
#include "hal/cuda/hal.h"
#include "hal/cuda/lanes/lanes.h"

struct xs_streams xs_cuda_streams = {.platform = kPlatformCUDA, .bytes = sizeof(struct xs_cuda_hw)};

XS_EXPORT _Atomic int32_t xsched_priv_cuda_captures;
XS_EXPORT _Atomic bool xsched_priv_cuda_captures_unseen;
XS_EXPORT _Atomic int32_t xsched_priv_cuda_recordings;

XS_EXPORT void xsched_priv_cuda_on_first(void (*fn)(void))
{
    xs_streams_on_first(&xs_cuda_streams, fn);
}

XS_EXPORT bool xsched_priv_cuda_capturing(CUstream stream)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    int status = XS_CU_CAPTURE_STATUS_NONE;

    if (!api || !api->cuStreamIsCapturing)
        return false;
    return api->cuStreamIsCapturing(stream, &status) != XS_CU_SUCCESS || status != XS_CU_CAPTURE_STATUS_NONE;
}

/* The number of a default stream. */
static uint64_t native_in(CUcontext ctx, bool of_thread)
{
    return of_thread ? xs_native_of_thread(&xs_cuda_streams, ctx, 0) : (uint64_t)(uintptr_t)ctx | 1;
}

/* Asks the driver. NULL: none */
static CUcontext current_context(const struct xs_cuda_api *api)
{
    CUcontext ctx = NULL;

    if (api->cuCtxGetCurrent(&ctx) != XS_CU_SUCCESS || !ctx)
        return NULL;
    xs_cuda_context_seen(ctx);
    return ctx;
}

XS_EXPORT uint64_t xsched_priv_cuda_native(CUstream stream, bool per_thread)
{
    const struct xs_cuda_api *api;
    CUcontext ctx;

    if (xs_stream_is_created(stream))
        return (uintptr_t)stream;
    api = xsched_priv_cuda_api(NULL);
    ctx = api ? current_context(api) : NULL;
    return ctx ? native_in(ctx, stream == XS_CU_STREAM_PER_THREAD || (!stream && per_thread)) : 0;
}

bool xs_cuda_marks_to(struct xs_cuda_hw *hw, struct xs_queue *q)
{
    return xs_stream_marks_at(&hw->st, q, xs_cuda_device_address(hw->context, xsched_priv_mark_word(q), 0));
}

static CUcontext context_of(const struct xs_cuda_api *api, CUstream stream, uint64_t native)
{
    CUcontext ctx = NULL;

    if (native != (uintptr_t)stream) {
        ctx = current_context(api); /* it may be the number of the former only context: then not this time */
        return ctx && native_in(ctx, !xs_native_is_null(native)) == native ? ctx : NULL;
    }
    return api->cuStreamGetCtx && api->cuStreamGetCtx(stream, &ctx) == XS_CU_SUCCESS ? ctx : NULL;
}

static bool is_blocking(const struct xs_cuda_api *api, CUstream stream)
{
    unsigned flags = 0;

    return xs_stream_is_created(stream) && api->cuStreamGetFlags && api->cuStreamGetFlags(stream, &flags) == XS_CU_SUCCESS &&
           !(flags & XS_CU_STREAM_NON_BLOCKING);
}

XS_EXPORT XResult xsched_priv_cuda_make(CUstream stream, uint64_t native, HwQueueHandle *ret)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    HwQueueHandle handle = xsched_priv_hwq_find(kPlatformCUDA, native);
    bool created = native == (uintptr_t)stream;
    struct xs_cuda_context *c;
    struct xs_cuda_hw *hw;
    CUcontext ctx;
    XResult r;

    if (handle) {
        *ret = handle;
        return kXSchedSuccess;
    }
    if (!api)
        return kXSchedErrorNotFound;
    ctx = context_of(api, stream, native);
    if (!ctx)
        return kXSchedErrorInvalidValue;
    c = xs_cuda_context_get(ctx);
    hw = c ? (struct xs_cuda_hw *)xs_stream_new(&xs_cuda_streams, native, created) : NULL;
    if (!hw) {
        if (c)
            xs_cuda_context_put(c);
        return kXSchedErrorUnknown;
    }
    if (created)
        hw->stream = stream;
    else
        hw->stream = xs_native_is_null(native) ? XS_CU_STREAM_LEGACY : XS_CU_STREAM_PER_THREAD;
    hw->context = c;
    hw->ctx = ctx;
    xs_lanes_stream_begins(hw);
    atomic_store(&hw->st.no_marks, !c->writes);
    atomic_store(&hw->st.blocking, hw->st.owner || (created && is_blocking(api, stream)));
    r = xs_stream_enter(&xs_cuda_streams, &hw->st, &c->group, &xs_cuda_ops, c->device, ret);
    if (r != kXSchedSuccess)
        xs_cuda_context_put(c);
    return r;
}

static struct xs_queue *make_queue(const void *opaque, void *stream, uint64_t native)
{
    const struct xs_cuda_api *api = opaque;
    struct xs_cuda_hw *hw;
    HwQueueHandle handle;
    struct xs_queue *q;
    int priority = 0;

    if (xsched_priv_cuda_make(stream, native, &handle) != kXSchedSuccess)
        return NULL;
    if (native == (uintptr_t)stream && api->cuStreamGetPriority)
        api->cuStreamGetPriority(stream, &priority);
    q = xs_stream_make_queue(&xs_cuda_streams, handle, native, priority);
    hw = (struct xs_cuda_hw *)xs_stream_find(&xs_cuda_streams, native);
    if (q && hw)
        xs_lanes_context_begins(hw->context);
    if (q && hw && !atomic_load_explicit(&hw->st.no_marks, memory_order_relaxed))
        xs_cuda_marks_to(hw, q);
    return q;
}

XS_EXPORT struct xs_queue *xsched_priv_cuda_adopt(CUstream stream, uint64_t native)
{
    return xs_stream_adopt(&xs_cuda_streams, native, make_queue, xsched_priv_cuda_api(NULL), stream);
}

XS_EXPORT void xsched_priv_cuda_stream_gone(CUstream stream)
{
    if (xs_stream_is_created(stream))
        xs_stream_forget(&xs_cuda_streams, (uintptr_t)stream);
}

XS_EXPORT void xsched_priv_cuda_stream_ends(CUstream stream)
{
    struct xs_cuda_hw *hw;

    if (!xs_stream_is_created(stream))
        return;
    hw = (struct xs_cuda_hw *)xs_stream_find(&xs_cuda_streams, (uintptr_t)stream);
    if (hw)
        xs_lanes_stream_ends(hw);
    xs_stream_ends(&xs_cuda_streams, (uintptr_t)stream);
}

XS_EXPORT void xsched_priv_cuda_implicit(struct xs_queue *q, uint64_t native)
{
    xs_group_implicit(&xs_cuda_streams, native, q);
}

XS_EXPORT void xsched_priv_cuda_lend_context(void)
{
    xsched_priv_cuda_each_queue(NULL, xs_group_inherit, NULL);
}
