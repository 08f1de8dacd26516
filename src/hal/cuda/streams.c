/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams have a hardware queue. A queue is made at the first command of a stream: many
 * programs make dozens of streams and use two. */
#include "base/lock.h"
#include "base/map.h"
#include "hal/cuda/hal.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct xs_map g_streams;   /* native -> xs_cuda_hw */
static struct xs_lock g_lock;     /* changes of g_streams, the free list; the map's own lock is inside */
static struct xs_cuda_hw *g_free;
static _Atomic(void (*)(void)) g_on_first;
static _Atomic bool g_any;

XS_EXPORT _Atomic int32_t xsched_priv_cuda_captures;

/* The default streams of a thread: one number for each context it used. */
struct thread_stream {
    CUcontext ctx;
    uint64_t native;
    struct thread_stream *next;
};
static pthread_key_t g_thread_key;
static pthread_once_t g_thread_once = PTHREAD_ONCE_INIT;
static bool g_thread_key_made;

XS_EXPORT void xsched_priv_cuda_on_first(void (*fn)(void))
{
    atomic_store(&g_on_first, fn);
    /* seq_cst pairs with xsched_priv_cuda_make: sets g_any, then looks at g_on_first */
    if (atomic_load(&g_any))
        fn();
}

uint64_t xs_cuda_thread_id(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

XS_EXPORT bool xsched_priv_cuda_capturing(CUstream stream)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    int status = XS_CU_CAPTURE_STATUS_NONE;

    if (!api || !api->cuStreamIsCapturing)
        return false;
    return api->cuStreamIsCapturing(stream, &status) != XS_CU_SUCCESS || status != XS_CU_CAPTURE_STATUS_NONE;
}

/* ---- default streams ---- */

void xs_cuda_stream_forget(uint64_t native)
{
    struct xs_cuda_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = xs_map_get(&g_streams, native);
    if (hw) {
        atomic_store(&hw->gone, true);
        xs_map_remove(&g_streams, native);
    }
    xs_lock_release(&g_lock);
    if (hw)
        xsched_priv_hwq_gone(kPlatformCUDA, native);
}

static void thread_ends(void *list)
{
    struct thread_stream *s = list;

    while (s) {
        struct thread_stream *next = s->next;

        xs_cuda_stream_forget(s->native);
        free(s);
        s = next;
    }
}

static void make_thread_key(void)
{
    g_thread_key_made = pthread_key_create(&g_thread_key, thread_ends) == 0;
}

static uint64_t thread_native(CUcontext ctx)
{
    struct thread_stream *first, *s;

    pthread_once(&g_thread_once, make_thread_key);
    if (!g_thread_key_made)
        return 0;
    first = pthread_getspecific(g_thread_key);
    for (s = first; s; s = s->next)
        if (s->ctx == ctx)
            return s->native;
    s = malloc(sizeof(*s));
    if (!s)
        return 0;
    s->ctx = ctx;
    s->native = (uint64_t)(uintptr_t)s | 2;
    s->next = first;
    pthread_setspecific(g_thread_key, s);
    return s->native;
}

XS_EXPORT uint64_t xsched_priv_cuda_native(CUstream stream, bool per_thread)
{
    const struct xs_cuda_api *api;
    CUcontext ctx = NULL;

    if ((uintptr_t)stream > 2)
        return (uintptr_t)stream;
    api = xsched_priv_cuda_api(NULL);
    if (!api || api->cuCtxGetCurrent(&ctx) != XS_CU_SUCCESS || !ctx)
        return 0;
    if (stream == XS_CU_STREAM_PER_THREAD || (!stream && per_thread))
        return thread_native(ctx);
    return (uint64_t)(uintptr_t)ctx | 1;
}

/* ---- hardware queues ---- */

struct xs_cuda_hw *xs_cuda_hw_find(uint64_t native)
{
    return xs_map_get(&g_streams, native);
}

static struct xs_cuda_hw *hw_new(void)
{
    struct xs_cuda_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = g_free;
    if (hw)
        g_free = hw->next;
    xs_lock_release(&g_lock);
    return hw ? hw : calloc(1, sizeof(*hw));
}

/* libpreempt lets it go: nobody calls an operation on it any more. */
void xs_cuda_forget(struct xs_cuda_hw *hw)
{
    if (hw->context)
        xs_cuda_context_remove(hw);
    xs_lock_acquire(&g_lock);
    if (hw->native && xs_map_get(&g_streams, hw->native) == hw)
        xs_map_remove(&g_streams, hw->native);
    hw->next = g_free;
    g_free = hw;
    xs_lock_release(&g_lock);
}

bool xs_cuda_marks_to(struct xs_cuda_hw *hw, struct xs_queue *q)
{
    CUdeviceptr at = xs_cuda_device_address(hw->context, xsched_priv_mark_word(q), 0);

    if (!at) { /* the page cannot be registered: not to be tried at each command */
        atomic_store_explicit(&hw->no_marks, true, memory_order_relaxed);
        return false;
    }
    hw->mark_at = at;
    hw->queue = q;
    hw->queue_id = xsched_priv_queue_id(q);
    /* release pairs with the acquire load of op_mark: mark_at is set */
    atomic_store_explicit(&hw->mark_queue, q, memory_order_release);
    return true;
}

static CUcontext context_of(const struct xs_cuda_api *api, CUstream stream, uint64_t native)
{
    CUcontext ctx = NULL;

    if (native != (uintptr_t)stream)
        return api->cuCtxGetCurrent(&ctx) == XS_CU_SUCCESS ? ctx : NULL;
    return api->cuStreamGetCtx && api->cuStreamGetCtx(stream, &ctx) == XS_CU_SUCCESS ? ctx : NULL;
}

static bool is_blocking(const struct xs_cuda_api *api, CUstream stream)
{
    unsigned flags = 0;

    return (uintptr_t)stream > 2 && api->cuStreamGetFlags && api->cuStreamGetFlags(stream, &flags) == XS_CU_SUCCESS &&
           !(flags & XS_CU_STREAM_NON_BLOCKING);
}

static bool put(uint64_t native, struct xs_cuda_hw *hw)
{
    bool done;

    xs_lock_acquire(&g_lock);
    done = !xs_map_get(&g_streams, native) && xs_map_put(&g_streams, native, hw) == 0;
    xs_lock_release(&g_lock);
    return done;
}

XS_EXPORT XResult xsched_priv_cuda_make(CUstream stream, uint64_t native, HwQueueHandle *ret)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    HwQueueHandle handle = xsched_priv_hwq_find(kPlatformCUDA, native);
    struct xs_cuda_context *c;
    struct xs_cuda_hw *hw;
    void (*fn)(void);
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
    hw = c ? hw_new() : NULL;
    if (!hw)
        return kXSchedErrorUnknown;
    hw->native = native;
    hw->owner = 0;
    if (native == (uintptr_t)stream) {
        hw->stream = stream;
    } else if (native & 1) {
        hw->stream = XS_CU_STREAM_LEGACY;
    } else {
        hw->stream = XS_CU_STREAM_PER_THREAD;
        hw->owner = xs_cuda_thread_id();
    }
    hw->context = c;
    hw->ctx = ctx;
    atomic_store(&hw->blocking, hw->owner || (hw->stream == stream && is_blocking(api, stream)));
    hw->queue = NULL;
    atomic_store(&hw->gone, false);
    atomic_store(&hw->no_marks, false);
    atomic_store(&hw->no_gates, false);
    atomic_store(&hw->mark_queue, NULL);
    hw->next = NULL;
    if (!put(native, hw)) {
        hw->native = 0;
        xs_cuda_forget(hw); /* no memory, or another thread is making it at this moment */
        return kXSchedErrorUnknown;
    }
    xs_cuda_context_add(c, hw);
    r = xsched_priv_hwq_create(&xs_cuda_ops, native, hw, c->device, &handle, NULL);
    if (r != kXSchedSuccess) {
        xs_cuda_forget(hw);
        return r;
    }
    *ret = handle;
    atomic_store(&g_any, true);
    fn = atomic_load(&g_on_first);
    if (fn)
        fn();
    return kXSchedSuccess;
}

XS_EXPORT struct xs_queue *xsched_priv_cuda_adopt(CUstream stream, uint64_t native)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_hw *hw = xs_map_get(&g_streams, native);
    HwQueueHandle handle;
    struct xs_queue *q;
    int priority = 0;

    if (hw || !xsched_priv_auto() || !api)
        return NULL; /* its XQueue was destroyed by the program, or could not be made */
    if (xsched_priv_cuda_make(stream, native, &handle) != kXSchedSuccess)
        return NULL;
    if (native == (uintptr_t)stream && api->cuStreamGetPriority)
        api->cuStreamGetPriority(stream, &priority);
    /* streams made without a priority have 0, and smaller is more urgent */
    if (xsched_priv_auto_queue(handle, -priority) != kXSchedSuccess)
        return NULL;
    q = xsched_priv_queue_find(kPlatformCUDA, native);
    hw = xs_map_get(&g_streams, native);
    if (q && hw)
        xs_cuda_marks_to(hw, q);
    return q;
}

XS_EXPORT void xsched_priv_cuda_stream_gone(CUstream stream)
{
    if ((uintptr_t)stream > 2)
        xs_cuda_stream_forget((uintptr_t)stream);
}
