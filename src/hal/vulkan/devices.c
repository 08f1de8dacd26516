/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices and queues there are, and how long. */
#include "hal/vulkan/hal.h"

#include "base/env.h"
#include "base/map.h"
#include "base/platforms.h"

#include <stdlib.h>
#include <string.h>

static struct xs_map g_devices;   /* by dispatch key */
static struct xs_map g_queues;    /* by handle */
/* Lock 5: lists of devices and the free lists, and changes of g_queues. */
static struct xs_lock g_lock;
static struct xs_vk_device *g_free_devices;
static struct xs_vk_hw *g_free_hws;
static struct xs_vk_mark *g_free_marks;

bool xs_vk_pin(struct xs_vk_device *d)
{
    uint32_t pins = atomic_load(&d->pins);

    do {
        if (pins & XS_VK_GONE)
            return false;
    } while (!atomic_compare_exchange_weak(&d->pins, &pins, pins + 1));
    return true;
}

void xs_vk_unpin(struct xs_vk_device *d)
{
    atomic_fetch_sub(&d->pins, 1);
}

static void get_api(struct xs_vk_api *api, xs_vk_handle device, xs_vk_get_function get)
{
    api->get = get;
    /* through memcpy: the types differ */
#define VK_USED(ret, name, as_extension, params)                                                  \
    do {                                                                                          \
        xs_vk_function f = get(device, #name);                                                    \
        if (!f)                                                                                   \
            f = get(device, #as_extension);                                                       \
        memcpy(&api->name, &f, sizeof(f));                                                        \
    } while (0);
#include "hal/vulkan/used.def"
#undef VK_USED
}

XS_EXPORT struct xs_vk_device *xsched_priv_vk_device_new(xs_vk_handle device, xs_vk_handle physical,
                                                         xs_vk_get_function get, XDevice identity, bool timeline)
{
    struct xs_vk_device *d;

    xs_lock_acquire(&g_lock);
    d = g_free_devices;
    if (d)
        g_free_devices = d->next_free;
    xs_lock_release(&g_lock);
    if (!d && !(d = calloc(1, sizeof(*d))))
        return NULL;
    d->device = device;
    d->physical = physical;
    d->identity = identity;
    get_api(&d->api, device, get);
    d->timeline = timeline && d->api.vkGetSemaphoreCounterValue && d->api.vkWaitSemaphores;
    atomic_store(&d->queues, NULL);
    d->marks = NULL;
    atomic_store(&d->pins, 0);
    atomic_store(&d->waits_matter, 0);
    atomic_store(&d->no_gates, false);
    atomic_store(&d->presents, false);
    atomic_store(&d->ctx_entries.out, 0);
    if (xs_map_put(&g_devices, xs_vk_dispatch_key(device), d) == 0)
        return d;
    xs_lock_acquire(&g_lock);
    d->next_free = g_free_devices;
    g_free_devices = d;
    xs_lock_release(&g_lock);
    return NULL;
}

XS_EXPORT struct xs_vk_device *xsched_priv_vk_device_of(xs_vk_handle object)
{
    return xs_map_get(&g_devices, xs_vk_dispatch_key(object));
}

XS_EXPORT struct xs_vk_hw *xsched_priv_vk_find(xs_vk_handle queue)
{
    return xs_map_get(&g_queues, xs_vk_key(queue));
}

struct xs_vk_mark *xs_vk_mark_new(struct xs_vk_device *d)
{
    struct xs_vk_mark *m;

    xs_lock_acquire(&g_lock);
    m = g_free_marks;
    if (m)
        g_free_marks = m->next;
    else
        m = calloc(1, sizeof(*m));
    if (m) {
        m->fence = 0;
        m->next = d->marks;
        d->marks = m;
    }
    xs_lock_release(&g_lock);
    return m;
}

static void free_hw_locked(struct xs_vk_hw *hw)
{
    if (hw->held || !hw->forgotten)
        return;
    hw->next = g_free_hws;
    g_free_hws = hw;
}

void xs_vk_hw_release(struct xs_vk_hw *hw)
{
    xs_lock_acquire(&g_lock);
    if (hw->held) {
        hw->held = false;
        free_hw_locked(hw);
    }
    xs_lock_release(&g_lock);
}

bool xs_vk_timeline_new(struct xs_vk_device *d, xs_vk_object *ret)
{
    struct xs_vk_semaphore_kind kind = {.type = XS_VK_TYPE_SEMAPHORE_KIND, .kind = XS_VK_SEMAPHORE_TIMELINE};
    struct xs_vk_simple_create create = {.type = XS_VK_TYPE_SEMAPHORE_CREATE, .next = &kind};

    return d->timeline && d->api.vkCreateSemaphore(d->device, &create, NULL, ret) == XS_VK_SUCCESS;
}

/* Two threads may get one queue at the same time: the first one's record counts. */
XS_EXPORT struct xs_vk_hw *xsched_priv_vk_queue_given(struct xs_vk_device *d, xs_vk_handle queue, uint32_t family,
                                                      uint32_t index)
{
    struct xs_vk_hw *hw = xsched_priv_vk_find(queue), *other;
    xs_vk_object semaphore;

    if (hw)
        return hw;
    if (!xs_vk_timeline_new(d, &semaphore))
        semaphore = 0;
    xs_lock_acquire(&g_lock);
    hw = g_free_hws;
    if (hw)
        g_free_hws = hw->next;
    else
        hw = calloc(1, sizeof(*hw));
    if (hw) {
        hw->queue = queue;
        hw->device = d;
        hw->family = family;
        hw->index = index;
        hw->semaphore = semaphore;
        hw->held = false;
        hw->forgotten = false;
        atomic_store(&hw->gates, NULL);
        atomic_store(&hw->signalled, 0);
        atomic_store(&hw->submitter, 0);
        atomic_store(&hw->settled, false);
        other = xs_map_get(&g_queues, xs_vk_key(queue));
        if (other || xs_map_put(&g_queues, xs_vk_key(queue), hw) < 0) {
            hw->forgotten = true;
            free_hw_locked(hw);
            hw = other;
        } else {
            hw->next = d->queues;
            d->queues = hw;
            semaphore = 0;        /* the queue has it */
        }
    }
    xs_lock_release(&g_lock);
    if (semaphore)
        d->api.vkDestroySemaphore(d->device, semaphore, NULL);
    return hw;
}

XS_EXPORT unsigned xsched_priv_vk_queues(struct xs_vk_device *d, struct xs_queue **ret_queues, unsigned max)
{
    uint64_t natives[64];
    unsigned n = 0, found = 0;

    xs_lock_acquire(&g_lock);
    for (const struct xs_vk_hw *hw = d->queues; hw && n < XS_ARRAY_LEN(natives); hw = hw->next)
        natives[n++] = xs_vk_key(hw->queue);
    xs_lock_release(&g_lock);
    for (unsigned i = 0; i < n && found < max; i++) {
        ret_queues[found] = xsched_priv_queue_find(XS_PLATFORM_NUMBER_VULKAN, natives[i]);
        if (ret_queues[found])
            found++;
    }
    return found;
}

/* Who asks for another level gives no descriptor away. */
static bool wants_level_3(void)
{
    return !xs_env_is(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL, "1") && !xs_env_is(XS_ENV_XSCHED_AUTO_XQUEUE_LEVEL, "2");
}

XS_EXPORT XResult xsched_priv_vk_adopt(struct xs_vk_hw *hw, HwQueueHandle *ret)
{
    const struct xs_hal_ops *ops = &xs_vk_ops;
    bool created;
    XResult r;

    *ret = xsched_priv_hwq_find(XS_PLATFORM_NUMBER_VULKAN, xs_vk_key(hw->queue));
    if (*ret)
        return kXSchedSuccess;
    if (wants_level_3() && xsched_priv_interrupt_borrow(hw->device->identity))
        ops = &xs_vk_ops_level3;
    xs_lock_acquire(&g_lock);
    hw->held = true;              /* before libpreempt may release it */
    xs_lock_release(&g_lock);
    r = xsched_priv_hwq_create(ops, xs_vk_key(hw->queue), hw, hw->device->identity, ret, &created);
    if (r != kXSchedSuccess)      /* else it has the record, from this call or from another thread's */
        xs_vk_hw_release(hw);
    return r;
}

/* The program uses none of it any more. A thread of ours that comes later meets XS_VK_GONE; xs_watch_hold
 * waits for one inside. */
XS_EXPORT void xsched_priv_vk_device_destroy(struct xs_vk_device *d, const void *allocator)
{
    const struct xs_vk_api api = d->api;
    xs_vk_handle device = d->device;
    struct xs_vk_hw *hw, *next;
    struct xs_vk_mark *last;
    bool unused;

    for (hw = d->queues; hw; hw = hw->next) {
        xsched_priv_hwq_gone(XS_PLATFORM_NUMBER_VULKAN, xs_vk_key(hw->queue));
        xs_map_remove(&g_queues, xs_vk_key(hw->queue));
    }
    atomic_fetch_or(&d->pins, XS_VK_GONE);
    xs_watch_hold(&d->watch);
    for (hw = d->queues; hw; hw = hw->next)
        xs_vk_gates_end(hw);
    for (hw = d->queues; hw; hw = hw->next) {
        if (hw->semaphore)
            api.vkDestroySemaphore(device, hw->semaphore, NULL);
    }
    for (struct xs_vk_mark *m = d->marks; m; m = m->next) {
        if (m->fence)
            api.vkDestroyFence(device, m->fence, NULL);
    }
    xs_map_remove(&g_devices, xs_vk_dispatch_key(device));
    api.vkDestroyDevice(device, allocator);
    xs_watch_forget(&xs_vk_watch, &d->watch);
    xs_watch_go_on(&d->watch);
    xs_lock_acquire(&g_lock);
    unused = atomic_load(&d->pins) == XS_VK_GONE; /* else a marker has it now, so we give up the storage */
    for (hw = d->queues; hw; hw = next) {
        next = hw->next;
        hw->forgotten = true;
        if (unused)
            free_hw_locked(hw);
    }
    if (unused) {
        for (last = d->marks; last && last->next; last = last->next)
            ;
        if (last) {
            last->next = g_free_marks;
            g_free_marks = d->marks;
        }
        d->marks = NULL;
        d->next_free = g_free_devices;
        g_free_devices = d;
    }
    d->queues = NULL;
    xs_lock_release(&g_lock);
}
