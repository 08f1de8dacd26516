/* SPDX-License-Identifier: Apache-2.0 */
/* The application is its own scheduler: one thread executes command lists, another suspends and resumes their queue. It runs
 * under the shim, with XSCHED_SCHEDULER=APP (the default):
 *
 *   XSCHED_SCHEDULER=APP XSCHED_AUTO_XQUEUE=OFF xsched run --no-server -- ./manual
 */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xsched/levelzero/hal.h>
#include <xsched/xsched.h>

#define BYTES      (1u << 20)
#define EXECUTIONS 400

#define CHECK(call, success)                                                                                 \
    do {                                                                                                     \
        int result_ = (int)(call);                                                                           \
        if (result_ != (success)) {                                                                          \
            fprintf(stderr, "%s:%d: %s: result %x\n", __FILE__, __LINE__, #call, (unsigned)result_);         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CHECK_ZE(call) CHECK(call, ZE_RESULT_SUCCESS)
#define CHECK_XS(call) CHECK(call, kXSchedSuccess)

static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static atomic_int finished; /* executions that the thread saw complete */

static void *execute_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < EXECUTIONS; i++) {
        CHECK_ZE(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        CHECK_ZE(zeCommandQueueSynchronize(queue, UINT64_MAX));
        atomic_fetch_add(&finished, 1);
        nanosleep(&(struct timespec){0, 500000}, NULL); /* as if it did something with the result */
    }
    return NULL;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

int main(void)
{
    ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_device_mem_alloc_desc_t memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_queue_desc_t queue_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                          .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_desc_t list_desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_context_handle_t context;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    unsigned char *a, *b, pattern = 42;
    HwQueueHandle hwq;
    XQueueHandle xq;
    pthread_t thread;
    uint32_t one = 1;
    int status = 0;

    CHECK_ZE(zeInit(0));
    CHECK_ZE(zeDriverGet(&one, &driver));
    CHECK_ZE(zeDeviceGet(driver, &one, &device));
    CHECK_ZE(zeContextCreate(driver, &context_desc, &context));
    CHECK_ZE(zeCommandQueueCreate(context, device, &queue_desc, &queue));
    CHECK_ZE(zeCommandListCreate(context, device, &list_desc, &list));
    CHECK_ZE(zeMemAllocShared(context, &memory, &host, BYTES, 64, device, (void **)&a));
    CHECK_ZE(zeMemAllocShared(context, &memory, &host, BYTES, 64, device, (void **)&b));
    CHECK_ZE(zeCommandListAppendMemoryFill(list, a, &pattern, 1, BYTES, NULL, 0, NULL));
    CHECK_ZE(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    CHECK_ZE(zeCommandListAppendMemoryCopy(list, b, a, BYTES, NULL, 0, NULL));
    CHECK_ZE(zeCommandListClose(list));

    CHECK_XS(LevelZeroQueueCreate(&hwq, queue));
    CHECK_XS(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    pthread_create(&thread, NULL, execute_all, NULL);
    for (int round = 1; round <= 3; round++) {
        int before, after;

        while (atomic_load(&finished) < round * EXECUTIONS / 4)
            sleep_ms(1);
        CHECK_XS(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue));
        sleep_ms(20); /* the other thread may still have to notice the end of its last execution */
        before = atomic_load(&finished);
        sleep_ms(100);
        after = atomic_load(&finished);
        printf("suspended for 100 ms: %d executions before, %d after\n", before, after);
        if (after != before) {
            fprintf(stderr, "lists were executed while the queue was suspended: is the shim loaded?\n");
            status = 1;
        }
        CHECK_XS(XQueueResume(xq, kQueueResumeFlagNone));
    }
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < BYTES; i++)
        status |= b[i] != pattern;
    printf("%d executions, the result is %s\n", atomic_load(&finished), status ? "wrong" : "right");

    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    CHECK_ZE(zeMemFree(context, a));
    CHECK_ZE(zeMemFree(context, b));
    CHECK_ZE(zeCommandListDestroy(list));
    CHECK_ZE(zeCommandQueueDestroy(queue));
    CHECK_ZE(zeContextDestroy(context));
    return status;
}
