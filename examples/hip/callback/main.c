/* SPDX-License-Identifier: Apache-2.0 */
/* Commands made by the program and handed to XQueueSubmit: each is a function that is called when
 * the command is launched, with the stream's context current. While the queue is suspended they
 * wait inside XSched, and the program goes on. Links with libpreempt and libhalhip; no shim is needed. */
#include "../common/hip.h"
#include "../common/xs.h"

#include <stdatomic.h>

#define COMMANDS 24u

struct command {
    hipStream_t stream;
    void *log;
    uint32_t number;
};

static atomic_uint launched;

static XResult launch(HwQueueHandle hwq, void *data)
{
    const struct command *c = data;

    (void)hwq;
    atomic_fetch_add(&launched, 1);
    return hip_launch(c->stream, 500, c->log, c->number) == 0 ? kXSchedSuccess : kXSchedErrorHardware;
}

int main(void)
{
    struct command commands[COMMANDS];
    HwCommandHandle handles[COMMANDS];
    HwQueueHandle hwq;
    XQueueHandle xq;
    hipStream_t stream;
    void *log;
    unsigned early;
    int right;

    hip_open();
    stream = hip_stream();
    log = hip_log(COMMANDS);
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
    right = hip_right(log, COMMANDS);
    printf("resumed: %u launched, results are %s\n", atomic_load(&launched),
           right ? "right, in order" : "WRONG");
    CHECK_HIP(hipFree(log));
    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    return early == 0 && launched == COMMANDS && right ? 0 : 1;
}
