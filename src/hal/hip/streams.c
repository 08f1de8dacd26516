/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams have a hardware queue. A queue is made at the first command of a stream. */
#include "base/lock.h"
#include "base/map.h"
#include "hal/hip/hal.h"

#include <pthread.h>
#include <stdlib.h>

static struct xs_map g_streams;   /* native -> xs_hip_hw */
static struct xs_lock g_lock;     /* changes of g_streams, the free list; the map's own lock is inside */
static struct xs_hip_hw *g_free;
static _Atomic(void (*)(void)) g_on_first;
static _Atomic bool g_any;

XS_EXPORT _Atomic int32_t xsched_priv_hip_captures;

/* The default streams of a thread: one number for each runtime and device it used. */
struct thread_stream {
    const struct xs_hip_api *api;
    int dev;
    uint64_t native;
    struct thread_stream *next;
};
static pthread_key_t g_thread_key;
static pthread_once_t g_thread_once = PTHREAD_ONCE_INIT;
static bool g_thread_key_made;

XS_EXPORT void xsched_priv_hip_on_first(void (*fn)(void))
{
    atomic_store(&g_on_first, fn);
    /* seq_cst pairs with xsched_priv_hip_make: sets g_any, then looks at g_on_first */
    if (atomic_load(&g_any))
        fn();
}

uint64_t xs_hip_thread_id(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

XS_EXPORT bool xsched_priv_hip_capturing(const struct xs_hip_api *api, hipStream_t stream)
{
    int status = 0;

    if (!api || !api->hipStreamIsCapturing)
        return false;
    return api->hipStreamIsCapturing(stream, &status) != XS_HIP_SUCCESS || status != 0;
}

/* ---- default streams ---- */

void xs_hip_stream_forget(uint64_t native)
{
    struct xs_hip_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = xs_map_get(&g_streams, native);
    if (hw) {
        atomic_store(&hw->gone, true);
        xs_map_remove(&g_streams, native);
    }
    xs_lock_release(&g_lock);
    if (hw)
        xsched_priv_hwq_gone(kPlatformHIP, native);
}

static void thread_ends(void *list)
{
    struct thread_stream *s = list;

    while (s) {
        struct thread_stream *next = s->next;

        xs_hip_stream_forget(s->native);
        free(s);
        s = next;
    }
}

static void make_thread_key(void)
{
    g_thread_key_made = pthread_key_create(&g_thread_key, thread_ends) == 0;
}

static uint64_t thread_native(const struct xs_hip_api *api, int dev)
{
    struct thread_stream *first, *s;

    pthread_once(&g_thread_once, make_thread_key);
    if (!g_thread_key_made)
        return 0;
    first = pthread_getspecific(g_thread_key);
    for (s = first; s; s = s->next)
        if (s->api == api && s->dev == dev)
            return s->native;
    s = malloc(sizeof(*s));
    if (!s)
        return 0;
    s->api = api;
    s->dev = dev;
    s->native = (uint64_t)(uintptr_t)s | 2;
    s->next = first;
    pthread_setspecific(g_thread_key, s);
    return s->native;
}

/* Odd, and below the address of any object. */
static uint64_t null_native(const struct xs_hip_api *api, int dev)
{
    return (uint64_t)api->index << 20 | (uint64_t)((unsigned)dev & 0xffff) << 2 | 1;
}

XS_EXPORT uint64_t xsched_priv_hip_native(const struct xs_hip_api *api, hipStream_t stream, bool per_thread)
{
    int dev = -1;

    if ((uintptr_t)stream > 2)
        return (uintptr_t)stream;
    if (!api || !api->hipGetDevice || api->hipGetDevice(&dev) != XS_HIP_SUCCESS || dev < 0)
        return 0;
    if (stream == XS_HIP_STREAM_PER_THREAD || (!stream && per_thread))
        return thread_native(api, dev);
    return null_native(api, dev);
}

bool xs_hip_is_null(uint64_t native)
{
    return native & 1;
}

struct xs_hip_hw *xs_hip_hw_find(uint64_t native)
{
    return xs_map_get(&g_streams, native);
}

/* ---- hardware queues ---- */

static struct xs_hip_hw *hw_new(void)
{
    struct xs_hip_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = g_free;
    if (hw)
        g_free = hw->next;
    xs_lock_release(&g_lock);
    return hw ? hw : calloc(1, sizeof(*hw));
}

/* libpreempt lets it go: nobody calls an operation on it any more. */
void xs_hip_forget(struct xs_hip_hw *hw)
{
    if (hw->device)
        xs_hip_device_remove(hw);
    xs_lock_acquire(&g_lock);
    if (hw->native && xs_map_get(&g_streams, hw->native) == hw)
        xs_map_remove(&g_streams, hw->native);
    hw->next = g_free;
    g_free = hw;
    xs_lock_release(&g_lock);
}

bool xs_hip_marks_to(struct xs_hip_hw *hw, struct xs_queue *q)
{
    void *at = xs_hip_device_address(hw->device, xsched_priv_mark_word(q));

    if (!at) { /* the page cannot be registered: not to be tried at each command */
        atomic_store_explicit(&hw->no_marks, true, memory_order_relaxed);
        return false;
    }
    hw->mark_at = at;
    hw->queue = q;
    hw->queue_id = xsched_priv_queue_id(q);
    /* release pairs with the acquire load of the mark operation: mark_at is set */
    atomic_store_explicit(&hw->mark_queue, q, memory_order_release);
    return true;
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

static bool put(uint64_t native, struct xs_hip_hw *hw)
{
    bool done;

    xs_lock_acquire(&g_lock);
    done = !xs_map_get(&g_streams, native) && xs_map_put(&g_streams, native, hw) == 0;
    xs_lock_release(&g_lock);
    return done;
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
    enum xs_hip_marks marks;
    struct xs_hip_device *d;
    struct xs_hip_entered e;
    struct xs_hip_hw *hw;
    void (*fn)(void);
    bool blocking;
    XResult r;

    if (handle) {
        *ret = handle;
        return kXSchedSuccess;
    }
    if (!api || !xs_hip_enter(api, -1, &e))
        return kXSchedErrorNotFound;
    d = xs_hip_device_get(api, device_of(api, stream, native));
    /* a thread's own default stream is ordered with the null stream too */
    blocking = native == (uintptr_t)stream ? is_blocking(api, stream) : !xs_hip_is_null(native);
    xs_hip_leave(&e);
    if (!d)
        return kXSchedErrorInvalidValue;
    marks = xs_hip_device_marks(d);
    hw = hw_new();
    if (!hw)
        return kXSchedErrorUnknown;
    hw->api = api;
    __atomic_store_n(&hw->native, native, __ATOMIC_RELAXED); /* read by implicit.c, also of storage used again */
    hw->owner = 0;
    if (native == (uintptr_t)stream) {
        hw->stream = stream;
    } else if (xs_hip_is_null(native)) {
        hw->stream = NULL; /* older runtimes know no other name for it */
    } else {
        hw->stream = XS_HIP_STREAM_PER_THREAD;
        hw->owner = xs_hip_thread_id();
    }
    hw->device = d;
    hw->queue = NULL;
    atomic_store(&hw->blocking, blocking);
    atomic_store(&hw->gone, false);
    atomic_store(&hw->no_marks, marks == XS_HIP_MARKS_NONE);
    atomic_store(&hw->mark_queue, NULL);
    hw->next = NULL;
    if (!put(native, hw)) {
        hw->native = 0;
        hw->device = NULL;
        xs_hip_forget(hw); /* no memory, or another thread is making it at this moment */
        return kXSchedErrorUnknown;
    }
    xs_hip_device_add(d, hw);
    r = xsched_priv_hwq_create(marks == XS_HIP_MARKS_WRITE ? &xs_hip_ops_write : &xs_hip_ops_event, native, hw,
                               d->device, &handle, NULL);
    if (r != kXSchedSuccess) {
        xs_hip_forget(hw);
        return r;
    }
    *ret = handle;
    atomic_store(&g_any, true);
    fn = atomic_load(&g_on_first);
    if (fn)
        fn();
    return kXSchedSuccess;
}

XS_EXPORT struct xs_queue *xsched_priv_hip_adopt(const struct xs_hip_api *api, hipStream_t stream, uint64_t native)
{
    struct xs_hip_hw *hw = xs_map_get(&g_streams, native);
    struct xs_hip_entered e;
    HwQueueHandle handle;
    struct xs_queue *q;
    int priority = 0;

    if (hw || !xsched_priv_auto() || !api)
        return NULL; /* its XQueue was destroyed by the program, or could not be made */
    if (xsched_priv_hip_make(api, stream, native, &handle) != kXSchedSuccess)
        return NULL;
    if (native == (uintptr_t)stream && api->hipStreamGetPriority && xs_hip_enter(api, -1, &e)) {
        if (api->hipStreamGetPriority(stream, &priority) != XS_HIP_SUCCESS)
            priority = 0;
        xs_hip_leave(&e);
    }
    /* streams made without a priority have 0, and smaller is more urgent */
    if (xsched_priv_auto_queue(handle, -priority) != kXSchedSuccess)
        return NULL;
    q = xsched_priv_queue_find(kPlatformHIP, native);
    hw = xs_map_get(&g_streams, native);
    if (q && hw && xs_hip_device_marks(hw->device) == XS_HIP_MARKS_WRITE)
        xs_hip_marks_to(hw, q);
    return q;
}

XS_EXPORT void xsched_priv_hip_stream_gone(hipStream_t stream)
{
    if ((uintptr_t)stream > 2)
        xs_hip_stream_forget((uintptr_t)stream);
}
