/* SPDX-License-Identifier: Apache-2.0 */
/* Commands made by the program and handed to XQueueSubmit: each is a function that is called when
 * the command is launched. While the queue is suspended they wait inside XSched, and the program
 * goes on. Links with libpreempt and libhalopencl; no shim is needed. */
#include "../common/ocl.h"

#include <stdatomic.h>
#include <xsched/opencl/hal.h>
#include <xsched/xsched.h>

#define COUNT    64
#define ROUNDS   20000
#define COMMANDS 24

#define CHECK_XS(call)                                                                                       \
    do {                                                                                                     \
        XResult result_ = (call);                                                                            \
        if (result_ != kXSchedSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: result %d\n", __FILE__, __LINE__, #call, (int)result_);              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct command {
    cl_command_queue queue;
    cl_kernel kernel;
    int number;
};

static atomic_int launched;
static atomic_int out_of_order;

static XResult launch(HwQueueHandle hwq, void *data)
{
    const struct command *c = data;
    size_t count = COUNT;

    (void)hwq;
    if (atomic_fetch_add(&launched, 1) != c->number)
        atomic_fetch_add(&out_of_order, 1);
    return clEnqueueNDRangeKernel(c->queue, c->kernel, 1, NULL, &count, NULL, 0, NULL, NULL) == CL_SUCCESS
               ? kXSchedSuccess
               : kXSchedErrorHardware;
}

int main(void)
{
    struct ocl o = ocl_open();
    cl_command_queue queue = ocl_queue(&o);
    cl_mem buffer = ocl_numbers(&o, COUNT);
    cl_kernel kernel = ocl_kernel(&o, buffer, ROUNDS);
    struct command commands[COMMANDS];
    HwCommandHandle handles[COMMANDS];
    HwQueueHandle hwq;
    XQueueHandle xq;
    struct timespec pause = {0, 50000000};
    int early;

    CHECK_XS(OclQueueCreate(&hwq, queue));
    CHECK_XS(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));

    CHECK_XS(XQueueSuspend(xq, kQueueSuspendFlagNone));
    for (int i = 0; i < COMMANDS; i++) {
        commands[i] = (struct command){queue, kernel, i};
        CHECK_XS(HwCommandCreateCallback(&handles[i], launch, &commands[i]));
        CHECK_XS(XQueueSubmit(xq, handles[i])); /* does not block */
    }
    nanosleep(&pause, NULL);
    early = atomic_load(&launched);
    printf("%d commands handed in while suspended, %d launched\n", COMMANDS, early);

    CHECK_XS(XQueueResume(xq, kQueueResumeFlagNone));
    CHECK_XS(XQueueWait(xq, handles[0])); /* one of them; frees its handle */
    CHECK_XS(XQueueWaitAll(xq));
    for (int i = 1; i < COMMANDS; i++)
        CHECK_XS(HwCommandDestroy(handles[i]));
    printf("resumed: %d launched, %d out of order\n", atomic_load(&launched), atomic_load(&out_of_order));
    ocl_verify(queue, buffer, COUNT, ROUNDS, COMMANDS);
    puts("results are right");

    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseProgram(o.program);
    clReleaseContext(o.context);
    return early == 0 && launched == COMMANDS && out_of_order == 0 ? 0 : 1;
}
