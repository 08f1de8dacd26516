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
    if (kernel->kind == KERNEL_WORK && kernel->args[2] == REFUSED)
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
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

    (void)device, (void)context, (void)desc;
    if (!list || fake_refused("list")) {
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    list->tail = &list->commands;
    *ret = list;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t create_immediate(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *desc,
                                    ze_command_list_handle_t *ret)
{
    ze_command_list_handle_t list = calloc(1, sizeof(*list));

    (void)device, (void)context;
    if (!list || desc->index == REFUSED || fake_refused("immediate")) {
        free(list);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    fake_say("list", desc);
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
    if (version >= ZE_MAKE_VERSION(1, 6))   /* younger than the header here: its place in the table */
        ((void **)t)[28] = (void *)list_synchronize;
}
