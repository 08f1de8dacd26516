/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on a hardware queue, and the public entry. */
#include "hal/vulkan/hal.h"

#include "base/platforms.h"
#include "xsched/vulkan/hal.h"

/* By the semaphore, in any thread. Without one, asks the queue itself, in a thread that may use it. */
static XResult op_synchronize(void *opaque)
{
    struct xs_vk_hw *hw = opaque;
    struct xs_vk_device *d = hw->device;
    xs_vk_result r;

    if (!xs_vk_pin(d))
        return kXSchedErrorNotFound;
    if (hw->semaphore) {
        uint64_t value = atomic_load(&hw->signalled);
        struct xs_vk_semaphore_wait wait = {.type = XS_VK_TYPE_SEMAPHORE_WAIT, .count = 1, .semaphores = &hw->semaphore,
                                            .values = &value};

        r = d->api.vkWaitSemaphores(d->device, &wait, UINT64_MAX);
    } else {
        r = d->api.vkQueueWaitIdle(hw->queue);
    }
    xs_vk_unpin(d);
    return r == XS_VK_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

static bool op_mark(void *opaque, struct xs_queue *q, uint64_t number)
{
    struct xs_vk_hw *hw = opaque;
    struct xs_vk_device *d = hw->device;
    bool ok;

    if (!xs_vk_pin(d))
        return false;
    ok = xs_vk_mark_put(hw, q, number);
    xs_vk_unpin(d);
    return ok;
}

static void op_release(void *hw)
{
    xs_vk_hw_release(hw);
}

/* Level auto means level 3 where another shim lends it, else level 1: decision 0032. */
#define VK_OPS(more)                                                                              \
    {                                                                                             \
        .abi = XS_HAL_ABI, .size = sizeof(struct xs_hal_ops), .platform = XS_PLATFORM_NUMBER_VULKAN, \
        .name = "Vulkan", .levels = 1u << kPreemptLevelBlock | 1u << kPreemptLevelDeactivate | (more), \
        .auto_levels = 1u << kPreemptLevelBlock | (more), .synchronize = op_synchronize, .mark = op_mark, \
        .release = op_release, .marks_from_outside = true /* by a semaphore; a fence is not possible there */, \
        .gate = xs_vk_gate, .ctx_entries = xs_vk_ctx_entries,                                     \
    }

const struct xs_hal_ops xs_vk_ops = VK_OPS(0);
const struct xs_hal_ops xs_vk_ops_level3 = VK_OPS(1u << kPreemptLevelInterrupt);

XS_EXPORT XResult VulkanQueueCreate(HwQueueHandle *hwq, VkQueue queue)
{
    struct xs_vk_hw *hw;

    if (!hwq || !queue)
        return kXSchedErrorInvalidValue;
    hw = xsched_priv_vk_find(queue);
    return hw ? xsched_priv_vk_adopt(hw, hwq) : kXSchedErrorNotFound;
}
