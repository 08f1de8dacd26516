/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of Vulkan. Link with libhalvulkan. */
#ifndef XSCHED_VULKAN_HAL_H
#define XSCHED_VULKAN_HAL_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The vendor's own declaration, repeated so that a program needs no header of it. C11 and C++ allow that. */
typedef struct VkQueue_T *VkQueue;

/** The hardware queue of a Vulkan queue. Any thread. The layer VK_LAYER_XSCHED_schedule must have been
 *  active when the program made the queue's instance, and the program must have asked for the queue
 *  (vkGetDeviceQueue) before. A second call on the same queue gives the same handle. Null:
 *  kXSchedErrorInvalidValue; a queue that the layer did not see: kXSchedErrorNotFound. */
XResult VulkanQueueCreate(HwQueueHandle *hwq, VkQueue queue);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
