/* SPDX-License-Identifier: Apache-2.0 */
/* The shared part of the layer's files. */
#ifndef XS_SHIM_VULKAN_VK_LAYER_H
#define XS_SHIM_VULKAN_VK_LAYER_H

#include "base/clock.h"
#include "hal/vulkan/hal.h"
#include "shim/common/depth.h"
#include "shim/common/rows.h"

/** An instance of the program. Its storage ends with it. */
struct xs_vk_instance {
    xs_vk_handle instance;
    xs_vk_get_function get;       /* vkGetInstanceProcAddr of the next layer */
    void (*destroy)(xs_vk_handle instance, const void *allocator);
    xs_vk_result (*create_device)(xs_vk_handle physical, const struct xs_vk_device_create *create, const void *allocator,
                                  xs_vk_handle *ret);
    struct xs_vk_physical_api physical;
    uint32_t api;                 /* the version for which the program made it */
    bool extended;                /* it has VK_KHR_get_physical_device_properties2 */
};

/** The instance that an instance or physical device of the program belongs to; NULL: not seen. No lock. */
struct xs_vk_instance *xs_vk_instance_of(xs_vk_handle object);

/* made.c */
xs_vk_result xs_vk_vkCreateInstance(const struct xs_vk_instance_create *create, const void *allocator, xs_vk_handle *ret);
void xs_vk_vkDestroyInstance(xs_vk_handle instance, const void *allocator);
xs_vk_result xs_vk_vkCreateDevice(xs_vk_handle physical, const struct xs_vk_device_create *create, const void *allocator,
                                  xs_vk_handle *ret);
void xs_vk_vkDestroyDevice(xs_vk_handle device, const void *allocator);
void xs_vk_vkGetDeviceQueue(xs_vk_handle device, uint32_t family, uint32_t index, xs_vk_handle *ret);
void xs_vk_vkGetDeviceQueue2(xs_vk_handle device, const struct xs_vk_queue_wanted *wanted, xs_vk_handle *ret);

/* queue_submit.c */
xs_vk_result xs_vk_vkQueueSubmit(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit *batches, xs_vk_object fence);
xs_vk_result xs_vk_vkQueueSubmit2(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches,
                                  xs_vk_object fence);
xs_vk_result xs_vk_vkQueueSubmit2KHR(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches,
                                     xs_vk_object fence);
xs_vk_result xs_vk_vkQueueBindSparse(xs_vk_handle queue, uint32_t count, const void *binds, xs_vk_object fence);
xs_vk_result xs_vk_vkQueuePresentKHR(xs_vk_handle queue, const void *present);
xs_vk_result xs_vk_vkQueueWaitIdle(xs_vk_handle queue);
xs_vk_result xs_vk_vkDeviceWaitIdle(xs_vk_handle device);

/* host_waits.c */
xs_vk_result xs_vk_vkSignalSemaphore(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal);
xs_vk_result xs_vk_vkSignalSemaphoreKHR(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal);
xs_vk_result xs_vk_vkSetEvent(xs_vk_handle device, xs_vk_object event);
/** Before a submission has its turn: if its first batch waits for the host, puts that wait before it as a command of its
 *  own. A later batch may wait for an earlier one of the same submission. */
void xs_vk_await_host(struct xs_vk_hw *hw, struct xs_queue *q, const struct xs_vk_submit *first);
void xs_vk_await_host_2(struct xs_vk_hw *hw, struct xs_queue *q, const struct xs_vk_submit_2 *first);

/* vk_semaphores.c */
/** Whether the program made this one as a timeline semaphore. False if we did not see it. No lock. */
bool xs_vk_is_timeline(xs_vk_handle device, xs_vk_object semaphore);
xs_vk_result xs_vk_vkCreateSemaphore(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                     xs_vk_object *ret);
void xs_vk_vkDestroySemaphore(xs_vk_handle device, xs_vk_object semaphore, const void *allocator);

/* vulkan_memory.c */
void xs_vk_vkGetPhysicalDeviceMemoryProperties(xs_vk_handle physical, struct xs_vk_memory_properties *ret);
void xs_vk_vkGetPhysicalDeviceMemoryProperties2(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret);
void xs_vk_vkGetPhysicalDeviceMemoryProperties2KHR(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret);
xs_vk_result xs_vk_vkAllocateMemory(xs_vk_handle device, const struct xs_vk_memory_allocate *allocate,
                                    const void *allocator, xs_vk_object *ret);
void xs_vk_vkFreeMemory(xs_vk_handle device, xs_vk_object memory, const void *allocator);
/** Before the program destroys a device: memory that it did not free counts no more. */
void xs_vk_memory_device_ends(xs_vk_handle device);

/* layer.c */
xs_vk_function xs_vk_vkGetInstanceProcAddr(xs_vk_handle instance, const char *name);
xs_vk_function xs_vk_vkGetDeviceProcAddr(xs_vk_handle device, const char *name);

#endif
