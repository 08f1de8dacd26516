/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a device that do something (calls.c). */
#ifndef XS_FAKE_VULKAN_CALLS_H
#define XS_FAKE_VULKAN_CALLS_H

#include "hal/vulkan/vk_abi.h"

/** NULL: not one of them */
xs_vk_function fake_vk_call(const char *name);
unsigned fake_vk_queue_index(xs_vk_handle queue);
/** The command buffers end with their device. */
void fake_vk_free_commands(void);

struct fake_vk_bind_sparse {      /* VkBindSparseInfo */
    int32_t type;
    const void *next;
    uint32_t waits_count;
    const xs_vk_object *waits;
    uint32_t counts_and_lists[12];
    uint32_t signals_count;
    const xs_vk_object *signals;
};

struct fake_vk_present {          /* VkPresentInfoKHR */
    int32_t type;
    const void *next;
    uint32_t waits_count;
    const xs_vk_object *waits;
    uint32_t swapchains_count;
    const xs_vk_object *swapchains;
    const uint32_t *images;
    xs_vk_result *results;
};

#endif
