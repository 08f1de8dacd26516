/* SPDX-License-Identifier: Apache-2.0 */
/* Which command queues have a hardware queue, and how long. */
#include "base/lock.h"
#include "base/map.h"
#include "hal/opencl/hal.h"

#include <stdlib.h>

static struct xs_map g_queues;
/* Lock 5: held flags, the free list and changes of g_queues. The first command of a queue holds it, and the
 * call that ends it. */
static struct xs_lock g_lock;
static struct xs_ocl_hw *g_free;  /* under g_lock */
static _Atomic(void (*)(void)) g_on_first;
static _Atomic bool g_any;

XS_EXPORT void xsched_priv_ocl_on_first(void (*fn)(void))
{
    atomic_store(&g_on_first, fn);
    /* seq_cst pairs with keep(): sets g_any, then looks at g_on_first */
    if (atomic_load(&g_any))
        fn();
}

XS_EXPORT struct xs_ocl_hw *xsched_priv_ocl_find(cl_command_queue queue)
{
    return xs_map_get(&g_queues, (uint64_t)(uintptr_t)queue);
}

struct xs_ocl_hw *xs_ocl_hw_new(cl_command_queue queue)
{
    struct xs_ocl_hw *hw;

    xs_lock_acquire(&g_lock);
    hw = g_free;
    if (hw)
        g_free = hw->next_free;
    else
        hw = calloc(1, sizeof(*hw));
    if (hw) {
        hw->next_free = NULL;
        hw->held = true;
        hw->pooled = false;
    }
    xs_lock_release(&g_lock);
    if (!hw)
        return NULL;
    hw->queue = queue;
    atomic_store(&hw->references, 1);
    atomic_store(&hw->in_order, true);
    atomic_store(&hw->pins, 0);
    return hw;
}

void xs_ocl_hw_keep(struct xs_ocl_hw *hw)
{
    void (*fn)(void);
    int r;

    xs_lock_acquire(&g_lock);
    r = xs_map_put(&g_queues, (uint64_t)(uintptr_t)hw->queue, hw);
    xs_lock_release(&g_lock);
    if (r < 0)
        return; /* no memory: the queue stays unscheduled */
    atomic_store(&g_any, true);
    fn = atomic_load(&g_on_first);
    if (fn)
        fn();
}

static void recycle_if_unused(struct xs_ocl_hw *hw)
{
    xs_lock_acquire(&g_lock);
    if (!hw->held && !hw->pooled && (atomic_load(&hw->pins) & ~(XS_OCL_GONE | XS_OCL_RELEASE)) == 0) {
        hw->pooled = true;
        hw->next_free = g_free;
        g_free = hw;
    }
    xs_lock_release(&g_lock);
}

bool xs_ocl_pin(struct xs_ocl_hw *hw)
{
    uint32_t pins = atomic_load(&hw->pins);

    do {
        if (pins & XS_OCL_GONE)
            return false;
    } while (!atomic_compare_exchange_weak(&hw->pins, &pins, pins + 1));
    return true;
}

void xs_ocl_unpin(struct xs_ocl_hw *hw)
{
    cl_command_queue queue = hw->queue;
    uint32_t pins = atomic_fetch_sub(&hw->pins, 1) - 1;

    if (XS_LIKELY(!(pins & XS_OCL_GONE)) || (pins & ~(XS_OCL_GONE | XS_OCL_RELEASE)) != 0)
        return;
    if (pins & XS_OCL_RELEASE) { /* the program's last release came while we used the queue */
        xsched_priv_depth_add(1);
        hw->api->clReleaseCommandQueue(queue);
        xsched_priv_depth_add(-1);
    }
    recycle_if_unused(hw);
}

void xs_ocl_hw_drop(struct xs_ocl_hw *hw)
{
    uint64_t key = (uint64_t)(uintptr_t)hw->queue;

    xs_lock_acquire(&g_lock);
    if (xs_map_get(&g_queues, key) == hw)
        xs_map_remove(&g_queues, key);
    atomic_fetch_or(&hw->pins, XS_OCL_GONE);
    hw->held = false;
    xs_lock_release(&g_lock);
    recycle_if_unused(hw);
}

/* Another thread may have forgotten it since the caller found it, and a new queue may have its storage by
 * now. The record in the map under the queue's own key is this queue's.
 * @return true when other threads use the queue; they act on `flags` then */
static bool forget(cl_command_queue queue, struct xs_ocl_hw *hw, uint32_t flags)
{
    uint64_t key = (uint64_t)(uintptr_t)queue;
    uint32_t pins = 0;
    bool found;

    xs_lock_acquire(&g_lock);
    found = xs_map_get(&g_queues, key) == hw;
    if (found) {
        xs_map_remove(&g_queues, key);
        pins = atomic_fetch_or(&hw->pins, flags);
    }
    xs_lock_release(&g_lock);
    if (!found)
        return false;
    xsched_priv_hwq_gone(kPlatformOpenCL, key);
    return (pins & ~(XS_OCL_GONE | XS_OCL_RELEASE)) != 0;
}

XS_EXPORT bool xsched_priv_ocl_releasing(cl_command_queue queue)
{
    struct xs_ocl_hw *hw = xsched_priv_ocl_find(queue);
    cl_uint count = 0;
    int32_t left;

    if (!hw)
        return false;
    /* The vendor's count is the truth, but two threads that release at once both read 2; our own
     * count tells which of them is the last. */
    left = atomic_fetch_sub(&hw->references, 1) - 1;
    if (hw->api->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL) !=
        CL_SUCCESS)
        return false;
    if (count != 1 && left > 0)
        return false;
    return forget(queue, hw, XS_OCL_GONE | XS_OCL_RELEASE);
}

XS_EXPORT XResult xsched_priv_ocl_adopt(const struct xs_ocl_api *api, cl_command_queue queue, HwQueueHandle *ret)
{
    uint64_t native = (uint64_t)(uintptr_t)queue;
    cl_command_queue_properties properties = 0;
    cl_device_id device = NULL;
    HwQueueHandle handle;
    struct xs_ocl_hw *hw;
    cl_uint count = 1;
    bool created;
    XResult r;

    handle = xsched_priv_ocl_find(queue) ? xsched_priv_hwq_find(kPlatformOpenCL, native) : 0;
    if (handle) {
        *ret = handle;
        return kXSchedSuccess;
    }
    if (!api)
        return kXSchedErrorNotFound;
    xsched_priv_depth_add(1);
    if (api->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL) != CL_SUCCESS)
        device = NULL;
    api->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
    api->clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL);
    hw = device && !(properties & CL_QUEUE_ON_DEVICE) ? xs_ocl_hw_new(queue) : NULL;
    if (hw) {
        hw->api = api;
        hw->device = xs_ocl_device_identity(api, device);
    }
    xsched_priv_depth_add(-1);
    if (!device)
        return kXSchedErrorInvalidValue;
    if (properties & CL_QUEUE_ON_DEVICE) /* kernels fill it, not this process */
        return kXSchedErrorNotSupported;
    if (!hw)
        return kXSchedErrorUnknown;
    atomic_store(&hw->in_order, !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
    atomic_store(&hw->references, (int32_t)count);
    r = xsched_priv_hwq_create(&xs_ocl_ops, native, hw, hw->device, &handle, &created);
    if (r != kXSchedSuccess || !created)
        xs_ocl_hw_drop(hw);
    else
        xs_ocl_hw_keep(hw);
    if (r == kXSchedSuccess)
        *ret = handle;
    return r;
}

XS_EXPORT XResult xsched_priv_ocl_created(const struct xs_ocl_api *api, cl_command_queue queue, HwQueueHandle *ret)
{
    struct xs_ocl_hw *stale = xsched_priv_ocl_find(queue);

    if (stale) /* its last release passed unseen */
        forget(queue, stale, XS_OCL_GONE);
    return xsched_priv_ocl_adopt(api, queue, ret);
}
