/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit on Vulkan: the program's allocations from heaps that are the device's own. Heaps, and the
 * rest of their budget, look as small as the limit makes them, since programs divide by these numbers. */
#include "shim/vulkan/vk_layer.h"

#include "shim/common/memory_limit.h"

static bool is_local(const struct xs_vk_memory_properties *m, uint32_t heap)
{
    return heap < m->heaps_count && heap < XS_VK_MEMORY_HEAPS && m->heaps[heap].flags & XS_VK_HEAP_DEVICE_LOCAL;
}

/* @return the number of the device for memory_limit.h, or -1 */
static int device_number(xs_vk_handle physical, const struct xs_vk_memory_properties *m)
{
    int known = xs_mem_find(xs_vk_key(physical));
    uint64_t total = 0;

    if (known >= 0)
        return known;
    for (uint32_t i = 0; i < m->heaps_count && i < XS_VK_MEMORY_HEAPS; i++)
        total += is_local(m, i) ? m->heaps[i].bytes : 0;
    return xs_mem_add(xs_vk_key(physical), total);
}

static bool limited(void)
{
    return !xs_shim_disabled && xs_mem_limited();
}

/* @param real  as the driver gave it */
static void view(xs_vk_handle physical, const struct xs_vk_memory_properties *real, struct xs_vk_memory_properties *m,
                 struct xs_vk_memory_budget *b)
{
    int device = device_number(physical, real);

    for (uint32_t i = 0; device >= 0 && i < real->heaps_count && i < XS_VK_MEMORY_HEAPS; i++) {
        uint64_t total = real->heaps[i].bytes, left = b ? b->budget[i] : total;

        if (!is_local(real, i))
            continue;
        xs_mem_view(device, &left, &total);
        m->heaps[i].bytes = XS_MIN(m->heaps[i].bytes, total);
        if (b)                    /* the program's own allocations count in it */
            b->budget[i] = XS_MIN(b->budget[i], left + b->usage[i]);
    }
}

void xs_vk_vkGetPhysicalDeviceMemoryProperties(xs_vk_handle physical, struct xs_vk_memory_properties *ret)
{
    const struct xs_vk_instance *i = xs_vk_instance_of(physical);
    struct xs_vk_memory_properties real;

    i->physical.memory(physical, ret);
    if (!limited())
        return;
    real = *ret;
    view(physical, &real, ret, NULL);
}

void xs_vk_vkGetPhysicalDeviceMemoryProperties2(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret)
{
    const struct xs_vk_instance *i = xs_vk_instance_of(physical);
    struct xs_vk_memory_budget *budget = NULL;
    struct xs_vk_memory_properties real;

    i->physical.memory_2(physical, ret);
    if (!limited())
        return;
    for (struct xs_vk_base *b = ret->next; b; b = (struct xs_vk_base *)(uintptr_t)b->next) {
        if (b->type == XS_VK_TYPE_MEMORY_BUDGET)
            budget = (struct xs_vk_memory_budget *)(void *)b;
    }
    real = ret->properties;
    view(physical, &real, &ret->properties, budget);
}

void xs_vk_vkGetPhysicalDeviceMemoryProperties2KHR(xs_vk_handle physical, struct xs_vk_memory_properties_2 *ret)
{
    xs_vk_vkGetPhysicalDeviceMemoryProperties2(physical, ret);
}

/* Memory that exists already gets one more name only. */
static bool is_import(const struct xs_vk_memory_allocate *allocate)
{
    for (const struct xs_vk_base *b = allocate->next; b; b = b->next) {
        if (b->type == XS_VK_TYPE_IMPORT_FD || b->type == XS_VK_TYPE_IMPORT_HOST)
            return true;
    }
    return false;
}

xs_vk_result xs_vk_vkAllocateMemory(xs_vk_handle device, const struct xs_vk_memory_allocate *allocate,
                                    const void *allocator, xs_vk_object *ret)
{
    struct xs_vk_device *d = xsched_priv_vk_device_of(device);
    const struct xs_vk_instance *i = xs_vk_instance_of(d->physical);
    struct xs_vk_memory_properties m;
    int number = -1;
    xs_vk_result r;

    if (limited() && i && i->physical.memory && !is_import(allocate)) {
        i->physical.memory(d->physical, &m);
        if (allocate->memory_type < m.types_count && is_local(&m, m.types[allocate->memory_type].heap))
            number = device_number(d->physical, &m);
    }
    if (number >= 0 && !xs_mem_take(number, allocate->bytes))
        return XS_VK_ERROR_OUT_OF_DEVICE_MEMORY;
    r = d->api.vkAllocateMemory(device, allocate, allocator, ret);
    if (number >= 0 && r == XS_VK_SUCCESS)
        xs_mem_note(XS_MEM_HANDLE, *ret, number, allocate->bytes, device);
    else if (number >= 0)
        xs_mem_give(number, allocate->bytes);
    return r;
}

void xs_vk_vkFreeMemory(xs_vk_handle device, xs_vk_object memory, const void *allocator)
{
    struct xs_mem_entry *e = memory && limited() ? xs_mem_out(XS_MEM_HANDLE, memory) : NULL;

    xsched_priv_vk_device_of(device)->api.vkFreeMemory(device, memory, allocator);
    if (e)
        xs_mem_settle(e, true);
}

void xs_vk_memory_device_ends(xs_vk_handle device)
{
    if (limited())
        xs_mem_owner_gone(device, xs_mem_before());
}
