/* SPDX-License-Identifier: Apache-2.0 */
/* libhalhip: hardware queues of HIP. It exports functions for the shim as xsched_priv_hip_* in the node
 * XSCHED_PRIVATE.
 *
 * A process may have several copies of the runtime, each with its own streams, events and default streams. So
 * each name of a stream also names its runtime (struct xs_hip_api). Each stream has a number
 * (hal/common/stream_queues.h). A created stream has its handle, the null stream one of runtime and device.
 * The default stream of a thread has the address of storage of ours. */
#ifndef XS_HAL_HIP_H
#define XS_HAL_HIP_H

#include "hal/common/device_pages.h"
#include "hal/common/stream_queues.h"
#include "hal/common/vendor.h"
#include "hal/common/event_watch.h"
#include "hal/hip/hip_abi.h"
#include "xqueue/interface.h"

#define XS_HIP_RUNTIMES 8u

/** One copy of the runtime: the real functions that we call ourselves; NULL where it lacks one. */
struct xs_hip_api {
    void *handle;
    unsigned index;
#define HIP_USED(name, params) hipError_t (*name) params;
#include "hal/hip/used.def"
#undef HIP_USED
};

/** A device as one runtime sees it. The storage stays. */
struct xs_hip_device {
    struct xs_watch_place watch;  /* first: events that are marks */
    const struct xs_hip_api *api;
    int dev;
    XDevice device;
    int marks;                    /* enum xs_hip_marks; any thread's answer is the same */
    struct xs_stream_group group;
    struct xs_device_pages pages;
    struct xs_hip_device *next;
    struct xs_ctx_entries ctx_entries;          /* level 2; written by libpreempt */
    _Atomic(hipStream_t) mark_stream;           /* legacy_marks.c; NULL: none yet */
    _Atomic bool no_mark_stream;                /* the runtime refused it */
};

/** How XSched learns of the completion of commands. */
enum xs_hip_marks { XS_HIP_MARKS_UNKNOWN, XS_HIP_MARKS_WRITE, XS_HIP_MARKS_EVENT, XS_HIP_MARKS_NONE };

/** One stream that has a hardware queue. */
struct xs_hip_hw {
    struct xs_stream st;
    const struct xs_hip_api *api;
    struct xs_hip_device *device;
    hipStream_t stream;           /* as the runtime takes it */
};

extern const struct xs_vendor xsched_priv_hip_vendor;

/** Names the functions of a runtime. @return the same for the same handle; NULL: too many copies */
const struct xs_hip_api *xsched_priv_hip_bind(void *handle);
/** The first bound runtime; looks for one if no call has bound any. NULL: there is none. */
const struct xs_hip_api *xsched_priv_hip_api(const void *caller);
/** The runtime that knows this stream; NULL: none. */
const struct xs_hip_api *xs_hip_api_of_stream(hipStream_t stream);
/** More levels work in this process (bits as in xs_hal_ops.levels), or no longer. */
void xsched_priv_hip_level(uint32_t bit, bool works);
/** No level but 1 works in this process, for its life and its children's: also for queues that exist. */
void xsched_priv_hip_level1_only(void);
extern _Atomic bool xsched_priv_hip_at_level1; /* xsched_priv_hip_level1_only has run; writer: it */
/** Calls fn with the first hardware queue, at once if there is one already. One shim. */
void xsched_priv_hip_on_first(void (*fn)(void));

/** Stream captures under way in this process, as far as the shim sees them. While it is 0 and no function
 *  begins captures unseen, nothing captures. */
extern _Atomic int32_t xsched_priv_hip_captures;
/** The program has a function that begins captures and passes unseen. Then we ask the runtime before we put
 *  anything into a stream, and not at each command of the program. Writer: the shim. */
extern _Atomic bool xsched_priv_hip_captures_unseen;
/** Whether a capture would take a command that we put into this stream now; true also when the runtime
 *  refuses to say. Asks the runtime. */
bool xsched_priv_hip_capturing(const struct xs_hip_api *api, hipStream_t stream);

/** 0: there is no device. @param per_thread  stream 0 is the thread's own */
uint64_t xsched_priv_hip_native(const struct xs_hip_api *api, hipStream_t stream, bool per_thread);
/** The XQueue of a stream; with automatic XQueues, makes one at the first command. May be NULL. */
struct xs_queue *xsched_priv_hip_adopt(const struct xs_hip_api *api, hipStream_t stream, uint64_t native);
/** The hardware queue of a stream; makes it if it has none. */
XResult xsched_priv_hip_make(const struct xs_hip_api *api, hipStream_t stream, uint64_t native,
                             HwQueueHandle *ret);

/** A new stream has this handle: forgets the old one's queue. */
void xsched_priv_hip_stream_gone(hipStream_t stream);
/** This thread destroys the stream next. */
void xsched_priv_hip_stream_ends(hipStream_t stream);
/** The program resets the current device next. @return the argument for done; NULL: it has no queues */
struct xs_hip_device *xsched_priv_hip_reset(const struct xs_hip_api *api);
/** The reset is over (destroyed), or the runtime refused it. Does nothing for NULL. */
void xsched_priv_hip_reset_done(struct xs_hip_device *d, bool destroyed);
/** Calls fn for each queue of the current device. */
void xsched_priv_hip_each_queue(const struct xs_hip_api *api, void (*fn)(struct xs_queue *q, void *arg), void *arg);

/** A command in the null stream waits for the blocking streams of its device, and the other way round: tells
 *  the scheduler for which commands this queue waits. Only where xsched_priv_intra. */
void xsched_priv_hip_implicit(struct xs_queue *q, uint64_t native);
/** This thread waits for all work of the current device next. Only where xsched_priv_intra. */
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
 *  forbid. xs_hip_leave puts both back and drops an error that we caused. */
bool xs_hip_enter(const struct xs_hip_api *api, int dev, struct xs_hip_entered *e);
void xs_hip_leave(struct xs_hip_entered *e);
/** NULL: no such device or no memory. */
struct xs_hip_device *xs_hip_device_get(const struct xs_hip_api *api, int dev);
/** How this device's marks work; the first call finds out, with a stream of its own. */
enum xs_hip_marks xs_hip_device_marks(struct xs_hip_device *d);
/** Where the device sees this word; 0: it cannot. Calls the runtime. @param serial  names this use of the
 *  word's address */
uint64_t xs_hip_device_address(struct xs_hip_device *d, const void *word, uint64_t serial);
/** Whether this thread may put something of ours into the stream now. */
bool xs_hip_may_append(struct xs_hip_hw *hw);
/** Prepares write marks for this queue. */
bool xs_hip_marks_to(struct xs_hip_hw *hw, struct xs_queue *q);
/** Asks for the events that take the place of marks. */
extern const struct xs_watch_ops xs_hip_watch;
bool xs_hip_mark_event(struct xs_hip_hw *hw, struct xs_queue *q, uint64_t number);
/* legacy_marks.c */
/** The stream for a mark with this number. The device of the stream is current. @return false: no stream
 *  now */
bool xs_hip_mark_stream(struct xs_hip_hw *hw, uint64_t number, hipStream_t *ret);
/** The program has reset the device. */
void xs_hip_mark_stream_gone(struct xs_hip_device *d);
/* gates.c: level 2, and the meaning of level auto: as XSCHED_HIP_LEVEL says, and no more than level 1 unless
 * it does. */
void xs_hip_gates_offer(const struct xs_hip_api *api);
int xs_hip_gate(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
struct xs_ctx_entries *xs_hip_ctx_entries(void *hw);
extern struct xs_streams xs_hip_streams;
extern struct xs_hal_ops xs_hip_ops_write, xs_hip_ops_event;

#endif
