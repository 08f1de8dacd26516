/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary program that uses libpreempt, to be run on every C library: wrong arguments, then an
 * XQueue on a platform made of four functions, with commands that run at once and commands that
 * must wait (so that a worker thread starts). Built once for all glibc (against stub libraries)
 * and once with musl-gcc. */
#include "xqueue/interface.h"
#include "xsched/xsched.h"

#include <stdio.h>
#include <time.h>

static int g_failed, g_checked;

static void check(int ok, const char *what)
{
    g_checked++;
    if (!ok) {
        g_failed++;
        printf("wrong: %s\n", what);
    }
}
#define CHECK(x) check((x), #x)

static XResult device_synchronize(void *hw)
{
    (void)hw;
    return kXSchedSuccess;
}

/* Everything is complete as soon as it was launched, so a mark completes at once. */
static bool device_mark(void *hw, struct xs_queue *q, uint64_t number)
{
    (void)hw;
    xsched_priv_completed(q, number);
    return true;
}

static const struct xs_hal_ops k_device = {
    .abi = XS_HAL_ABI,
    .size = sizeof(struct xs_hal_ops),
    .platform = kPlatformOpenCL,
    .name = "matrix",
    .levels = 1u << kPreemptLevelBlock,
    .synchronize = device_synchronize,
    .mark = device_mark,
};

static _Atomic int g_ran; /* writer: whichever thread launches */

static XResult run(HwQueueHandle hwq, void *data)
{
    (void)hwq;
    (void)data;
    atomic_fetch_add(&g_ran, 1);
    return kXSchedSuccess;
}

static void wrong_arguments(void)
{
    XQueueHandle xq = 0;
    HwCommandHandle cmd = 0;
    XQueueState state;

    CHECK(XQueueCreate(NULL, 1, kPreemptLevelBlock, 0) == kXSchedErrorInvalidValue);
    CHECK(XQueueCreate(&xq, 1, 17, 0) == kXSchedErrorInvalidValue);
    CHECK(XQueueCreate(&xq, 12345, kPreemptLevelBlock, 0) == kXSchedErrorNotFound);
    CHECK(XQueueGet(&xq, 12345) == kXSchedErrorNotFound);
    CHECK(XQueueQuery(12345, &state) == kXSchedErrorNotFound);
    CHECK(XQueueDestroy(12345) == kXSchedErrorNotFound);
    CHECK(XHintPriority(12345, 5) == kXSchedErrorNotFound);
    CHECK(HwCommandCreateCallback(NULL, run, NULL) == kXSchedErrorInvalidValue);
    CHECK(HwCommandCreateCallback(&cmd, NULL, NULL) == kXSchedErrorInvalidValue);
    CHECK(HwCommandCreateCallback(&cmd, run, NULL) == kXSchedSuccess && cmd != 0);
    CHECK(HwCommandDestroy(cmd) == kXSchedSuccess);
    CHECK(HwCommandDestroy(cmd) != kXSchedSuccess);
}

static void commands(void)
{
    HwQueueHandle hwq = 0;
    XQueueHandle xq = 0;
    HwCommandHandle cmds[8];
    XQueueState state = kQueueStateUnknown;
    struct timespec little = {0, 20000000};
    bool created = false;
    int64_t count = 0;
    int before;

    CHECK(xsched_priv_hwq_create(&k_device, 0x1000, &g_ran, (XDevice)kDeviceTypeCPU << 32, &hwq, &created) ==
          kXSchedSuccess && created);
    CHECK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess && xq != 0);
    CHECK(HwQueueDestroy(hwq) == kXSchedErrorNotAllowed);
    CHECK(HwCommandCreateCallback(&cmds[0], run, NULL) == kXSchedSuccess);
    CHECK(XQueueSubmit(xq, cmds[0]) == kXSchedSuccess);
    CHECK(XQueueWait(xq, cmds[0]) == kXSchedSuccess);
    CHECK(atomic_load(&g_ran) == 1);

    CHECK(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess);
    before = atomic_load(&g_ran);
    for (int i = 0; i < 8; i++) {
        CHECK(HwCommandCreateCallback(&cmds[i], run, NULL) == kXSchedSuccess);
        CHECK(XQueueSubmit(xq, cmds[i]) == kXSchedSuccess);
    }
    nanosleep(&little, NULL);
    CHECK(atomic_load(&g_ran) == before);
    CHECK(XQueueQuery(xq, &state) == kXSchedSuccess && state == kQueueStateReady);
    CHECK(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess);
    CHECK(XQueueWaitAll(xq) == kXSchedSuccess);
    CHECK(atomic_load(&g_ran) == before + 8);
    CHECK(XQueueProfileHwCommandCount(xq, &count) == kXSchedSuccess && count == 9);
    CHECK(XQueueDestroy(xq) == kXSchedSuccess);
    CHECK(HwQueueDestroy(hwq) == kXSchedSuccess);
}

int main(void)
{
    wrong_arguments();
    commands();
    printf("%d checks, %d wrong\n", g_checked, g_failed);
    return g_failed != 0 || g_checked == 0;
}
