/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions that wait for the host. The program may submit a wait for a timeline semaphore before anything signals
 * its value, and signal it by vkSignalSemaphore later. A batch of ours before such a submission waits for the same
 * values, as a command of its own: that time is not the submission's. */
#include "shim/common/host_signals.h"
#include "shim/vulkan/vk_layer.h"

#define WAITS_MOST 8u             /* unsignalled values of one submission; later ones count as its own time */

static struct xs_host_signals g_host_signals = XS_HOST_SIGNALS_INIT;

static xs_vk_result signal_semaphore(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal)
{
    xs_host_signals_now(&g_host_signals);
    return xsched_priv_vk_device_of(device)->api.vkSignalSemaphore(device, signal);
}

xs_vk_result xs_vk_vkSignalSemaphore(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal)
{
    return signal_semaphore(device, signal);
}

xs_vk_result xs_vk_vkSignalSemaphoreKHR(xs_vk_handle device, const struct xs_vk_semaphore_signal *signal)
{
    return signal_semaphore(device, signal);
}

/* The wait for an event is in a command buffer, where the shim does not see it. */
xs_vk_result xs_vk_vkSetEvent(xs_vk_handle device, xs_vk_object event)
{
    xsched_priv_host_lets_go(XS_PLATFORM_NUMBER_VULKAN);
    return xsched_priv_vk_device_of(device)->api.vkSetEvent(device, event);
}

/* The values that nothing has signalled yet. */
struct unsignalled {
    uint32_t n;
    xs_vk_object semaphores[WAITS_MOST];
    uint64_t values[WAITS_MOST];
};

static void look(struct unsignalled *u, const struct xs_vk_device *d, xs_vk_object semaphore, uint64_t value)
{
    uint64_t reached = 0;

    if (u->n == WAITS_MOST || !xs_vk_is_timeline(d->device, semaphore) ||
        d->api.vkGetSemaphoreCounterValue(d->device, semaphore, &reached) != XS_VK_SUCCESS || reached >= value)
        return;
    u->semaphores[u->n] = semaphore;
    u->values[u->n++] = value;
}

static void submit(struct xs_vk_hw *hw, struct xs_queue *q, const struct unsignalled *u)
{
    static const uint32_t stages[WAITS_MOST] = {XS_VK_STAGE_ALL, XS_VK_STAGE_ALL, XS_VK_STAGE_ALL, XS_VK_STAGE_ALL,
                                                XS_VK_STAGE_ALL, XS_VK_STAGE_ALL, XS_VK_STAGE_ALL, XS_VK_STAGE_ALL};
    uint64_t value = atomic_load_explicit(&hw->signalled, memory_order_relaxed) + 1; /* one thread at a time uses a queue */
    struct xs_vk_timeline_submit timeline = {.type = XS_VK_TYPE_TIMELINE_SUBMIT, .waits_count = u->n, .waits = u->values,
                                             .signals_count = 1, .signals = &value};
    struct xs_vk_submit batch = {.type = XS_VK_TYPE_SUBMIT, .next = &timeline, .waits_count = u->n, .waits = u->semaphores,
                                 .wait_stages = stages, .signals_count = 1, .signals = &hw->semaphore};
    struct xs_ticket t;
    bool ok;

    xsched_priv_submit_begin(q, XS_KEY_AWAITS, XS_SUBMIT_PASS | XS_SUBMIT_LOADED | XS_SUBMIT_OURS, &t);
    ok = hw->device->api.vkQueueSubmit(hw->queue, 1, &batch, 0) == XS_VK_SUCCESS;
    if (ok)
        atomic_store(&hw->signalled, value); /* before the count: see xs_vk_mark_put */
    xsched_priv_submit_end(&t, ok, false);
}

static void await_host(struct xs_vk_hw *hw, struct xs_queue *q, const struct unsignalled *u)
{
    if (!u->n)
        return;
    if (xs_host_may_signal(&g_host_signals)) {
        xs_host_signal_awaited(&g_host_signals);
        submit(hw, q, u);
    } else {
        xsched_priv_waits_elsewhere(q);
    }
}

void xs_vk_await_host(struct xs_vk_hw *hw, struct xs_queue *q, const struct xs_vk_submit *first)
{
    const struct xs_vk_timeline_submit *t = NULL;
    struct unsignalled u = {.n = 0};

    for (const struct xs_vk_base *b = first->waits_count ? first->next : NULL; b && !t; b = b->next)
        if (b->type == XS_VK_TYPE_TIMELINE_SUBMIT)
            t = (const struct xs_vk_timeline_submit *)(const void *)b;
    for (uint32_t k = 0; t && k < XS_MIN(first->waits_count, t->waits_count); k++)
        look(&u, hw->device, first->waits[k], t->waits[k]);
    await_host(hw, q, &u);
}

void xs_vk_await_host_2(struct xs_vk_hw *hw, struct xs_queue *q, const struct xs_vk_submit_2 *first)
{
    struct unsignalled u = {.n = 0};

    for (uint32_t k = 0; k < first->waits_count; k++)
        look(&u, hw->device, first->waits[k].semaphore, first->waits[k].value);
    await_host(hw, q, &u);
}
