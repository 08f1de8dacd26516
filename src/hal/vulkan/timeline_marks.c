/* SPDX-License-Identifier: Apache-2.0 */
/* Completion marks: a value of the queue's timeline semaphore, or a fence (hal.h). The thread of
 * event_watch.h asks for them. */
#include "hal/vulkan/hal.h"

#include "hal/common/stream_queues.h"

static struct xs_vk_device *device_of(const struct xs_watch_place *place)
{
    return (struct xs_vk_device *)(uintptr_t)place; /* its first member */
}

static int ask(const struct xs_watch_place *place, void *event)
{
    const struct xs_vk_mark *m = event;
    struct xs_vk_device *d = device_of(place);
    xs_vk_result r;
    uint64_t value = 0;

    if (atomic_load(&d->pins) & XS_VK_GONE)
        return -1;
    if (m->hw->semaphore) {
        r = d->api.vkGetSemaphoreCounterValue(d->device, m->hw->semaphore, &value);
        return r != XS_VK_SUCCESS ? -1 : value >= m->value ? 0 : 1;
    }
    r = d->api.vkGetFenceStatus(d->device, m->fence);
    return r == XS_VK_SUCCESS ? 0 : r == XS_VK_NOT_READY ? 1 : -1;
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    if (reached)
        xsched_priv_completed(q, number);
    else
        xsched_priv_mark_lost(q, number);
}

const struct xs_watch_ops xs_vk_watch = {"Vulkan", NULL, ask, done};

/* @return whether the mark's fence stands in the queue */
static bool put_fence(struct xs_vk_hw *hw, struct xs_vk_mark *m)
{
    struct xs_vk_device *d = hw->device;
    struct xs_vk_simple_create create = {.type = XS_VK_TYPE_FENCE_CREATE};

    if (atomic_load(&hw->submitter) != xs_thread_id())
        return false;
    if (!m->fence) {
        if (d->api.vkCreateFence(d->device, &create, NULL, &m->fence) != XS_VK_SUCCESS) {
            m->fence = 0;
            return false;
        }
    } else if (d->api.vkResetFences(d->device, 1, &m->fence) != XS_VK_SUCCESS) {
        return false;
    }
    /* a submission without batches signals its fence when all before it is complete */
    return d->api.vkQueueSubmit(hw->queue, 0, NULL, m->fence) == XS_VK_SUCCESS;
}

bool xs_vk_mark_put(struct xs_vk_hw *hw, struct xs_queue *q, uint64_t number)
{
    struct xs_vk_device *d = hw->device;
    void *event = NULL;
    struct xs_vk_mark *m;
    int row = xs_watch_take(&xs_vk_watch, &d->watch, &event);

    if (row < 0)
        return false;
    m = event ? event : xs_vk_mark_new(d);
    if (!m) {
        xs_watch_give_back(row, NULL);
        return false;
    }
    m->hw = hw;
    /* A command that has returned counted after the store of this value, so the value is behind all of
     * them. */
    m->value = atomic_load(&hw->signalled);
    if (!hw->semaphore && !put_fence(hw, m)) {
        xs_watch_give_back(row, m);
        return false;
    }
    xs_watch_set(row, m, q, number);
    return true;
}
