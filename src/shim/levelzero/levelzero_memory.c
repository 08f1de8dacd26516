/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit on Level Zero: allocations on a device, or shared with it, and physical memory of it. */
#include "shim/levelzero/ze_table.h"

#include "shim/common/memory_limit.h"

#define MEMORIES_MOST 16u         /* of a device */

static bool limited(void)
{
    return !xs_shim_disabled && xs_mem_limited();
}

/* @return the number of the device for memory_limit.h, or -1 */
static int device_number(const struct xs_ze_side *side, xs_ze_handle device)
{
    struct xs_ze_memory_properties all[MEMORIES_MOST];
    uint32_t count = MEMORIES_MOST;
    uint64_t total = 0;
    int known;

    if (!device || !limited())
        return -1;
    known = xs_mem_find(xs_ze_key(device));
    if (known >= 0)
        return known;
    for (uint32_t i = 0; i < MEMORIES_MOST; i++)
        all[i] = (struct xs_ze_memory_properties){.type = XS_ZE_TYPE_MEMORY_PROPERTIES};
    if (side->real.zeDeviceGetMemoryProperties(device, &count, all) != XS_ZE_SUCCESS)
        count = 0;
    for (uint32_t i = 0; i < count && i < MEMORIES_MOST; i++)
        total += all[i].bytes;
    return xs_mem_add(xs_ze_key(device), total);
}

static xs_ze_result settle(xs_ze_result r, enum xs_mem_kind kind, uint64_t key, int number, uint64_t bytes,
                           xs_ze_handle context)
{
    if (number >= 0 && r == XS_ZE_SUCCESS)
        xs_mem_note(kind, key, number, bytes, context);
    else if (number >= 0)
        xs_mem_give(number, bytes);
    return r;
}

xs_ze_result xs_hand_zeMemAllocDevice(const struct xs_ze_side *side, const void *caller, xs_ze_handle context, const void *desc,
                                      size_t bytes, size_t alignment, xs_ze_handle device, void **ret)
{
    int number = device_number(side, device);
    xs_ze_result r;

    (void)caller;
    if (number >= 0 && !xs_mem_take(number, bytes))
        return XS_ZE_ERROR_OUT_OF_DEVICE_MEMORY;
    r = side->real.zeMemAllocDevice(context, desc, bytes, alignment, device, ret);
    return settle(r, XS_MEM_POINTER, r == XS_ZE_SUCCESS ? (uint64_t)(uintptr_t)*ret : 0, number, bytes, context);
}

xs_ze_result xs_hand_zeMemAllocShared(const struct xs_ze_side *side, const void *caller, xs_ze_handle context,
                                      const void *device_desc, const void *host_desc, size_t bytes, size_t alignment,
                                      xs_ze_handle device, void **ret)
{
    int number = device_number(side, device);
    xs_ze_result r;

    (void)caller;
    if (number >= 0 && !xs_mem_take(number, bytes))
        return XS_ZE_ERROR_OUT_OF_DEVICE_MEMORY;
    r = side->real.zeMemAllocShared(context, device_desc, host_desc, bytes, alignment, device, ret);
    return settle(r, XS_MEM_POINTER, r == XS_ZE_SUCCESS ? (uint64_t)(uintptr_t)*ret : 0, number, bytes, context);
}

xs_ze_result xs_hand_zeMemFree(const struct xs_ze_side *side, const void *caller, xs_ze_handle context, void *at)
{
    struct xs_mem_entry *e = at && limited() ? xs_mem_out(XS_MEM_POINTER, (uint64_t)(uintptr_t)at) : NULL;
    xs_ze_result r = side->real.zeMemFree(context, at);

    (void)caller;
    if (e)
        xs_mem_settle(e, r == XS_ZE_SUCCESS);
    return r;
}

xs_ze_result xs_hand_zeMemFreeExt(const struct xs_ze_side *side, const void *caller, xs_ze_handle context, const void *desc,
                                  void *at)
{
    struct xs_mem_entry *e = at && limited() ? xs_mem_out(XS_MEM_POINTER, (uint64_t)(uintptr_t)at) : NULL;
    xs_ze_result r = side->real.zeMemFreeExt(context, desc, at);

    (void)caller;
    if (e)
        xs_mem_settle(e, r == XS_ZE_SUCCESS);
    return r;
}

xs_ze_result xs_hand_zePhysicalMemCreate(const struct xs_ze_side *side, const void *caller, xs_ze_handle context,
                                         xs_ze_handle device, struct xs_ze_physical_desc *desc, xs_ze_handle *ret)
{
    int number = desc ? device_number(side, device) : -1;
    uint64_t bytes = number >= 0 ? desc->bytes : 0;
    xs_ze_result r;

    (void)caller;
    if (number >= 0 && !xs_mem_take(number, bytes))
        return XS_ZE_ERROR_OUT_OF_DEVICE_MEMORY;
    r = side->real.zePhysicalMemCreate(context, device, desc, ret);
    return settle(r, XS_MEM_HANDLE, r == XS_ZE_SUCCESS ? xs_ze_key(*ret) : 0, number, bytes, context);
}

xs_ze_result xs_hand_zePhysicalMemDestroy(const struct xs_ze_side *side, const void *caller, xs_ze_handle context,
                                          xs_ze_handle memory)
{
    struct xs_mem_entry *e = memory && limited() ? xs_mem_out(XS_MEM_HANDLE, xs_ze_key(memory)) : NULL;
    xs_ze_result r = side->real.zePhysicalMemDestroy(context, memory);

    (void)caller;
    if (e)
        xs_mem_settle(e, r == XS_ZE_SUCCESS);
    return r;
}

xs_ze_result xs_hand_zeDeviceGetMemoryProperties(const struct xs_ze_side *side, const void *caller, xs_ze_handle device,
                                                 uint32_t *count, struct xs_ze_memory_properties *ret)
{
    int number = ret ? device_number(side, device) : -1;
    xs_ze_result r = side->real.zeDeviceGetMemoryProperties(device, count, ret);

    (void)caller;
    for (uint32_t i = 0; number >= 0 && r == XS_ZE_SUCCESS && i < *count; i++) {
        uint64_t total = ret[i].bytes;

        xs_mem_view(number, NULL, &total);
        ret[i].bytes = XS_MIN(ret[i].bytes, total);
    }
    return r;
}
