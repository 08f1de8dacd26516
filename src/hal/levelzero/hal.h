/* SPDX-License-Identifier: Apache-2.0 */
/* libhallevelzero: hardware queues of Level Zero. It exports functions for the shim as xsched_priv_ze_* in
 * the node XSCHED_PRIVATE.
 *
 * A hardware queue is a command queue or an immediate command list. The mark of a command queue is a fence,
 * that of a list an event. If the program's own call has none, it takes ours, and a mark costs nothing more.
 * Else a mark of a command queue is a submission of its own, of a list without commands. The mark of an
 * immediate list is a signal behind its commands. */
#ifndef XS_HAL_LEVELZERO_H
#define XS_HAL_LEVELZERO_H

#include "base/lock.h"
#include "hal/common/event_watch.h"
#include "hal/common/vendor.h"
#include "hal/levelzero/ze_abi.h"
#include "xqueue/interface.h"

/** The functions of a driver, or of the loader. NULL: it has none. */
struct xs_ze_api {
#define ZE_USED(table, slot, since, name, params) xs_ze_result (*name) params;
#include "hal/levelzero/used.def"
#undef ZE_USED
};

/** A mark in flight, or one for later use. Its storage stays. */
struct xs_ze_mark {
    struct xs_ze_hw *hw;          /* constant until its queue is gone */
    xs_ze_handle fence, event;    /* one of them; NULL: not made */
    xs_ze_handle list;            /* without commands, for the fence; NULL: not made */
    struct xs_ze_mark *next;      /* of the queue, or free */
};

/** Whether a queue gets an XQueue by itself. */
enum xs_ze_settled {
    XS_ZE_OPEN,                   /* no command has gone to it yet */
    XS_ZE_SETTLING,               /* a thread makes the XQueue */
    XS_ZE_SETTLED,                /* it has one, or gets none */
};

/** A command queue or immediate list of the program. Its storage gets a new use only when neither the program
 *  nor libpreempt has it. */
struct xs_ze_hw {
    struct xs_watch_place watch;  /* first: event_watch.h */
    _Atomic(xs_ze_handle) native; /* this and the next ones down to `identity`: constant while in use */
    xs_ze_handle context, device;
    const struct xs_ze_api *api;  /* by which the program made it; stays */
    uint32_t ordinal;             /* of its group of engines */
    bool immediate, in_order;     /* in_order: its commands complete in the order of their submission */
    bool synchronous;             /* calls return when their work is complete */
    int32_t priority;             /* the vendor's, the program's own wish: 0, and more is more urgent */
    XDevice identity;
    xs_ze_handle pool;            /* of events; NULL: none. Writer: the thread that appends */
    uint32_t events;              /* made of it; the same writer */
    _Atomic uint64_t submitter;   /* of a list, the thread that is inside an append; 0: none */
    _Atomic bool capturing;       /* appends record and run nothing; writer: the thread that appends */
    _Atomic uint32_t settled;     /* enum xs_ze_settled: whether it gets an XQueue by itself */
    _Atomic bool gone;            /* the program has destroyed it, or does so now */
    bool held, forgotten;         /* by libpreempt; by the program. Under the lock of ze_queues.c */
    struct xs_ze_mark *marks;     /* under the same lock */
    struct xs_ze_hw *next, **at;  /* of all that are there; next: or free. Under the same lock */
};

extern const struct xs_vendor xsched_priv_ze_vendor;

/** The program made a queue. @param desc  as the program gave it
 *  @return NULL: no memory, XSched leaves it alone */
struct xs_ze_hw *xsched_priv_ze_made(const struct xs_ze_api *api, xs_ze_handle native, xs_ze_handle context,
                                     xs_ze_handle device, const struct xs_ze_queue_desc *desc, bool immediate);
/** NULL: not seen, or a list that is no immediate one. No lock. */
struct xs_ze_hw *xsched_priv_ze_find(xs_ze_handle native);
/** The program destroys it next. */
void xsched_priv_ze_ends(struct xs_ze_hw *hw);
/** The XQueues of a device. @return how many, at most `max` */
unsigned xsched_priv_ze_queues(xs_ze_handle device, struct xs_queue **ret_queues, unsigned max);
/** The hardware queue; makes it if there is none. */
XResult xsched_priv_ze_adopt(struct xs_ze_hw *hw, HwQueueHandle *ret);

/** A mark for the program's own call to carry: a fence or event, not yet signalled.
 *  @return for xs_watch_set or xs_watch_give_back; -1: none now */
int xsched_priv_ze_mark_take(struct xs_ze_hw *hw, struct xs_ze_mark **ret);
/** The program's call succeeded with it. */
void xsched_priv_ze_mark_set(int row, struct xs_ze_mark *m, struct xs_queue *q, uint64_t number);
/** There was no call, or the driver refused it. */
void xsched_priv_ze_mark_give_back(int row, struct xs_ze_mark *m);

/** Fills in the answers of `get` for each function. @param ctx  for `get` */
void xsched_priv_ze_api_fill(struct xs_ze_api *ret, void *(*get)(void *ctx, const char *table, int slot, int since,
                                                                 const char *name), void *ctx);

/* Inside the library. */
XDevice xs_ze_device_identity(const struct xs_ze_api *api, xs_ze_handle device);
/** libpreempt releases it. */
void xs_ze_hw_release(struct xs_ze_hw *hw);
/** For xsched_priv_ze_made, with a known identity. */
struct xs_ze_hw *xs_ze_hw_new(const struct xs_ze_hw *as);
/** A mark of this queue, new. NULL: no memory */
struct xs_ze_mark *xs_ze_mark_new(struct xs_ze_hw *hw);
/** As ops.mark. */
bool xs_ze_mark_put(struct xs_ze_hw *hw, struct xs_queue *q, uint64_t number);
/** Gives the marks' objects back to the vendor. No thread asks for them any more. */
void xs_ze_marks_destroy(struct xs_ze_hw *hw);
extern const struct xs_watch_ops xs_ze_watch;
extern const struct xs_hal_ops xs_ze_ops;

static inline uint64_t xs_ze_key(xs_ze_handle object)
{
    return (uint64_t)(uintptr_t)object;
}

#endif
