/* SPDX-License-Identifier: Apache-2.0 */
/* What the Level Zero programs here share. They are ordinary programs, which know nothing of XSched. */
#ifndef XS_TESTS_ZE_PROGRAM_H
#define XS_TESTS_ZE_PROGRAM_H

#include <level_zero/ze_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_WORDS 4096

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #what);                                     \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)
#define MUST(call) CHECK((call) == ZE_RESULT_SUCCESS)

struct program {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    ze_module_handle_t module;
    ze_kernel_handle_t work, mix;
    ze_event_pool_handle_t pool;
    uint32_t events;
};

static inline uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline void program_begin(struct program *p)
{
    ze_context_desc_t context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_module_desc_t module = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC};
    ze_kernel_desc_t kernel = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "work"};
    ze_event_pool_desc_t pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                 .count = 256};
    uint32_t n = 1;

    memset(p, 0, sizeof(*p));
    MUST(zeInit(0));
    MUST(zeDriverGet(&n, &p->driver));
    CHECK(n == 1);
    MUST(zeDeviceGet(p->driver, &n, &p->device));
    CHECK(n == 1);
    MUST(zeContextCreate(p->driver, &context, &p->context));
    MUST(zeModuleCreate(p->context, p->device, &module, &p->module, NULL));
    MUST(zeKernelCreate(p->module, &kernel, &p->work));
    kernel.pKernelName = "mix";
    MUST(zeKernelCreate(p->module, &kernel, &p->mix));
    MUST(zeEventPoolCreate(p->context, &pool, 1, &p->device, &p->pool));
}

static inline void program_end(struct program *p)
{
    zeEventPoolDestroy(p->pool);
    zeKernelDestroy(p->work);
    zeKernelDestroy(p->mix);
    zeModuleDestroy(p->module);
    zeContextDestroy(p->context);
}

static inline ze_event_handle_t program_event(struct program *p)
{
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = p->events++, .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event;

    MUST(zeEventCreate(p->pool, &desc, &event));
    return event;
}

static inline uint32_t *program_memory(struct program *p, uint32_t words)
{
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *at;

    MUST(zeMemAllocShared(p->context, &desc, &host, words * sizeof(uint32_t), 64, p->device, &at));
    memset(at, 0, words * sizeof(uint32_t));
    return at;
}

static inline ze_command_queue_handle_t program_queue(struct program *p, ze_command_queue_mode_t mode)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = mode};
    ze_command_queue_handle_t queue;

    MUST(zeCommandQueueCreate(p->context, p->device, &desc, &queue));
    return queue;
}

static inline ze_command_list_handle_t program_immediate(struct program *p, ze_command_queue_mode_t mode)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = mode};
    ze_command_list_handle_t list;

    MUST(zeCommandListCreateImmediate(p->context, p->device, &desc, &list));
    return list;
}

static inline ze_command_list_handle_t program_list(struct program *p)
{
    ze_command_list_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t list;

    MUST(zeCommandListCreate(p->context, p->device, &desc, &list));
    return list;
}

static inline ze_fence_handle_t program_fence(ze_command_queue_handle_t queue)
{
    ze_fence_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_fence_handle_t fence;

    MUST(zeFenceCreate(queue, &desc, &fence));
    return fence;
}

/* A kernel of so many ns that appends tag to log; @return as the vendor answers */
static inline ze_result_t program_work(struct program *p, ze_command_list_handle_t list, uint32_t *log, uint32_t tag, uint64_t ns,
                                       ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    ze_group_count_t groups = {1, 1, 1};

    MUST(zeKernelSetArgumentValue(p->work, 0, sizeof(log), &log));
    MUST(zeKernelSetArgumentValue(p->work, 1, sizeof(tag), &tag));
    MUST(zeKernelSetArgumentValue(p->work, 2, sizeof(ns), &ns));
    return zeCommandListAppendLaunchKernel(list, p->work, &groups, signal, n, waits);
}

static inline ze_result_t program_mix(struct program *p, ze_command_list_handle_t list, uint32_t *data, uint32_t count,
                                      uint32_t value, ze_event_handle_t signal, uint32_t n, ze_event_handle_t *waits)
{
    ze_group_count_t groups = {1, 1, 1};

    MUST(zeKernelSetArgumentValue(p->mix, 0, sizeof(data), &data));
    MUST(zeKernelSetArgumentValue(p->mix, 1, sizeof(count), &count));
    MUST(zeKernelSetArgumentValue(p->mix, 2, sizeof(value), &value));
    return zeCommandListAppendLaunchKernel(list, p->mix, &groups, signal, n, waits);
}

#endif
