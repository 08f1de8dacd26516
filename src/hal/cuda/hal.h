/* SPDX-License-Identifier: Apache-2.0 */
/* libhalcuda: hardware queues of CUDA. What the shim uses of it is exported as xsched_priv_cuda_*
 * in the node XSCHED_PRIVATE.
 *
 * A stream is known by a number (`native`): created streams by their handle, the legacy default
 * stream of a context by the context, the default stream of a thread by storage of ours. */
#ifndef XS_HAL_CUDA_H
#define XS_HAL_CUDA_H

#include "hal/common/vendor.h"
#include "hal/cuda/cuda_abi.h"
#include "xqueue/priv.h"

/** The real functions that we call ourselves; NULL where the driver lacks one. */
struct xs_cuda_api {
#define CUDA_USED(name, params) CUresult (*name) params;
#include "hal/cuda/used.def"
#undef CUDA_USED
};

#define XS_CUDA_PAGES 128u        /* pages of memory whose words a context can see: marks of 32 queues each,
                                     permit words of 64 */

#define XS_CUDA_ORDERED 64u

/** One context in which there is a hardware queue. Storage is kept and used again. */
struct xs_cuda_context {
    CUcontext ctx;
    CUdevice dev;
    XDevice device;
    bool primary;
    bool live;                    /* under the lock of contexts.c, as all below */
    struct xs_cuda_hw *streams;
    /* Those of streams that take part in the order of the legacy stream, for looks without the lock; what does not fit
     * is a dependency that nobody sees. Written under the lock. Storage of streams is never freed. */
    _Atomic(struct xs_cuda_hw *) ordered[XS_CUDA_ORDERED];
    struct xs_cuda_going *going;  /* while it is being destroyed */
    size_t going_count;
    struct xs_cuda_context *next;
    struct xs_room room;          /* level 2; written by libpreempt */
    size_t pages;
    struct {
        uintptr_t page;           /* as libpreempt has it mapped */
        uint64_t serial;          /* of this use of that address */
        void *alias;              /* the same memory, mapped again and registered in this context */
        CUdeviceptr at;           /* of the alias */
    } page[XS_CUDA_PAGES];
};

/** One stream that has a hardware queue. Storage is kept and used again. */
struct xs_cuda_hw {
    CUstream stream;              /* as the driver takes it: never null */
    struct xs_cuda_context *context;
    CUcontext ctx;
    uint64_t native;
    uint64_t owner;               /* the thread of a per-thread stream, else 0 */
    _Atomic bool blocking;        /* ordered with the legacy stream of its context; the legacy one itself: no */
    _Atomic bool gone;            /* the stream is destroyed or about to be */
    _Atomic bool no_marks;        /* the driver refused one for good: completion is known from waits only */
    _Atomic bool no_gates;        /* likewise: level 1 */
    struct xs_queue *queue;       /* as adopted; may be stale, see queue_id */
    uint64_t queue_id;
    _Atomic(struct xs_queue *) mark_queue;  /* mark_at is for this one */
    CUdeviceptr mark_at;
    struct xs_cuda_hw *next;      /* in the context's list, or free */
};

extern const struct xs_vendor xsched_priv_cuda_vendor;

/** Names the real functions; the first to do so wins. */
void xsched_priv_cuda_bind(void *handle);
/** The bound functions; looks for the real library if nobody has bound any. NULL: there is none. */
const struct xs_cuda_api *xsched_priv_cuda_api(const void *caller);
/** More levels work in this process (bits as in xs_hal_ops.levels), or no longer. */
void xsched_priv_cuda_level(uint32_t bit, bool works);
/** Calls fn when the first hardware queue is made, at once if there is one already. One shim. */
void xsched_priv_cuda_on_first(void (*fn)(void));

/** Stream captures that were begun and not ended in this process. While it is 0 nothing captures. */
extern _Atomic int32_t xsched_priv_cuda_captures;
/** Whether something put into this stream now would be captured; true also when the driver refuses
 *  to say. Asks the driver. */
bool xsched_priv_cuda_capturing(CUstream stream);

/** 0: a default stream and no context. @param per_thread  stream 0 is the thread's own */
uint64_t xsched_priv_cuda_native(CUstream stream, bool per_thread);
/** The XQueue of a stream; with automatic XQueues one is made at the first command. May be NULL. */
struct xs_queue *xsched_priv_cuda_adopt(CUstream stream, uint64_t native);
/** The hardware queue of a stream, made if it has none. */
XResult xsched_priv_cuda_make(CUstream stream, uint64_t native, HwQueueHandle *ret);

/** A stream is about to be destroyed, or a new one has this handle. */
void xsched_priv_cuda_stream_gone(CUstream stream);
/** A context is about to be destroyed or reset. @return what finish needs; NULL: it has no queue */
struct xs_cuda_context *xsched_priv_cuda_context_going(CUcontext ctx);
/** The primary context of a device, if it is active and has queues. */
struct xs_cuda_context *xsched_priv_cuda_primary(CUdevice dev);
/** It is destroyed: the device writes nothing there any more. NULL: nothing happens.
 *  @param destroyed  false: the driver refused; its streams get queues again when they are used */
void xsched_priv_cuda_context_gone(struct xs_cuda_context *c, bool destroyed);
bool xsched_priv_cuda_primary_active(CUdevice dev);
/** Calls fn for each queue of the current context (ctx NULL) or of ctx. */
void xsched_priv_cuda_each_queue(CUcontext ctx, void (*fn)(struct xs_queue *q, void *arg), void *arg);

/** Work that is put into a default stream waits for the blocking streams of its context, and the other way round:
 *  tells the scheduler what this queue waits for. Only where xsched_priv_intra. */
void xsched_priv_cuda_implicit(struct xs_queue *q, uint64_t native);
/** This thread is about to wait for whatever the current context holds. Only where xsched_priv_intra. */
void xsched_priv_cuda_lend_context(void);

static inline struct xs_queue *xs_cuda_queue(CUstream stream, bool per_thread)
{
    uint64_t native = (uintptr_t)stream;
    struct xs_queue *q;

    if (XS_UNLIKELY(native <= 2))
        native = xsched_priv_cuda_native(stream, per_thread);
    if (XS_UNLIKELY(!native))
        return NULL;
    q = xsched_priv_queue_find(kPlatformCUDA, native);
    return XS_LIKELY(q != NULL) ? q : xsched_priv_cuda_adopt(stream, native);
}

/* Inside the library. */
struct xs_cuda_entered {
    bool pushed;
    int mode;                     /* capture mode of the thread before */
    bool exchanged;
};
/** Makes ctx current and lets the thread make calls that a capture elsewhere would forbid. */
bool xs_cuda_enter(CUcontext ctx, struct xs_cuda_entered *e);
void xs_cuda_leave(struct xs_cuda_entered *e);
struct xs_cuda_context *xs_cuda_context_get(CUcontext ctx);
/** Where the device of the context sees this word; 0: it cannot. Calls the driver.
 *  @param serial  names this use of the word's address */
CUdeviceptr xs_cuda_device_address(struct xs_cuda_context *c, const void *word, uint64_t serial);
/** Whether something of ours may be put into the stream now, by this thread. */
bool xs_cuda_may_append(struct xs_cuda_hw *hw);
/* gates.c: level 2 */
void xs_cuda_gates_offer(const struct xs_cuda_api *api, CUdevice dev);
int xs_cuda_gate(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
struct xs_room *xs_cuda_room(void *hw);
void xs_cuda_context_add(struct xs_cuda_context *c, struct xs_cuda_hw *hw);
void xs_cuda_context_remove(struct xs_cuda_hw *hw);
bool xs_cuda_marks_to(struct xs_cuda_hw *hw, struct xs_queue *q);
struct xs_cuda_hw *xs_cuda_hw_find(uint64_t native);
/** Under the lock of contexts.c. */
void xs_cuda_ordered_add_locked(struct xs_cuda_context *c, struct xs_cuda_hw *hw);
void xs_cuda_ordered_remove_locked(struct xs_cuda_context *c, struct xs_cuda_hw *hw);
uint64_t xs_cuda_thread_id(void);
void xs_cuda_forget(struct xs_cuda_hw *hw);
/** Takes the stream of this number out of all tables; opens its queue. */
void xs_cuda_stream_forget(uint64_t native);
extern struct xs_hal_ops xs_cuda_ops;

#endif
