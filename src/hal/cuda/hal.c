/* SPDX-License-Identifier: Apache-2.0 */
/* The real library, the operations on a hardware queue, and the public entries. */
#include "hal/cuda/hal.h"
#include "hal/cuda/lanes/lanes.h"

#include "base/lock.h"
#include "base/log.h"
#include "hal/common/next_symbol.h"

#include "xsched/cuda/hal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

XS_EXPORT const struct xs_vendor xsched_priv_cuda_vendor = {
    .platform = &xs_platforms[XS_PLATFORM_CUDA],
    .probe = "cuDriverGetVersion",
};

static struct xs_cuda_api g_api;  /* written once under g_lock, before g_bound */
/* Lock 7: the driver's functions, until they are complete. */
static struct xs_lock g_lock;
static _Atomic bool g_bound;
static bool g_complete;           /* likewise */

/* Functions that every driver has since CUDA 4; XSched can schedule nothing without them. The callers of
 * others look for NULL. */
#define EACH_NEEDED(row)                                                                          \
    row(cuCtxGetCurrent) row(cuCtxPushCurrent_v2) row(cuCtxPopCurrent_v2) row(cuCtxGetDevice)     \
    row(cuDeviceGetAttribute) row(cuStreamSynchronize)

static bool is_complete(const struct xs_cuda_api *api)
{
#define HAS(name) && api->name
    return true EACH_NEEDED(HAS);
#undef HAS
}

static void say_lacking(const struct xs_cuda_api *api)
{
    char names[160] = "";
    size_t used = 0;

#define NAME(name)                                                                                \
    if (!api->name && used < sizeof(names))                                                       \
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s" #name, used ? ", " : "");
    EACH_NEEDED(NAME)
#undef NAME
    XS_WARN_ONCE("CUDA: this driver lacks functions that scheduling needs (%s); this process runs unscheduled", names);
}

XS_EXPORT void xsched_priv_cuda_bind(void *handle)
{
    struct xs_cuda_api api = {0};

    if (atomic_load_explicit(&g_bound, memory_order_acquire))
        return;
    /* through memcpy: a function pointer out of an object pointer */
#define CUDA_USED(name, params)                                                                   \
    do {                                                                                          \
        void *p = xs_dlsym(handle, #name);                                                           \
        memcpy(&api.name, &p, sizeof(p));                                                         \
    } while (0);
#include "hal/cuda/used.def"
#undef CUDA_USED
    xs_lock_acquire(&g_lock);
    if (!atomic_load_explicit(&g_bound, memory_order_relaxed)) {
        g_api = api;
        g_complete = is_complete(&api);
        /* release pairs with the acquire loads here and in xsched_priv_cuda_api */
        atomic_store_explicit(&g_bound, true, memory_order_release);
    }
    xs_lock_release(&g_lock);
    if (!g_complete)
        say_lacking(&api);
}

XS_EXPORT const struct xs_cuda_api *xsched_priv_cuda_api(const void *caller)
{
    char path[512];
    void *handle;

    if (XS_UNLIKELY(!atomic_load_explicit(&g_bound, memory_order_acquire))) {
        if (xs_vendor_open(&xsched_priv_cuda_vendor, caller, &handle, path, sizeof(path)) < 0)
            return NULL;
        xsched_priv_cuda_bind(handle);
    }
    return g_complete ? &g_api : NULL;
}

bool xs_cuda_enter(CUcontext ctx, struct xs_cuda_entered *e)
{
    CUcontext current = NULL;

    memset(e, 0, sizeof(*e));
    e->mode = XS_CU_CAPTURE_MODE_RELAXED;
    if (g_api.cuThreadExchangeStreamCaptureMode)
        e->exchanged = g_api.cuThreadExchangeStreamCaptureMode(&e->mode) == XS_CU_SUCCESS;
    if (g_api.cuCtxGetCurrent(&current) == XS_CU_SUCCESS && current)
        xs_cuda_context_seen(current);
    e->before = current;
    if (current == ctx)
        return true;
    if (g_api.cuCtxPushCurrent_v2(ctx) == XS_CU_SUCCESS) {
        e->pushed = true;
        return true;
    }
    xs_cuda_leave(e);
    return false;
}

/* The program's next calls must not find another context, whatever fails. */
static void pop(CUcontext before)
{
    CUcontext popped;

    if (g_api.cuCtxPopCurrent_v2(&popped) != XS_CU_SUCCESS && g_api.cuCtxSetCurrent)
        g_api.cuCtxSetCurrent(before);
}

void xs_cuda_leave(struct xs_cuda_entered *e)
{
    if (e->pushed)
        pop(e->before);
    if (e->exchanged)
        g_api.cuThreadExchangeStreamCaptureMode(&e->mode);
}

static XResult op_synchronize(void *opaque)
{
    struct xs_cuda_hw *hw = opaque;
    struct xs_cuda_entered e;
    CUresult r;

    if (atomic_load(&hw->st.gone))
        return kXSchedErrorNotFound;
    if (!xs_cuda_enter(hw->ctx, &e))
        return kXSchedErrorHardware;
    if (xs_stream_of_other_thread(&hw->st)) /* no name for it in this thread */
        r = g_api.cuCtxSynchronize ? g_api.cuCtxSynchronize() : XS_CU_NOT_SUPPORTED;
    else
        r = g_api.cuStreamSynchronize(hw->stream);
    xs_cuda_leave(&e);
    return r == XS_CU_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

static bool write_mark(struct xs_cuda_hw *hw, CUstream stream, uint64_t number)
{
    CUresult r = g_api.cuStreamWriteValue64_v2(stream, hw->st.mark_at, number, 0);

    if (XS_LIKELY(r == XS_CU_SUCCESS))
        return true;
    if (r == XS_CU_NOT_SUPPORTED) {
        atomic_store_explicit(&hw->st.no_marks, true, memory_order_relaxed);
        XS_INFO("CUDA: this device has no stream memory operations; events take their place");
    }
    return false;
}

bool xs_cuda_may_append(struct xs_cuda_hw *hw)
{
    if (!xs_stream_here(&hw->st))
        return false;
    if (XS_LIKELY(!atomic_load_explicit(&xsched_priv_cuda_captures, memory_order_relaxed)) &&
        XS_LIKELY(!atomic_load_explicit(&xsched_priv_cuda_captures_unseen, memory_order_relaxed)))
        return true;
    return !atomic_load_explicit(&xsched_priv_cuda_recordings, memory_order_relaxed) &&
           !xsched_priv_cuda_capturing(hw->stream);
}

static bool op_mark(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_cuda_hw *hw = opaque;
    struct xs_cuda_entered e;
    CUstream stream;
    bool ok = true;

    if (!xs_cuda_may_append(hw))
        return false;
    if (XS_UNLIKELY(atomic_load_explicit(&hw->st.mark_queue, memory_order_acquire) != q) &&
        !atomic_load_explicit(&hw->st.no_marks, memory_order_relaxed))
        ok = xs_cuda_marks_to(hw, q);
    if (XS_UNLIKELY(atomic_load_explicit(&hw->st.no_marks, memory_order_relaxed)))
        return xs_cuda_mark_event(hw, q, number);
    if (xs_stream_native(&hw->st) == (uintptr_t)hw->stream) { /* a created stream brings its context */
        ok = ok && write_mark(hw, hw->stream, number);
    } else {
        if (!ok || !xs_cuda_enter(hw->ctx, &e))
            return false;
        stream = xs_cuda_mark_stream(hw, number);
        ok = stream && write_mark(hw, stream, number);
        xs_cuda_leave(&e);
    }
    if (XS_LIKELY(ok))
        return true;
    return atomic_load_explicit(&hw->st.no_marks, memory_order_relaxed) && xs_cuda_mark_event(hw, q, number);
}

static char k_none[1];            /* op_enter found no current context */

static XResult op_enter(void *opaque, void **ret_saved)
{
    struct xs_cuda_hw *hw = opaque;
    CUcontext before = NULL;

    if (g_api.cuCtxGetCurrent(&before) != XS_CU_SUCCESS)
        before = NULL;
    if (g_api.cuCtxPushCurrent_v2(hw->ctx) != XS_CU_SUCCESS)
        return kXSchedErrorHardware;
    *ret_saved = before ? (void *)before : k_none;
    return kXSchedSuccess;
}

static void op_leave(void *opaque, void *saved)
{
    (void)opaque;
    if (saved)
        pop(saved == k_none ? NULL : saved);
}

static void op_release(void *opaque)
{
    struct xs_cuda_context *c = ((struct xs_cuda_hw *)opaque)->context;

    xs_lanes_stream_ends(opaque);
    xs_stream_release(&xs_cuda_streams, opaque);
    xs_cuda_context_put(c);
}

struct xs_hal_ops xs_cuda_ops = { /* writer of levels: xsched_priv_cuda_level; the rest is constant */
    .abi = XS_HAL_ABI,
    .size = sizeof(struct xs_hal_ops),
    .platform = kPlatformCUDA,
    .name = "CUDA",
    .levels = 1u << kPreemptLevelBlock,
    .auto_levels = 1u << kPreemptLevelInterrupt, /* xs_cuda_gates_offer adds others */
    .synchronize = op_synchronize,
    .mark = op_mark,
    .enter = op_enter,
    .leave = op_leave,
    .release = op_release,
    .device_marks = true,
    .gate = xs_cuda_gate,
    .ctx_entries = xs_cuda_ctx_entries,
};

XS_EXPORT void xsched_priv_cuda_level(uint32_t bit, bool works)
{
    /* relaxed: a queue that another thread makes now takes either */
    if (works)
        __atomic_fetch_or(&xs_cuda_ops.levels, bit, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&xs_cuda_ops.levels, ~bit, __ATOMIC_RELAXED);
    if (XS_UNLIKELY(atomic_load(&xsched_priv_cuda_at_level1))) /* seq_cst: seen here, or its setter takes the bit back */
        __atomic_fetch_and(&xs_cuda_ops.levels, 1u << kPreemptLevelBlock, __ATOMIC_SEQ_CST);
}

XS_EXPORT _Atomic bool xsched_priv_cuda_at_level1;

XS_EXPORT void xsched_priv_cuda_level1_only(void)
{
    atomic_store(&xsched_priv_cuda_at_level1, true);
    xsched_priv_cuda_level(0, false);
    xsched_priv_level1_only(kPlatformCUDA);
}

/* The driver follows a handle blindly. If the kernel does not tell (a sandbox), believes the caller. */
static bool plausible(const void *handle)
{
    char copy[sizeof(void *)];
    struct iovec to = {copy, sizeof(copy)}, from = {(void *)(uintptr_t)handle, sizeof(copy)};
    long n;

    if ((uintptr_t)handle <= 2)
        return true;
    if ((uintptr_t)handle < 4096 || ((uintptr_t)handle & (sizeof(void *) - 1)))
        return false;
    n = syscall(SYS_process_vm_readv, (long)getpid(), &to, 1L, &from, 1L, 0L);
    return n == (long)sizeof(copy) || (n < 0 && errno != EFAULT);
}

XS_EXPORT XResult CudaQueueCreate(HwQueueHandle *hwq, struct CUstream_st *stream)
{
    uint64_t native;

    if (!hwq || !plausible(stream))
        return kXSchedErrorInvalidValue;
    if (!xsched_priv_cuda_api(__builtin_return_address(0)))
        return kXSchedErrorNotFound;
    native = xsched_priv_cuda_native(stream, false);
    return native ? xsched_priv_cuda_make(stream, native, hwq) : kXSchedErrorNotFound;
}

XS_EXPORT XResult CudaQueueGet(HwQueueHandle *hwq, struct CUstream_st *stream)
{
    HwQueueHandle handle;
    uint64_t native;

    if (!hwq)
        return kXSchedErrorInvalidValue;
    if (!xsched_priv_cuda_api(__builtin_return_address(0)))
        return kXSchedErrorNotFound;
    native = xsched_priv_cuda_native(stream, false);
    handle = native ? xsched_priv_hwq_find(kPlatformCUDA, native) : 0;
    if (!handle)
        return kXSchedErrorNotFound;
    *hwq = handle;
    return kXSchedSuccess;
}
