/* SPDX-License-Identifier: Apache-2.0 */
/* libhalopencl: hardware queues of OpenCL. It exports functions for the shim as xsched_priv_ocl_* in the node
 * XSCHED_PRIVATE. */
#ifndef XS_HAL_OPENCL_H
#define XS_HAL_OPENCL_H

#include "hal/common/vendor.h"
#include "hal/opencl/cl_abi.h"
#include "xqueue/interface.h"

/** The real functions that we call ourselves. Never our shim's entries. */
struct xs_ocl_api {
#define OCL_USED(ret, name, params) ret (*name) params;
#include "hal/opencl/used.def"
#undef OCL_USED
};

/** One OpenCL command queue that has a hardware queue. The storage never goes back to the system, so a late
 *  reader of a queue that the program has released reads something harmless. */
struct xs_ocl_hw {
    cl_command_queue queue;       /* constant while in use */
    const struct xs_ocl_api *api; /* of the loader that made it; likewise */
    XDevice device;
    _Atomic bool in_order;        /* creation; clSetCommandQueueProperty */
    _Atomic int32_t references;   /* the program's, as far as seen; threads of the program */
    _Atomic uint32_t pins;        /* calls of ours that use `queue`; XS_OCL_GONE on top */
    bool held;                    /* libpreempt has it; under the lock of queues.c */
    bool pooled;                  /* under the same lock */
    struct xs_ocl_hw *next_free;  /* under the same lock */
};

#define XS_OCL_GONE    0x80000000u /* no thread may use the queue any more */
#define XS_OCL_RELEASE 0x40000000u /* the last pin gives the program's last reference back */

extern const struct xs_vendor xsched_priv_ocl_vendor;

/** Names the real functions of a loader, of which a process may have several. They never change.
 *  @param get  NULL for missing ones
 *  @return NULL: too many loaders */
const struct xs_ocl_api *xsched_priv_ocl_bind(void *(*get)(void *ctx, const char *name), void *ctx);
/** Those that this caller means; looks for the real library if no call has bound any. NULL: there is none. */
const struct xs_ocl_api *xsched_priv_ocl_api(const void *caller);

/** Calls fn with the first hardware queue, at once if there is one already. One shim. */
void xsched_priv_ocl_on_first(void (*fn)(void));

/** NULL when the queue has none. No lock. */
struct xs_ocl_hw *xsched_priv_ocl_find(cl_command_queue queue);
/** The hardware queue of a valid command queue; makes it if it has none. @param api  of its loader */
XResult xsched_priv_ocl_adopt(const struct xs_ocl_api *api, cl_command_queue queue, HwQueueHandle *ret);
/** The same for a queue that the vendor has just made: an old record of this handle is stale. */
XResult xsched_priv_ocl_created(const struct xs_ocl_api *api, cl_command_queue queue, HwQueueHandle *ret);

/** Before the vendor's release of one reference. With the last one, forgets the hardware queue. @return true
 *  when another thread that uses the queue now will do the vendor's release: the caller must not do it */
bool xsched_priv_ocl_releasing(cl_command_queue queue);

/** Reports `number` (xsched_priv_completed) when the event completes. Allocates nothing.
 *  @param api  of the loader that made it
 *  @param own  takes the caller's reference over and gives it back after that
 *  @return false: it will not report, and took nothing over */
bool xsched_priv_ocl_watch(const struct xs_ocl_api *api, cl_event event, bool own, struct xs_queue *q, uint64_t number);

/* Inside the library. */
XDevice xs_ocl_device_identity(const struct xs_ocl_api *api, cl_device_id device);
bool xs_ocl_pin(struct xs_ocl_hw *hw);
void xs_ocl_unpin(struct xs_ocl_hw *hw);
struct xs_ocl_hw *xs_ocl_hw_new(cl_command_queue queue);
void xs_ocl_hw_keep(struct xs_ocl_hw *hw);
/** libpreempt releases it. */
void xs_ocl_hw_drop(struct xs_ocl_hw *hw);
extern const struct xs_hal_ops xs_ocl_ops;

#endif
