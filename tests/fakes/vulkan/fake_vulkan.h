/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan driver whose device exists only in memory, with virtual time: a dispatch of x groups takes x us of it. Queues of one
 * family work side by side; what is submitted to a queue goes in order. Vulkan's loader may open it as a driver
 * (vk_icdGetInstanceProcAddr), or a test plays the loader. It knows what Vulkan forbids and counts it. */
#ifndef XS_FAKE_VULKAN_H
#define XS_FAKE_VULKAN_H

#include "hal/vulkan/vk_abi.h"

#include <stdatomic.h>
#include <stdbool.h>

#define FAKE_VK_FAMILIES   2
#define FAKE_VK_PER_FAMILY 2
#define FAKE_VK_QUEUES     (FAKE_VK_FAMILIES * FAKE_VK_PER_FAMILY)

/** What a test wishes, and what the driver saw. Wishes are made while no device exists, unless noted. */
struct fake_vk {
    /* wishes */
    _Atomic bool automatic;       /* a call that waits moves time on; else fake_vk_advance does */
    bool no_timeline;             /* the device has no timeline semaphores */
    bool aliased;                 /* all queues are one to the device */
    _Atomic bool lose_signals;    /* the host's signals are lost; at any time */
    _Atomic bool hide_binary;     /* semaphores made from now on are binary, whatever their maker says; at any time */
    uint32_t bus, slot;           /* of the PCI address */
    int32_t highest_priority;     /* that a queue may be given; 0: there is no such extension */
    _Atomic uint32_t semaphores_left; /* so many may be made, then memory is out; 0: no limit; at any time */
    _Atomic int32_t answer;       /* of submissions; at any time */
    /* what it saw */
    _Atomic uint32_t illegal;     /* waits for a binary semaphore whose signal depends on something not submitted */
    _Atomic uint32_t hung;        /* waits of ten seconds */
    _Atomic uint32_t gates;       /* batches without commands that wait */
    _Atomic uint32_t semaphores, fences; /* that exist */
    int32_t priority;             /* that the first queue was given; 0: none */
    _Atomic uint32_t submits[FAKE_VK_QUEUES]; /* batches with commands */
    _Atomic uint32_t completed[FAKE_VK_QUEUES];
};

struct fake_vk *fake_vk(void);
/** As the driver is when the library is loaded; no device exists. */
void fake_vk_reset(void);
/** Moves time on, from event to event. */
void fake_vk_advance(uint64_t us);
/** The device is lost: nothing goes on, and every call says so. */
void fake_vk_lose(void);
xs_vk_function fake_vk_function(xs_vk_handle object, const char *name);
/** For a test that plays the loader. */
xs_vk_handle fake_vk_physical(void);

#endif
