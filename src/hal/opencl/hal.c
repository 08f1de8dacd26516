/* SPDX-License-Identifier: Apache-2.0 */
/* The real library, the operations on a hardware queue, and the public entry. */
#include "hal/opencl/hal.h"

#include "base/lock.h"
#include "base/log.h"
#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"
#include "xsched/opencl/hal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

XS_EXPORT const struct xs_vendor xsched_priv_ocl_vendor = {
    .platform = &xs_platforms[XS_PLATFORM_OPENCL],
    .probe = "clGetPlatformIDs",
};

#define APIS 16u                  /* of loaders, each by its functions and as a layer inside it */

static struct xs_ocl_api g_apis[APIS]; /* each written once under g_api_lock, before g_count */
/* Lock 7: the functions of each loader, until they are complete. */
static struct xs_lock g_api_lock;
static _Atomic unsigned g_count;

static const struct xs_ocl_api *known(const struct xs_ocl_api *api, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (memcmp(&g_apis[i], api, sizeof(*api)) == 0)
            return &g_apis[i];
    return NULL;
}

XS_EXPORT const struct xs_ocl_api *xsched_priv_ocl_bind(void *(*get)(void *ctx, const char *name), void *ctx)
{
    const struct xs_ocl_api *found;
    struct xs_ocl_api api = {0};
    unsigned count;

    /* through memcpy: a function pointer out of an object pointer */
#define OCL_USED(ret, name, params)                                                               \
    do {                                                                                          \
        void *p = get(ctx, #name);                                                                \
        memcpy(&api.name, &p, sizeof(p));                                                         \
    } while (0);
#include "hal/opencl/used.def"
#undef OCL_USED
    xs_lock_acquire(&g_api_lock);
    count = atomic_load_explicit(&g_count, memory_order_relaxed);
    found = known(&api, count);
    if (!found && count < APIS) {
        g_apis[count] = api;
        found = &g_apis[count];
        /* release pairs with the acquire loads in xsched_priv_ocl_api */
        atomic_store_explicit(&g_count, count + 1, memory_order_release);
    }
    xs_lock_release(&g_api_lock);
    return found;
}

static void *get_symbol(void *ctx, const char *name)
{
    void *p = xs_dlsym(ctx, name);

    return p && xs_object_is_ours(p) ? NULL : p;
}

XS_EXPORT const struct xs_ocl_api *xsched_priv_ocl_api(const void *caller)
{
    unsigned count = atomic_load_explicit(&g_count, memory_order_acquire);
    struct xs_vendor_caller of;
    void *handle = NULL;
    char path[512];

    if (count > 1 && caller)
        handle = xs_vendor_of_caller(&xsched_priv_ocl_vendor, caller, &of);
    if (count == 0 && xs_vendor_open(&xsched_priv_ocl_vendor, caller, &handle, path, sizeof(path)) < 0)
        return NULL;
    return handle ? xsched_priv_ocl_bind(get_symbol, handle) : &g_apis[0];
}

static XResult op_synchronize(void *opaque)
{
    struct xs_ocl_hw *hw = opaque;
    cl_int err;

    if (!xs_ocl_pin(hw))
        return kXSchedErrorNotFound;
    xsched_priv_depth_add(1);
    err = hw->api->clFinish(hw->queue);
    xsched_priv_depth_add(-1);
    xs_ocl_unpin(hw);
    return err == CL_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

static bool op_mark(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_ocl_hw *hw = opaque;
    const struct xs_ocl_api *api = hw->api;
    cl_event event = NULL;
    bool watched = false;
    cl_int err;

    if (!xs_ocl_pin(hw))
        return false;
    xsched_priv_depth_add(1);
    /* A marker without a wait list waits for all commands before it, also out of order. */
    if (api->clEnqueueMarkerWithWaitList)
        err = api->clEnqueueMarkerWithWaitList(hw->queue, 0, NULL, &event);
    else
        err = api->clEnqueueMarker(hw->queue, &event);
    if (err == CL_SUCCESS && event) {
        watched = xsched_priv_ocl_watch(api, event, true, q, number);
        if (!watched)
            api->clReleaseEvent(event);
        api->clFlush(hw->queue); /* without a flush it need never complete */
    }
    xsched_priv_depth_add(-1);
    xs_ocl_unpin(hw);
    return watched;
}

static void op_release(void *hw)
{
    xs_ocl_hw_drop(hw);
}

const struct xs_hal_ops xs_ocl_ops = {
    .abi = XS_HAL_ABI,
    .size = sizeof(struct xs_hal_ops),
    .platform = kPlatformOpenCL,
    .name = "OpenCL",
    .levels = 1u << kPreemptLevelBlock,
    .synchronize = op_synchronize,
    .mark = op_mark,
    .release = op_release,
    .marks_from_outside = true,   /* op_mark pins the queue */
};

/* Whether this process can read size bytes. A loader follows the first word of a handle blindly. If the
 * kernel does not tell (a sandbox), believes the caller. */
static bool readable(const void *address, size_t size)
{
    char copy[sizeof(void *)];
    struct iovec to = {copy, size}, from = {(void *)(uintptr_t)address, size};
    long n;

    if ((uintptr_t)address < 4096)
        return false;
    n = syscall(SYS_process_vm_readv, (long)getpid(), &to, 1L, &from, 1L, 0L);
    return n == (long)size || (n < 0 && errno != EFAULT);
}

static bool plausible(cl_command_queue queue)
{
    void *first;

    if (((uintptr_t)queue & (sizeof(void *) - 1)) || !readable(queue, sizeof(first)))
        return false;
    memcpy(&first, queue, sizeof(first));
    return ((uintptr_t)first & (sizeof(void *) - 1)) == 0 && readable(first, sizeof(first));
}

XS_EXPORT XResult OclQueueCreate(HwQueueHandle *hwq, struct _cl_command_queue *cmdq)
{
    const struct xs_ocl_api *api = NULL; /* a queue that has one needs none */
    cl_device_id device = NULL;
    cl_int err;

    if (!hwq || !cmdq)
        return kXSchedErrorInvalidValue;
    if (!xsched_priv_ocl_find(cmdq)) {
        if (!plausible(cmdq))
            return kXSchedErrorInvalidValue;
        api = xsched_priv_ocl_api(__builtin_return_address(0));
        if (!api)
            return kXSchedErrorNotFound;
        xsched_priv_depth_add(1);
        err = api->clGetCommandQueueInfo(cmdq, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
        xsched_priv_depth_add(-1);
        if (err != CL_SUCCESS || !device)
            return kXSchedErrorInvalidValue;
    }
    return xsched_priv_ocl_adopt(api, cmdq, hwq);
}
