/* SPDX-License-Identifier: Apache-2.0 */
/* libhalcuda: hardware queues of CUDA. It exports functions for the shim as xsched_priv_cuda_* in the node
 * XSCHED_PRIVATE.
 *
 * Each stream has a number (hal/common/stream_queues.h). A created stream has its handle, the legacy default
 * stream of a context the context's. The default stream of a thread has the address of storage of ours. */
#ifndef XS_HAL_CUDA_H
#define XS_HAL_CUDA_H

#include "hal/common/device_pages.h"
#include "hal/common/stream_queues.h"
#include "hal/common/vendor.h"
#include "hal/common/event_watch.h"
#include "hal/cuda/cuda_abi.h"
#include "xqueue/interface.h"

/** The real functions that we call ourselves; NULL where the driver lacks one. */
struct xs_cuda_api {
#define CUDA_USED(name, params) CUresult (*name) params;
#include "hal/cuda/used.def"
#undef CUDA_USED
};

/** Green contexts for lanes (lanes/lanes.h) of a primary context: the wide one, the narrow one. The thread
 *  that makes the context's first queue writes them, and a thread that ends them. */
struct xs_cuda_greens {
    void *contexts[2];            /* NULL: not made */
    unsigned multiprocessors[2], total;
    _Atomic bool asked;           /* it has them, or cannot; it gets no others */
    _Atomic bool there;
    _Atomic uint32_t stops;       /* threads that end the context next: none makes some meanwhile */
    _Atomic uint32_t makers;      /* threads that make some */
    uint32_t forks;               /* xs_forks() of the process that has the context: its threads are in no forked child */
};

/** One context in which there is a hardware queue. The storage stays and gets new uses. */
struct xs_cuda_context {
    CUcontext ctx;
    uint64_t id;                  /* of this use of that handle; 0: not known */
    CUdevice dev;
    XDevice device;
    bool primary;
    bool live;                    /* under the lock of contexts.c, as `users` */
    unsigned users;               /* its streams, and calls that may end it; 0 and not live: unused */
    struct xs_stream_group group;
    struct xs_cuda_context *next;
    struct xs_ctx_entries ctx_entries;          /* level 2; written by libpreempt */
    struct xs_watch_place watch;  /* events, where the device cannot write */
    bool writes;                  /* as far as it says */
    _Atomic(CUstream) mark_stream;              /* legacy_marks.c; NULL: none yet */
    _Atomic bool no_mark_stream;                /* the driver refused it */
    struct xs_device_pages pages;
    struct xs_cuda_greens greens;
};

/** One stream that has a hardware queue. */
struct xs_cuda_hw {
    struct xs_stream st;
    CUstream stream;              /* as the driver takes it: never null */
    struct xs_cuda_context *context;
    CUcontext ctx;
    /* lanes/lanes.c */
    _Atomic(struct xs_lanes *) lanes;           /* NULL: none */
    _Atomic uint32_t lanes_state;
    _Atomic uint32_t no_lanes;    /* the stream has memory of its own: kernels of others may not use it */
};

/** A kernel before its launch, as far as it matters where it may run. */
struct xs_cuda_kernel {
    CUfunction f;
    uint64_t blocks;
    unsigned threads, shared_bytes;             /* of a block */
    unsigned cluster;                           /* blocks of a cluster; 0: the function's own say */
};

/** One launch on a lane. */
struct xs_cuda_bracket {
    struct xs_lanes *lanes;
    CUstream stream;              /* where to launch */
    CUstream program;             /* the stream that the program named */
    unsigned pair;
};

extern const struct xs_vendor xsched_priv_cuda_vendor;

/** Names the real functions; the first to do so wins. */
void xsched_priv_cuda_bind(void *handle);
/** The bound functions; looks for the real library if no call has bound any. NULL: there is none, or it lacks
 *  functions that scheduling needs. */
const struct xs_cuda_api *xsched_priv_cuda_api(const void *caller);
/** More levels work in this process (bits as in xs_hal_ops.levels), or no longer. */
void xsched_priv_cuda_level(uint32_t bit, bool works);
/** No level but 1 works in this process, for its life and its children's: also for queues that exist. */
void xsched_priv_cuda_level1_only(void);
extern _Atomic bool xsched_priv_cuda_at_level1; /* xsched_priv_cuda_level1_only has run; writer: it */
/** Calls fn with the first hardware queue, at once if there is one already. One shim. */
void xsched_priv_cuda_on_first(void (*fn)(void));

/** Stream captures under way in this process, as far as the shim sees them. While it is 0 and no function
 *  begins captures unseen, nothing captures. */
extern _Atomic int32_t xsched_priv_cuda_captures;
/** The program has a function that begins captures and passes unseen. Then we ask the driver before we put
 *  anything into a stream, and not at each command of the program. Writer: the shim. */
extern _Atomic bool xsched_priv_cuda_captures_unseen;
/** Captures into command lists of a graphics API that are under way (cuStreamBeginCaptureToCig). Their
 *  commands run when the graphics API says so, they take neither marks nor gates, and no call tells which
 *  streams belong to one. So while it is not 0, every stream counts as captured. They count in
 *  xsched_priv_cuda_captures as well. Writer: the shim. */
extern _Atomic int32_t xsched_priv_cuda_recordings;
/** Whether a capture would take a command that we put into this stream now; true also when the driver refuses
 *  to say. Asks the driver. */
bool xsched_priv_cuda_capturing(CUstream stream);

/** The only context of the program, if it has one and that was current once; NULL: ask the driver which one
 *  is. Another one may be current that XSched does not know yet. A hint; owner: single_context.c. */
extern _Atomic(CUcontext) xsched_priv_cuda_only;
/** How often this thread took it for the current one; at each 64th time it asks the driver. Owner:
 *  xs_cuda_native. */
extern _Thread_local uint32_t xsched_priv_cuda_unasked;
#define XS_CUDA_ASK_EACH 64u
/** The program got this context from a function that makes one. Does nothing for NULL. */
void xsched_priv_cuda_context_made(CUcontext ctx);

/** 0: a default stream and no context. @param per_thread  stream 0 is the thread's own */
uint64_t xsched_priv_cuda_native(CUstream stream, bool per_thread);
/** The XQueue of a stream; with automatic XQueues, makes one at the first command. May be NULL. */
struct xs_queue *xsched_priv_cuda_adopt(CUstream stream, uint64_t native);
/** The hardware queue of a stream; makes it if it has none. */
XResult xsched_priv_cuda_make(CUstream stream, uint64_t native, HwQueueHandle *ret);

/** A new stream has this handle: forgets the old one's queue. */
void xsched_priv_cuda_stream_gone(CUstream stream);
/** This thread destroys the stream next. */
void xsched_priv_cuda_stream_ends(CUstream stream);
/** The program destroys or resets a context next. @return the argument for finish; NULL: it has no queue */
struct xs_cuda_context *xsched_priv_cuda_context_going(CUcontext ctx);
/** The primary context of a device, if it is active and has queues, else NULL. */
CUcontext xsched_priv_cuda_primary(CUdevice dev);
/** It is gone: the device writes nothing there any more. Does nothing for NULL.
 *  @param destroyed  false: the driver refused; its streams get queues again at their next use */
void xsched_priv_cuda_context_gone(struct xs_cuda_context *c, bool destroyed);
/** The program gave back a reference to the primary context of a device; c, quiet since before, was that
 *  context. It is gone if this was the last reference, even if another thread has made it anew by now. Does
 *  nothing for NULL. */
void xsched_priv_cuda_primary_released(struct xs_cuda_context *c, CUdevice dev);
/** Around a call that may end it: until xsched_priv_cuda_context_go_on, no thread of ours asks for its
 *  events.
 *  @return the argument for that; NULL: it has no queue */
struct xs_cuda_context *xsched_priv_cuda_context_quiet(CUcontext ctx);
void xsched_priv_cuda_context_go_on(struct xs_cuda_context *c);
/** Calls fn for each queue of the current context (ctx NULL) or of ctx. */
void xsched_priv_cuda_each_queue(CUcontext ctx, void (*fn)(struct xs_queue *q, void *arg), void *arg);

/** Around the launch of a kernel that the scheduler wants confined (ticket->lane is not 0), after
 *  xsched_priv_submit_begin.
 *  @return false: launch as ever; else on ret->stream */
bool xsched_priv_cuda_lane_enter(struct xs_ticket *ticket, CUstream stream, bool per_thread, const struct xs_cuda_kernel *k,
                                 struct xs_cuda_bracket *ret);
/** @param launched  false: the driver refused it there, and it goes to the program's own stream now */
void xsched_priv_cuda_lane_leave(struct xs_cuda_bracket *b, bool launched);
/** The outcome of a launch that the scheduler wanted confined. */
enum xs_lane_outcome {
    XS_LANE_FITS,                 /* it runs on a lane */
    XS_LANE_TOO_SMALL,            /* its blocks fit the device at once, and not the lane */
    XS_LANE_SHARED,               /* ... not beside those of the process's other queues */
    XS_LANE_UNKNOWN,              /* it is new */
    XS_LANE_REFUSED,              /* a capture, a collective, or the driver refused */
    XS_LANE_OUTCOMES
};
/** @return how many had this outcome; *ret_est_ns: their estimated device time. For tests. */
uint64_t xsched_priv_cuda_lane_count(unsigned outcome, uint64_t *ret_est_ns);
/** This stream gets no lane. */
void xsched_priv_cuda_lane_never(CUstream stream, bool per_thread);
/** The program unloads functions next. */
void xsched_priv_cuda_lane_forget(void);
/** The program set an attribute of a function, which may change how many of its blocks fit on a
 *  multiprocessor. */
void xsched_priv_cuda_lane_function_set(const void *f, int attribute, int value);
/** The program releases, resets or destroys a context next: ends the lanes that would keep it alive. None
 *  begins until the second call.
 *  @param released  the context may live on, and so do kernels on its lanes: waits for them, a second at most
 *  @return for the second; NULL: there were none */
struct xs_cuda_context *xsched_priv_cuda_lanes_end(CUcontext ctx, bool released);
void xsched_priv_cuda_lanes_may_begin(struct xs_cuda_context *c);

/** A command in a default stream waits for the blocking streams of its context, and the other way round:
 *  tells the scheduler for which commands this queue waits. Only where xsched_priv_intra. */
void xsched_priv_cuda_implicit(struct xs_queue *q, uint64_t native);
/** This thread waits for all work of the current context next. Only where xsched_priv_intra. */
void xsched_priv_cuda_lend_context(void);

/** As xsched_priv_cuda_native, without a call for created streams and for the null stream of a program with
 *  one context. */
static inline uint64_t xs_cuda_native(CUstream stream, bool per_thread)
{
    CUcontext only;

    if (XS_LIKELY((uintptr_t)stream > 2))
        return (uintptr_t)stream;
    only = atomic_load_explicit(&xsched_priv_cuda_only, memory_order_relaxed); /* a hint */
    if (XS_LIKELY(only != NULL) && stream != XS_CU_STREAM_PER_THREAD && (stream || !per_thread) &&
        XS_LIKELY(++xsched_priv_cuda_unasked % XS_CUDA_ASK_EACH != 0))
        return (uintptr_t)only | 1;
    return xsched_priv_cuda_native(stream, per_thread);
}

static inline struct xs_queue *xs_cuda_queue(CUstream stream, bool per_thread)
{
    uint64_t native = xs_cuda_native(stream, per_thread);
    struct xs_queue *q;

    if (XS_UNLIKELY(!native))
        return NULL;
    q = xsched_priv_queue_find(kPlatformCUDA, native);
    return XS_LIKELY(q != NULL) ? q : xsched_priv_cuda_adopt(stream, native);
}

/* Inside the library. */
struct xs_cuda_entered {
    CUcontext before;             /* the current context; NULL: none */
    bool pushed;
    int mode;                     /* capture mode of the thread before */
    bool exchanged;
};
/** Makes ctx current and lets the thread make calls that a capture elsewhere would forbid. */
bool xs_cuda_enter(CUcontext ctx, struct xs_cuda_entered *e);
void xs_cuda_leave(struct xs_cuda_entered *e);
/* single_context.c */
/** The driver says that this one is current. */
void xs_cuda_context_seen(CUcontext ctx);
/** The program destroys it next. */
void xs_cuda_context_ends(CUcontext ctx);
/** The same if XSched knows it already. NULL: it is not */
struct xs_cuda_context *xs_cuda_context_find(CUcontext ctx);
/** For one more stream in it; xs_cuda_context_put when libpreempt releases the stream. NULL: no memory, or
 *  not a context */
struct xs_cuda_context *xs_cuda_context_get(CUcontext ctx);
void xs_cuda_context_put(struct xs_cuda_context *c);
/** Where the device of the context sees this word; 0: it cannot. Calls the driver.
 *  @param serial  names this use of the word's address */
/** Its place on the bus, by which schedulers know it. Calls the driver. */
XDevice xs_cuda_identity(const struct xs_cuda_api *api, CUdevice dev);
CUdeviceptr xs_cuda_device_address(struct xs_cuda_context *c, const void *word, uint64_t serial);
/** Whether this thread may put something of ours into the stream now. */
bool xs_cuda_may_append(struct xs_cuda_hw *hw);
/* event_marks.c: an event takes the place of a mark that the device cannot write. */
bool xs_cuda_mark_event(struct xs_cuda_hw *hw, struct xs_queue *q, uint64_t number);
extern const struct xs_watch_ops xs_cuda_watch;
/* legacy_marks.c */
/** The stream for a mark with this number. The context of the stream is current. NULL: no stream now */
CUstream xs_cuda_mark_stream(struct xs_cuda_hw *hw, uint64_t number);
/** The context is gone. */
void xs_cuda_mark_stream_gone(struct xs_cuda_context *c);
/* gates.c: level 2 */
/** @param writes  the device has stream memory operations, as far as it says */
void xs_cuda_gates_offer(const struct xs_cuda_api *api, bool writes);
int xs_cuda_gate(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
struct xs_ctx_entries *xs_cuda_ctx_entries(void *hw);
/** By how many connections the driver serves the streams of a context. */
uint32_t xs_cuda_connections(void);
bool xs_cuda_marks_to(struct xs_cuda_hw *hw, struct xs_queue *q);
extern struct xs_streams xs_cuda_streams;
extern struct xs_hal_ops xs_cuda_ops;

#endif
