/* SPDX-License-Identifier: Apache-2.0 */
/* Which semaphores of the program are timeline semaphores. The program may submit a wait for one before its
 * signal, so gates do not matter to it. It may not for any other (hal/vulkan/host_gates.c). */
#include "shim/vulkan/vk_layer.h"

#include "base/map.h"

static struct xs_map g_timelines; /* by device and handle; the value has no meaning */

static uint64_t key_of(xs_vk_handle device, xs_vk_object semaphore)
{
    return (semaphore ^ xs_hash_u64(xs_vk_key(device))) | 1;
}

bool xs_vk_is_timeline(xs_vk_handle device, xs_vk_object semaphore)
{
    return xs_map_get(&g_timelines, key_of(device, semaphore)) != NULL;
}

xs_vk_result xs_vk_vkCreateSemaphore(xs_vk_handle device, const struct xs_vk_simple_create *create, const void *allocator,
                                     xs_vk_object *ret)
{
    struct xs_vk_device *d = xsched_priv_vk_device_of(device);
    xs_vk_result r = d->api.vkCreateSemaphore(device, create, allocator, ret);

    for (const struct xs_vk_base *b = create->next; b && r == XS_VK_SUCCESS; b = b->next) {
        if (b->type == XS_VK_TYPE_SEMAPHORE_KIND &&
            ((const struct xs_vk_semaphore_kind *)(const void *)b)->kind == XS_VK_SEMAPHORE_TIMELINE) {
            atomic_fetch_or(&d->waits_matter, XS_VK_TIMELINES);
            xs_map_put(&g_timelines, key_of(device, *ret), d); /* without memory it counts as binary, which is right, too */
        }
    }
    return r;
}

void xs_vk_vkDestroySemaphore(xs_vk_handle device, xs_vk_object semaphore, const void *allocator)
{
    if (semaphore)                /* before: its handle may come back at once */
        xs_map_remove(&g_timelines, key_of(device, semaphore));
    xsched_priv_vk_device_of(device)->api.vkDestroySemaphore(device, semaphore, allocator);
}
