/* SPDX-License-Identifier: Apache-2.0 */
/* Hands work to each device of each driver, by all calls that take it, and prints what the driver answers: calls N
 *
 * For drivers that compute nothing here (intel): N executions of a list with a copy and a barrier on a queue, the first
 * with a fence, and N copies on an immediate list, with an event behind them. */
#include "ze_program.h"

#define DRIVERS_MOST 8u
#define WAIT_NS      10000000000ull

static void say(const char *what, ze_result_t r)
{
    printf("  %s: %x\n", what, (unsigned)r);
}

static void on_queue(ze_context_handle_t c, ze_device_handle_t device, int n, void *to, const void *from)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence_desc = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_fence_handle_t fence;

    MUST(zeCommandQueueCreate(c, device, &desc, &queue));
    MUST(zeFenceCreate(queue, &fence_desc, &fence));
    MUST(zeCommandListCreate(c, device, &list_desc, &list));
    MUST(zeCommandListAppendMemoryCopy(list, to, from, 4096, NULL, 0, NULL));
    MUST(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    MUST(zeCommandListClose(list));
    for (int i = 0; i < n; i++)
        MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, i ? NULL : fence));
    say("fence", zeFenceHostSynchronize(fence, WAIT_NS));
    say("queue", zeCommandQueueSynchronize(queue, WAIT_NS));
    MUST(zeFenceDestroy(fence));
    MUST(zeCommandListDestroy(list));
    MUST(zeCommandQueueDestroy(queue));
}

static void on_list(ze_context_handle_t c, ze_device_handle_t device, int n, void *to, const void *from)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                      .count = 1};
    ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;

    MUST(zeCommandListCreateImmediate(c, device, &desc, &list));
    MUST(zeEventPoolCreate(c, &pool_desc, 1, &device, &pool));
    MUST(zeEventCreate(pool, &event_desc, &event));
    for (int i = 0; i < n; i++)
        MUST(zeCommandListAppendMemoryCopy(list, to, from, 4096, NULL, 0, NULL));
    MUST(zeCommandListAppendBarrier(list, event, 0, NULL));
    say("event", zeEventHostSynchronize(event, WAIT_NS));
    MUST(zeEventDestroy(event));
    MUST(zeEventPoolDestroy(pool));
    MUST(zeCommandListDestroy(list));
}

int main(int argc, char **argv)
{
    ze_device_mem_alloc_desc_t memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_driver_handle_t drivers[DRIVERS_MOST];
    uint32_t count = DRIVERS_MOST, one = 1;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    MUST(zeInit(0));
    MUST(zeDriverGet(&count, drivers));
    for (uint32_t i = 0; i < count; i++) {
        ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
        ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
        ze_context_handle_t c;
        ze_device_handle_t device;
        void *a, *b;

        MUST(zeDeviceGet(drivers[i], &one, &device));
        MUST(zeDeviceGetProperties(device, &properties));
        printf("driver %u of %u: %s, type %d\n", i, count, properties.name, (int)properties.type);
        MUST(zeContextCreate(drivers[i], &desc, &c));
        MUST(zeMemAllocDevice(c, &memory, 4096, 64, device, &a));
        MUST(zeMemAllocHost(c, &host, 4096, 64, &b));
        on_queue(c, device, n, a, b);
        on_list(c, device, n, a, b);
        MUST(zeMemFree(c, a));
        MUST(zeMemFree(c, b));
        MUST(zeContextDestroy(c));
    }
    return 0;
}
