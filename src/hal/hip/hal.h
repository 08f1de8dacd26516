/* SPDX-License-Identifier: Apache-2.0 */
/* libhalhip: hardware queues of HIP. What the shim uses of it is exported as xsched_priv_hip_* in the
 * node XSCHED_PRIVATE.
 *
 * A process may have several copies of the runtime, each with its own streams, events and default
 * streams; whatever names a stream names its runtime (struct xs_hip_api) too. A stream is known by a
 * number (`native`): created streams by their handle, the null stream by runtime and device, the
 * default stream of a thread by storage of ours. */
#ifndef XS_HAL_HIP_H
#define XS_HAL_HIP_H

#include "hal/common/vendor.h"
#include "hal/hip/hip_abi.h"
#include "xqueue/priv.h"

#define XS_HIP_RUNTIMES 8u
#define XS_HIP_ORDERED  64u       /* more blocking streams of a device depend unseen */
#define XS_HIP_PAGES    64u       /* of the client page that hold words of a device's marks: 32 queues each */

/** One copy of the runtime: the real functions that we call ourselves; NULL where it lacks one. */
struct xs_hip_api {
    void *handle;
    unsigned index;
#define HIP_USED(name, params) hipError_t (*name) params;
#include "hal/hip/used.def"
#undef HIP_USED
};

/** A device as one runtime sees it. Storage is kept. */
struct xs_hip_device {
    const struct xs_hip_api *api;
    int dev;
    XDevice device;
    int marks;                    /* enum xs_hip_marks; under the lock of devices.c, as all below */
    struct xs_hip_hw *streams;
    /* The null stream and the blocking ones, in any order, with gaps; written under the lock, read without. */
    _Atomic(struct xs_hip_hw *) ordered[XS_HIP_ORDERED];
    size_t pages;
    struct {
        uintptr_t page;           /* as libpreempt has it mapped */
        void *alias;              /* the same memory, mapped again and registered */
        void *at;                 /* where the device sees it */
    } page[XS_HIP_PAGES];
    struct xs_hip_device *next;
};

/** How the completion of commands is learnt. */
enum xs_hip_marks { XS_HIP_MARKS_UNKNOWN, XS_HIP_MARKS_WRITE, XS_HIP_MARKS_EVENT, XS_HIP_MARKS_NONE };

/** One stream that has a hardware queue. Storage is kept and used again. */
struct xs_hip_hw {
    const struct xs_hip_api *api;
    struct xs_hip_device *device;
    hipStream_t stream;           /* as the runtime takes it */
    uint64_t native;
    uint64_t owner;               /* the thread of a per-thread stream, else 0 */
    _Atomic bool blocking;        /* ordered with the null stream of its device; the null stream itself: no */
    _Atomic bool gone;            /* the stream is destroyed or about to be */
    _Atomic bool no_marks;        /* the runtime refused one for good */
    struct xs_queue *queue;       /* as adopted; may be stale, see queue_id */
    uint64_t queue_id;
    _Atomic(struct xs_queue *) mark_queue;  /* mark_at is for this one */
    void *mark_at;
    struct xs_hip_hw *next;       /* in the device's list, or free */
};

extern const struct xs_vendor xsched_priv_hip_vendor;

/** Names the functions of a runtime. @return the same for the same handle; NULL: too many copies */
const struct xs_hip_api *xsched_priv_hip_bind(void *handle);
/** The first bound runtime; looks for one if nobody has bound any. NULL: there is none. */
const struct xs_hip_api *xsched_priv_hip_api(const void *caller);
/** The runtime that knows this stream; NULL: none. */
const struct xs_hip_api *xs_hip_api_of_stream(hipStream_t stream);
/** More levels work in this process (bits as in xs_hal_ops.levels), or no longer. */
void xsched_priv_hip_level(uint32_t bit, bool works);
/** Calls fn when the first hardware queue is made, at once if there is one already. One shim. */
void xsched_priv_hip_on_first(void (*fn)(void));

/** Stream captures that were begun and not ended in this process. While it is 0 nothing captures. */
extern _Atomic int32_t xsched_priv_hip_captures;
/** Whether something put into this stream now would be captured; true also when the runtime refuses
 *  to say. Asks the runtime. */
bool xsched_priv_hip_capturing(const struct xs_hip_api *api, hipStream_t stream);

/** 0: there is no device. @param per_thread  stream 0 is the thread's own */
uint64_t xsched_priv_hip_native(const struct xs_hip_api *api, hipStream_t stream, bool per_thread);
/** The XQueue of a stream; with automatic XQueues one is made at the first command. May be NULL. */
struct xs_queue *xsched_priv_hip_adopt(const struct xs_hip_api *api, hipStream_t stream, uint64_t native);
/** The hardware queue of a stream, made if it has none. */
XResult xsched_priv_hip_make(const struct xs_hip_api *api, hipStream_t stream, uint64_t native,
                             HwQueueHandle *ret);

/** A stream is about to be destroyed, or a new one has this handle. */
void xsched_priv_hip_stream_gone(hipStream_t stream);
/** The current device is about to be reset. @return what done needs; NULL: it has no queues */
struct xs_hip_reset *xsched_priv_hip_reset(const struct xs_hip_api *api);
/** It is (destroyed) or the runtime refused. NULL: nothing happens. */
void xsched_priv_hip_reset_done(struct xs_hip_reset *r, bool destroyed);
/** Calls fn for each queue of the current device. */
void xsched_priv_hip_each_queue(const struct xs_hip_api *api, void (*fn)(struct xs_queue *q, void *arg), void *arg);

/** Work that is put into the null stream waits for the blocking streams of its device, and the other way round:
 *  tells the scheduler what this queue waits for. Only where xsched_priv_intra. */
void xsched_priv_hip_implicit(struct xs_queue *q, uint64_t native);
/** This thread is about to wait for whatever the current device holds. Only where xsched_priv_intra. */
void xsched_priv_hip_lend_device(const struct xs_hip_api *api);

static inline struct xs_queue *xs_hip_queue(const struct xs_hip_api *api, hipStream_t stream, bool per_thread)
{
    uint64_t native = (uintptr_t)stream;
    struct xs_queue *q;

    if (XS_UNLIKELY(native <= 2))
        native = xsched_priv_hip_native(api, stream, per_thread);
    if (XS_UNLIKELY(!native))
        return NULL;
    q = xsched_priv_queue_find(kPlatformHIP, native);
    return XS_LIKELY(q != NULL) ? q : xsched_priv_hip_adopt(api, stream, native);
}

/* Inside the library. */
struct xs_hip_entered {
    const struct xs_hip_api *api;
    int dev;                      /* current before; -1: was the right one */
    int mode;                     /* capture mode of the thread before */
    bool exchanged;
    hipError_t error;             /* pending before: ours must not show, the program's must not vanish */
};
/** Makes a device current (-1: leaves it) and lets the thread make calls that a capture elsewhere would
 *  forbid; the leave puts both back and drops an error that we caused. */
bool xs_hip_enter(const struct xs_hip_api *api, int dev, struct xs_hip_entered *e);
void xs_hip_leave(struct xs_hip_entered *e);
/** NULL: no such device or no memory. */
struct xs_hip_device *xs_hip_device_get(const struct xs_hip_api *api, int dev);
/** How this device's marks work; the first call finds out, with a stream of its own. */
enum xs_hip_marks xs_hip_device_marks(struct xs_hip_device *d);
/** Where the device sees this word; NULL: it cannot. Calls the runtime. */
void *xs_hip_device_address(struct xs_hip_device *d, const void *word);
void xs_hip_device_add(struct xs_hip_device *d, struct xs_hip_hw *hw);
void xs_hip_device_remove(struct xs_hip_hw *hw);
void xs_hip_ordered_add_locked(struct xs_hip_hw *hw);
void xs_hip_ordered_remove_locked(struct xs_hip_hw *hw);
/** The null stream of a device. */
bool xs_hip_is_null(uint64_t native);
struct xs_hip_hw *xs_hip_hw_find(uint64_t native);
uint64_t xs_hip_thread_id(void);
void xs_hip_forget(struct xs_hip_hw *hw);
/** Takes the stream of this number out of all tables; opens its queue. */
void xs_hip_stream_forget(uint64_t native);
/** Prepares write marks for this queue. */
bool xs_hip_marks_to(struct xs_hip_hw *hw, struct xs_queue *q);
/** Puts an event into the stream and tells when it is reached. */
bool xs_hip_mark_event(struct xs_hip_hw *hw, struct xs_queue *q, uint64_t number);
extern struct xs_hal_ops xs_hip_ops_write, xs_hip_ops_event;

#endif
