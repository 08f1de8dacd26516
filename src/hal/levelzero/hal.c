/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on a hardware queue, and the public entries. */
#include "hal/levelzero/hal.h"

#include "hal/common/next_symbol.h"
#include "hal/common/objects.h"
#include "xsched/levelzero/hal.h"

#include <string.h>

XS_EXPORT const struct xs_vendor xsched_priv_ze_vendor = {
    .platform = &xs_platforms[XS_PLATFORM_LEVELZERO],
    .probe = "zeInit",
};

static XResult op_synchronize(void *opaque)
{
    struct xs_ze_hw *hw = opaque;
    xs_ze_result r = XS_ZE_ERROR_UNSUPPORTED_FEATURE;

    if (atomic_load(&hw->gone))
        return kXSchedErrorNotFound;
    if (!hw->immediate)
        r = hw->api->zeCommandQueueSynchronize(hw->native, UINT64_MAX);
    else if (hw->api->zeCommandListHostSynchronize) /* since 1.6 */
        r = hw->api->zeCommandListHostSynchronize(hw->native, UINT64_MAX);
    if (r == XS_ZE_ERROR_UNSUPPORTED_FEATURE)
        return kXSchedErrorNotSupported;
    return r == XS_ZE_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

static bool op_mark(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_ze_hw *hw = opaque;

    return !atomic_load(&hw->gone) && xs_ze_mark_put(hw, q, number);
}

static void op_release(void *hw)
{
    xs_ze_hw_release(hw);
}

const struct xs_hal_ops xs_ze_ops = {
    .abi = XS_HAL_ABI,
    .size = sizeof(struct xs_hal_ops),
    .platform = kPlatformLevelZero,
    .name = "Level Zero",
    .levels = 1u << kPreemptLevelBlock,
    .synchronize = op_synchronize,
    .mark = op_mark,
    .release = op_release,
};

XS_EXPORT void xsched_priv_ze_api_fill(struct xs_ze_api *ret,
                                       void *(*get)(void *ctx, const char *table, int slot, int since, const char *name),
                                       void *ctx)
{
    /* through memcpy: a function pointer out of an object pointer */
#define ZE_USED(table, slot, since, name, params)                                                 \
    do {                                                                                          \
        void *p = get(ctx, #table, slot, since, #name);                                           \
        memcpy(&ret->name, &p, sizeof(p));                                                        \
    } while (0);
#include "hal/levelzero/used.def"
#undef ZE_USED
}

static void *get_symbol(void *handle, const char *table, int slot, int since, const char *name)
{
    void *p = xs_dlsym(handle, name);

    (void)table, (void)slot, (void)since;
    return p && xs_object_is_ours(p) ? NULL : p;
}

/* The loader's functions, for queues that no shim saw. */
static const struct xs_ze_api *loader_api(const void *caller)
{
    static struct xs_ze_api api;  /* written once under lock, before bound */
    /* Lock 7: the loader's functions, until they are complete. */
    static struct xs_lock lock;
    static _Atomic bool bound;
    struct xs_ze_api found;
    char path[512];
    void *handle;

    if (!atomic_load(&bound)) {
        if (xs_vendor_open(&xsched_priv_ze_vendor, caller, &handle, path, sizeof(path)) < 0)
            return NULL;
        xsched_priv_ze_api_fill(&found, get_symbol, handle);
        xs_lock_acquire(&lock);
        if (!atomic_load(&bound)) {
            api = found;
            atomic_store(&bound, true);
        }
        xs_lock_release(&lock);
    }
    return &api;
}

XS_EXPORT XResult LevelZeroQueueCreate(HwQueueHandle *hwq, ze_command_queue_handle_t queue)
{
    struct xs_ze_hw *hw;

    if (!hwq || !queue)
        return kXSchedErrorInvalidValue;
    hw = xsched_priv_ze_find((xs_ze_handle)(uintptr_t)queue);
    return hw ? xsched_priv_ze_adopt(hw, hwq) : kXSchedErrorNotFound;
}

XS_EXPORT XResult ZeQueueCreate(HwQueueHandle *hwq, ze_device_handle_t device, ze_command_queue_handle_t queue)
{
    struct xs_ze_hw *hw, as = {.native = (xs_ze_handle)(uintptr_t)queue, .device = (xs_ze_handle)(uintptr_t)device};

    if (!hwq || !device || !queue)
        return kXSchedErrorInvalidValue;
    hw = xsched_priv_ze_find(as.native);
    if (!hw) {
        as.api = loader_api(__builtin_return_address(0));
        if (!as.api)
            return kXSchedErrorNotFound;
        as.identity = xs_ze_device_identity(as.api, as.device);
        hw = xs_ze_hw_new(&as);
    }
    return hw ? xsched_priv_ze_adopt(hw, hwq) : kXSchedErrorUnknown;
}
