/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of commands, regular and immediate. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static ze_result_t append(ze_command_list_handle_t list, struct fake_command *c, ze_event_handle_t signal, uint32_t n,
                          ze_event_handle_t *waits)
{
    struct fake_command *copy;

    if (!list)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (n > WAITS_MOST || (n && !waits))
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (fake_refused("append"))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    c->signal = signal;
    c->waits_count = n;
    if (n)
        memcpy(c->waits, waits, n * sizeof(*waits));
    if (list->immediate) {
        fake_fifo_put(&list->fifo, c);
        return list->synchronous ? fake_fifo_wait(&list->fifo, UINT64_MAX) : ZE_RESULT_SUCCESS;
    }
    if (list->closed)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    copy = malloc(sizeof(*copy));
    if (!copy)
        abort();
    *copy = *c;
    *list->tail = copy;
    list->tail = &copy->next;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    return append(list, &(struct fake_command){.kind = FAKE_NOTHING}, signal, n, waits);
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from, size_t bytes, ze_event_handle_t signal,
                               uint32_t n, ze_event_handle_t *waits)
{
    if (bytes == REFUSED)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    return append(list, &(struct fake_command){.kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes}, signal, n, waits);
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *to, const void *pattern, size_t pattern_bytes, size_t bytes,
                               ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    struct fake_command c = {.kind = FAKE_FILL, .to = to, .bytes = bytes, .pattern_bytes = pattern_bytes};

    if (!pattern_bytes || pattern_bytes > sizeof(c.pattern))
        return ZE_RESULT_ERROR_INVALID_SIZE;
    memcpy(c.pattern, pattern, pattern_bytes);
    return append(list, &c, signal, n, waits);
}

static ze_result_t append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,
                                 ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    struct fake_command c = {.kind = FAKE_KERNEL};

    if (!kernel || !groups)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    c.kernel = *kernel;
    c.groups = *groups;
    if (fake_kernel_ns(kernel) == REFUSED)
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    return append(list, &c, signal, n, waits);
}

static ze_result_t append_indirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                   const ze_group_count_t *groups, ze_event_handle_t signal, uint32_t n,
                                   ze_event_handle_t *waits)
{
    struct fake_command c = {.kind = FAKE_KERNEL, .groups_at = groups};

    if (!kernel || !groups)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    c.kernel = *kernel;
    return append(list, &c, signal, n, waits);
}

static ze_result_t append_region(ze_command_list_handle_t list, void *to, const ze_copy_region_t *to_region,
                                 uint32_t to_pitch, uint32_t to_slice, const void *from,
                                 const ze_copy_region_t *from_region, uint32_t from_pitch,
                                 uint32_t from_slice, ze_event_handle_t signal, uint32_t n,
                                 ze_event_handle_t *waits)
{
    if (!to_region || !from_region)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return append(list,
                  &(struct fake_command){.kind = FAKE_REGION,
                                         .to = to,
                                         .from = from,
                                         .to_region = *to_region,
                                         .from_region = *from_region,
                                         .to_pitch = to_pitch,
                                         .to_slice = to_slice,
                                         .from_pitch = from_pitch,
                                         .from_slice = from_slice},
                  signal, n, waits);
}

static ze_result_t append_copy_from_context(ze_command_list_handle_t list, void *to,
                                            ze_context_handle_t context, const void *from, size_t bytes,
                                            ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    (void)context;
    return append_copy(list, to, from, bytes, signal, n, waits);
}

static ze_result_t append_ranges(ze_command_list_handle_t list, uint32_t count, const size_t *bytes,
                                 const void **ranges, ze_event_handle_t signal, uint32_t n,
                                 ze_event_handle_t *waits)
{
    (void)count, (void)bytes, (void)ranges;
    return append_barrier(list, signal, n, waits);
}

static ze_result_t append_advice(ze_command_list_handle_t list, ze_device_handle_t device, const void *at,
                                 size_t bytes, ze_memory_advice_t advice)
{
    (void)device, (void)at, (void)bytes, (void)advice;
    return append_barrier(list, NULL, 0, NULL);
}

static ze_result_t append_stamp(ze_command_list_handle_t list, uint64_t *to, ze_event_handle_t signal,
                                uint32_t n, ze_event_handle_t *waits)
{
    return append(list, &(struct fake_command){.kind = FAKE_STAMP, .to = to}, signal, n, waits);
}

static ze_result_t append_stamps(ze_command_list_handle_t list, uint32_t count, ze_event_handle_t *events,
                                 void *to, const size_t *places, ze_event_handle_t signal, uint32_t n,
                                 ze_event_handle_t *waits)
{
    struct fake_command c = {.kind = FAKE_STAMPS, .to = to, .bytes = count};

    if (count > WAITS_MOST || !events || !to)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; i < count; i++) {
        c.stamps[i] = events[i];
        c.places[i] = places ? places[i] : i * sizeof(ze_kernel_timestamp_result_t);
    }
    return append(list, &c, signal, n, waits);
}

static ze_result_t append_prefetch(ze_command_list_handle_t list, const void *at, size_t bytes)
{
    (void)at, (void)bytes;
    return append(list, &(struct fake_command){.kind = FAKE_NOTHING}, NULL, 0, NULL);
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
    return append(list, &(struct fake_command){.kind = FAKE_NOTHING}, event, 0, NULL);
}

static ze_result_t append_wait(ze_command_list_handle_t list, uint32_t n, ze_event_handle_t *events)
{
    return append(list, &(struct fake_command){.kind = FAKE_NOTHING}, NULL, n, events);
}

static ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
    return append(list, &(struct fake_command){.kind = FAKE_RESET, .reset = event}, NULL, 0, NULL);
}

static ze_result_t create(ze_context_handle_t context, ze_device_handle_t device, const ze_command_list_desc_t *desc,
                          ze_command_list_handle_t *ret)
{
    ze_command_list_handle_t list = calloc(1, sizeof(*list));

    if (!list || fake_refused("list")) {
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    list->context = context;
    list->device = device;
    list->ordinal = desc->commandQueueGroupOrdinal;
    list->tail = &list->commands;
    *ret = list;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t create_immediate(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *desc,
                                    ze_command_list_handle_t *ret)
{
    ze_command_list_handle_t list = calloc(1, sizeof(*list));

    if (!list || desc->index == REFUSED || fake_refused("immediate")) {
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    fake_say("list", desc);
    list->context = context;
    list->device = device;
    list->ordinal = desc->ordinal;
    list->index = desc->index;
    list->immediate = true;
    list->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    fake_fifo_start(&list->fifo);
    *ret = list;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t close_list(ze_command_list_handle_t list)
{
    list->closed = true;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t reset_list(ze_command_list_handle_t list)
{
    struct fake_command *next;

    for (struct fake_command *c = list->commands; c; c = next) {
        next = c->next;
        free(c);
    }
    list->commands = NULL;
    list->tail = &list->commands;
    list->closed = false;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_list(ze_command_list_handle_t list)
{
    if (list->immediate)
        fake_fifo_end(&list->fifo);
    else
        reset_list(list);
    free(list);
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_synchronize(ze_command_list_handle_t list, uint64_t timeout_ns)
{
    return list->immediate ? fake_fifo_wait(&list->fifo, timeout_ns) : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* The lists run after the events in waits, and signal comes after the lists. */
static ze_result_t append_lists(ze_command_list_handle_t list, uint32_t count,
                                ze_command_list_handle_t *lists, ze_event_handle_t signal, uint32_t n,
                                ze_event_handle_t *waits)
{
    ze_result_t r = list->immediate ? append_barrier(list, NULL, n, waits) : ZE_RESULT_ERROR_INVALID_ARGUMENT;

    for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++) {
        if (!lists[i]->closed)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        for (const struct fake_command *c = lists[i]->commands; c; c = c->next)
            fake_fifo_put(&list->fifo, c);
    }
    return r ? r : append_barrier(list, signal, 0, NULL);
}

static ze_result_t list_device(ze_command_list_handle_t list, ze_device_handle_t *ret)
{
    *ret = list->device;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_context(ze_command_list_handle_t list, ze_context_handle_t *ret)
{
    *ret = list->context;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_ordinal(ze_command_list_handle_t list, uint32_t *ret)
{
    *ret = list->ordinal;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t list_index(ze_command_list_handle_t list, uint32_t *ret)
{
    *ret = list->index;
    return list->immediate ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t list_is_immediate(ze_command_list_handle_t list, ze_bool_t *ret)
{
    *ret = list->immediate;
    return ZE_RESULT_SUCCESS;
}

/* Of experimental functions, from the interface's version 1.9 on; cloning is not here. */
void fake_command_list_exp_table(void **table)
{
    table[0] = NULL;
    table[1] = (void *)append_lists;
}

void fake_command_list_table(ze_api_version_t version, ze_command_list_dditable_t *t)
{
    t->pfnCreate = create;
    t->pfnCreateImmediate = create_immediate;
    t->pfnDestroy = destroy_list;
    t->pfnClose = close_list;
    t->pfnReset = reset_list;
    t->pfnAppendBarrier = append_barrier;
    t->pfnAppendMemoryCopy = append_copy;
    t->pfnAppendMemoryFill = append_fill;
    t->pfnAppendMemoryPrefetch = append_prefetch;
    t->pfnAppendSignalEvent = append_signal;
    t->pfnAppendWaitOnEvents = append_wait;
    t->pfnAppendEventReset = append_reset;
    t->pfnAppendLaunchKernel = append_kernel;
    t->pfnAppendLaunchCooperativeKernel = append_kernel;
    t->pfnAppendMemoryCopyRegion = append_region;
    t->pfnAppendMemoryCopyFromContext = append_copy_from_context;
    t->pfnAppendMemoryRangesBarrier = append_ranges;
    t->pfnAppendMemAdvise = append_advice;
    t->pfnAppendWriteGlobalTimestamp = append_stamp;
    t->pfnAppendQueryKernelTimestamps = append_stamps;
    t->pfnAppendLaunchKernelIndirect = append_indirect;
    if (version >= ZE_MAKE_VERSION(1, 9)) {
        ((void **)t)[29] = (void *)list_device;
        ((void **)t)[30] = (void *)list_context;
        ((void **)t)[31] = (void *)list_ordinal;
        ((void **)t)[32] = (void *)list_index;
        ((void **)t)[33] = (void *)list_is_immediate;
    }
    if (version >= ZE_MAKE_VERSION(1, 6))   /* younger than the header here: its place in the table */
        ((void **)t)[28] = (void *)list_synchronize;
}
