/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the fake Vulkan driver. Everything is under its lock, unless noted. */
#ifndef XS_FAKE_VULKAN_ENGINE_H
#define XS_FAKE_VULKAN_ENGINE_H

#include "fake_vulkan.h"

#include <pthread.h>

#define FAKE_VK_LOST (-4)         /* VK_ERROR_DEVICE_LOST */

struct fake_vk_semaphore {
    bool timeline;
    uint64_t value;               /* a binary one: 1 when it is signalled */
};

struct fake_vk_fence {
    bool signalled;
};

struct fake_vk_op {
    struct fake_vk_semaphore *semaphore;
    uint64_t value;
};

struct fake_vk_batch {
    struct fake_vk_batch *next;
    unsigned queue;
    struct fake_vk_op *waits, *signals;
    unsigned waits_count, signals_count;
    uint64_t us, end_us;
    bool has_commands, started, looked_at;
    struct fake_vk_fence *fence;
};

extern struct fake_vk fake_vk_state;
extern pthread_mutex_t fake_vk_lock;

/** Takes the batch over. */
void fake_vk_submit_locked(struct fake_vk_batch *b);
/** Lets everything happen that can at this time. */
void fake_vk_step_locked(void);
/** Waits, with the lock, until done(arg), at most so long in real time. @return a result of Vulkan */
xs_vk_result fake_vk_wait_locked(bool (*done)(const void *arg), const void *arg, uint64_t timeout_ns);
/** Nothing is pending in the queue. @param queue  FAKE_VK_QUEUES: in any */
bool fake_vk_idle_locked(unsigned queue);
bool fake_vk_is_lost(void);

#endif
