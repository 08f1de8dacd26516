/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates until it is refused: memory. Prints how many MiB it got, how large the device says that its memory is, and how many
 * it got once more when all was given back.
 * memory hold: uses a queue, prints how many MiB it got, and keeps them until its input ends. */
#include "ze_program.h"

#define STEP (4u << 20)
#define MOST 100

static int fill(struct program *p, void **at)
{
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    int n = 0;

    for (ze_result_t r; n < MOST; n++) {
        if (n & 1)
            r = zeMemAllocDevice(p->context, &desc, STEP, 64, p->device, &at[n]);
        else
            r = zeMemAllocShared(p->context, &desc, &host, STEP, 64, p->device, &at[n]);
        CHECK(r == ZE_RESULT_SUCCESS || r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
        if (r != ZE_RESULT_SUCCESS)
            break;
    }
    return n;
}

static void hold(struct program *p, int got)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;

    MUST(zeCommandQueueCreate(p->context, p->device, &desc, &queue));
    MUST(zeCommandListCreate(p->context, p->device, &list_desc, &list));
    MUST(zeCommandListClose(list));
    MUST(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    MUST(zeCommandQueueSynchronize(queue, UINT64_MAX));
    printf("%d\n", got * 4);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    MUST(zeCommandListDestroy(list));
    MUST(zeCommandQueueDestroy(queue));
}

int main(int argc, char **argv)
{
    ze_device_memory_properties_t m = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
    struct program p;
    void *at[MOST];
    uint32_t one = 1;
    int n, again;

    program_begin(&p);
    n = fill(&p, at);
    if (argc > 1 && strcmp(argv[1], "hold") == 0) {
        hold(&p, n);
        return 0;
    }
    MUST(zeDeviceGetMemoryProperties(p.device, &one, &m));
    for (int i = 0; i < n; i++)
        MUST(zeMemFree(p.context, at[i]));
    again = fill(&p, at);
    printf("%d %llu %d\n", n * 4, (unsigned long long)(m.totalSize >> 20), again * 4);
    for (int i = 0; i < again; i++)
        MUST(zeMemFree(p.context, at[i]));
    program_end(&p);
    return 0;
}
