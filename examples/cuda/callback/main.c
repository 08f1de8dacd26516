/* SPDX-License-Identifier: Apache-2.0 */
/* Commands made by the program and handed to XQueueSubmit: each is a function that is called when
 * the command is launched, with the stream's context current. While the queue is suspended they
 * wait inside XSched, and the program goes on. Links with libpreempt and libhalcuda; no shim is needed. */
#include "../common/cu.h"
#include "../common/xs.h"

#include <stdatomic.h>

#define COMMANDS 24u

struct command {
    CUstream stream;
    CUdeviceptr log;
    uint32_t number;
};

static atomic_uint launched;

static XResult launch(HwQueueHandle hwq, void *data)
{
    const struct command *c = data;

    (void)hwq;
    atomic_fetch_add(&launched, 1);
    return cu_launch(c->stream, 500, c->log, c->number) == 0 ? kXSchedSuccess : kXSchedErrorHardware;
}

int main(void)
{
    struct command commands[COMMANDS];
    HwCommandHandle handles[COMMANDS];
    HwQueueHandle hwq;
    XQueueHandle xq;
    CUstream stream;
    CUdeviceptr log;
    unsigned early;
    int right;

    cu_open();
    stream = cu_stream();
    log = cu_log(COMMANDS);
    xq = xqueue_on(stream, &hwq);

    CHECK_XS(XQueueSuspend(xq, kQueueSuspendFlagNone));
    for (uint32_t i = 0; i < COMMANDS; i++) {
        commands[i] = (struct command){stream, log, i};
        CHECK_XS(HwCommandCreateCallback(&handles[i], launch, &commands[i]));
        CHECK_XS(XQueueSubmit(xq, handles[i])); /* does not block */
    }
    sleep_ms(50);
    early = atomic_load(&launched);
    printf("%u commands handed in while suspended, %u launched\n", COMMANDS, early);

    CHECK_XS(XQueueResume(xq, kQueueResumeFlagNone));
    CHECK_XS(XQueueWait(xq, handles[0])); /* one of them; frees its handle */
    CHECK_XS(XQueueWaitAll(xq));
    for (uint32_t i = 1; i < COMMANDS; i++)
        CHECK_XS(HwCommandDestroy(handles[i]));
    right = cu_right(log, COMMANDS);
    printf("resumed: %u launched, results are %s\n", atomic_load(&launched),
           right ? "right, in order" : "WRONG");
    CHECK_CU(cuMemFree_v2(log));
    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    return early == 0 && launched == COMMANDS && right ? 0 : 1;
}
