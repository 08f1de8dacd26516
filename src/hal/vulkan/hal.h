/* SPDX-License-Identifier: Apache-2.0 */
/* libhalvulkan: hardware queues of Vulkan. The layer uses the functions xsched_priv_vk_*, which are in the
 * version node XSCHED_PRIVATE.
 *
 * Each queue has a timeline semaphore of ours. The layer adds a batch without commands to every submission of
 * the program. The batch signals the next value. So a completion mark is a value: any thread asks the
 * semaphore whether the queue has reached it. A device without timeline semaphores gets fences instead. A
 * thread puts a fence into a queue only while it is inside a submission to that queue, since Vulkan allows
 * one thread at a time there. */
#ifndef XS_HAL_VULKAN_H
#define XS_HAL_VULKAN_H

#include "base/lock.h"
#include "hal/common/event_watch.h"
#include "hal/vulkan/host_gates.h"
#include "hal/vulkan/vk_abi.h"
#include "xqueue/interface.h"

/** The functions of a device, from the next layer or the driver. */
struct xs_vk_api {
    xs_vk_get_function get;
#define VK_USED(ret, name, as_extension, params) ret (*name) params;
#include "hal/vulkan/used.def"
#undef VK_USED
};

/** A mark in flight, or a free one. The storage stays. */
struct xs_vk_mark {
    struct xs_vk_hw *hw;          /* as the queue's: constant from xs_watch_set until the end of the mark */
    uint64_t value;               /* of its semaphore; without one, unused */
    xs_vk_object fence;           /* 0: not made */
    struct xs_vk_mark *next;      /* of the device, or free */
};

/** A device of the program. The storage gets a new use when no thread of ours can still use it. */
struct xs_vk_device {
    struct xs_watch_place watch;  /* first: event_watch.h */
    xs_vk_handle device, physical; /* these and the next ones down to `timeline`: constant while in use */
    struct xs_vk_api api;
    XDevice identity;
    bool timeline;                /* it has timeline semaphores, and the program's device enables them */
    _Atomic uint32_t pins;        /* threads that put a mark now; XS_VK_GONE on top */
    _Atomic uint32_t waits_matter; /* XS_VK_GATED, XS_VK_TIMELINES: why a submission's waits do; only grows */
    _Atomic bool no_gates;        /* it gets none any more */
    _Atomic bool presents;        /* the program displays images by it */
    struct xs_ctx_entries ctx_entries; /* level 2 */
    _Atomic(struct xs_vk_hw *) queues; /* grows at its head, under the lock of devices.c; read without it */
    struct xs_vk_mark *marks;     /* under the same lock */
    struct xs_vk_device *next_free;
};

#define XS_VK_GATED     1u        /* one of its queues has had a gate */
#define XS_VK_TIMELINES 2u        /* the program has made a timeline semaphore */
#define XS_VK_GONE 0x80000000u    /* the program has destroyed the device, or does so now */

/** A queue of the program. The storage gets a new use when the program and libpreempt have both given it
 *  up. */
struct xs_vk_hw {
    xs_vk_handle queue;           /* constant while in use */
    struct xs_vk_device *device;
    uint32_t family, index;
    xs_vk_object semaphore;       /* 0: none */
    _Atomic uint64_t signalled;   /* the last value that a batch in the queue signals; writer: the thread that submits */
    _Atomic uint64_t submitter;   /* the thread that is inside a submission; 0: none */
    _Atomic bool settled;         /* 1: the layer knows whether it gets an XQueue by itself */
    _Atomic(struct xs_vk_gates *) gates; /* level 2; NULL: no gate yet; writer: the thread that submits */
    bool held, forgotten;         /* by libpreempt; by the program. Under the lock of devices.c */
    struct xs_vk_hw *next;        /* of the device, or free */
};

/** The program made a device. @param get  vkGetDeviceProcAddr of the next layer. @return NULL: no memory */
struct xs_vk_device *xsched_priv_vk_device_new(xs_vk_handle device, xs_vk_handle physical, xs_vk_get_function get,
                                               XDevice identity, bool timeline);
/** The device that a device, queue or command buffer of the program belongs to; NULL: not seen. No lock. */
struct xs_vk_device *xsched_priv_vk_device_of(xs_vk_handle object);
/** Destroys it, and our records of it. */
void xsched_priv_vk_device_destroy(struct xs_vk_device *d, const void *allocator);

/** The program got a queue. @return NULL: no memory, XSched leaves it alone */
struct xs_vk_hw *xsched_priv_vk_queue_given(struct xs_vk_device *d, xs_vk_handle queue, uint32_t family, uint32_t index);
/** NULL: not seen. No lock. */
struct xs_vk_hw *xsched_priv_vk_find(xs_vk_handle queue);
/** The XQueues of a device. @return how many, at most `max` */
unsigned xsched_priv_vk_queues(struct xs_vk_device *d, struct xs_queue **ret_queues, unsigned max);
/** The hardware queue; makes it if there is none. */
XResult xsched_priv_vk_adopt(struct xs_vk_hw *hw, HwQueueHandle *ret);

/** Which device of the host that is, the same in every process and on every platform. */
struct xs_vk_physical {
    uint32_t api;                 /* version that both the program and the device speak */
    bool timeline;                /* it has timeline semaphores */
    bool timeline_extension;      /* for those the program's device needs XS_VK_TIMELINE_EXTENSION */
    const char *priority_extension; /* by which queues get a global priority; NULL: they cannot */
    XDevice identity;
};

#define XS_VK_TIMELINE_EXTENSION "VK_KHR_timeline_semaphore"

/** The functions of an instance that tell of its physical devices. NULL: it has none */
struct xs_vk_physical_api {
    void (*properties)(xs_vk_handle physical, struct xs_vk_properties *ret);
    void (*properties_2)(xs_vk_handle physical, struct xs_vk_properties_2 *ret);
    void (*features_2)(xs_vk_handle physical, struct xs_vk_features_2 *ret);
    xs_vk_result (*extensions)(xs_vk_handle physical, const char *layer, uint32_t *count, struct xs_vk_extension *ret);
    void (*memory)(xs_vk_handle physical, struct xs_vk_memory_properties *ret);
    void (*memory_2)(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret);
};

/** @param get  vkGetInstanceProcAddr of the next layer. Only while the program makes the
 *              instance: later, the loader gives the functions of the first layer, not of the next one
 *              @param api  version for which the program makes its instance */
void xsched_priv_vk_physical_api(xs_vk_get_function get, xs_vk_handle instance, uint32_t api,
                                 struct xs_vk_physical_api *ret);
/** @param extended  the instance has VK_KHR_get_physical_device_properties2 */
void xsched_priv_vk_physical(const struct xs_vk_physical_api *f, xs_vk_handle physical, uint32_t api, bool extended,
                             struct xs_vk_physical *ret);

/* Inside the library. */
bool xs_vk_pin(struct xs_vk_device *d);
void xs_vk_unpin(struct xs_vk_device *d);
/** libpreempt gives the queue up. */
void xs_vk_hw_release(struct xs_vk_hw *hw);
/** A mark for this device, new. NULL: no memory */
struct xs_vk_mark *xs_vk_mark_new(struct xs_vk_device *d);
/** A timeline semaphore that begins with 0. */
bool xs_vk_timeline_new(struct xs_vk_device *d, xs_vk_object *ret);
/** As ops.mark; the caller has pinned the device. */
bool xs_vk_mark_put(struct xs_vk_hw *hw, struct xs_queue *q, uint64_t number);
extern const struct xs_watch_ops xs_vk_watch;
/** The second one for a queue of a device on which another shim lends level 3. */
extern const struct xs_hal_ops xs_vk_ops, xs_vk_ops_level3;

static inline uint64_t xs_vk_key(xs_vk_handle object)
{
    return (uint64_t)(uintptr_t)object;
}

/** The loader's value in the first word of an object: one for a device and all objects that it dispatches. */
static inline uint64_t xs_vk_dispatch_key(xs_vk_handle object)
{
    return (uint64_t)*(const uintptr_t *)object;
}

#endif
