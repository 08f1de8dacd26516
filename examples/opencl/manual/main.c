/* SPDX-License-Identifier: Apache-2.0 */
/* The application is its own scheduler: one thread launches kernels, another suspends and resumes
 * their queue. It runs under the shim, with XSCHED_SCHEDULER=APP (the default):
 *
 *   XSCHED_SCHEDULER=APP XSCHED_AUTO_XQUEUE=OFF xsched run --no-server -- ./manual
 */
#include "../common/ocl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <xsched/opencl/hal.h>
#include <xsched/xsched.h>

#define COUNT    1
#define ROUNDS   500000
#define LAUNCHES 300

#define CHECK_XS(call)                                                                                       \
    do {                                                                                                     \
        XResult result_ = (call);                                                                            \
        if (result_ != kXSchedSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: result %d\n", __FILE__, __LINE__, #call, (int)result_);              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static cl_command_queue queue;
static cl_kernel kernel;
static atomic_int finished; /* kernels that the launching thread saw complete */

static void *launch_all(void *arg)
{
    size_t count = COUNT;

    (void)arg;
    for (int i = 0; i < LAUNCHES; i++) {
        cl_event done;

        CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, &done));
        CHECK_CL(clWaitForEvents(1, &done));
        clReleaseEvent(done);
        atomic_fetch_add(&finished, 1);
    }
    return NULL;
}

static void sleep_ms(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&ts, NULL);
}

static void wait_for(int kernels)
{
    while (atomic_load(&finished) < kernels)
        sleep_ms(1);
}

int main(void)
{
    struct ocl o = ocl_open();
    cl_mem buffer = ocl_numbers(&o, COUNT);
    HwQueueHandle hwq;
    XQueueHandle xq;
    pthread_t thread;
    int status = 0;

    queue = ocl_queue(&o);
    kernel = ocl_kernel(&o, buffer, ROUNDS);
    CHECK_XS(OclQueueCreate(&hwq, queue));
    CHECK_XS(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    pthread_create(&thread, NULL, launch_all, NULL);

    for (int round = 1; round <= 3; round++) {
        int before, after;

        wait_for(round * LAUNCHES / 4);
        CHECK_XS(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue));
        sleep_ms(20); /* the launching thread may still have to notice its last kernel's end */
        before = atomic_load(&finished);
        sleep_ms(100);
        after = atomic_load(&finished);
        printf("suspended for 100 ms: %d kernels before, %d after\n", before, after);
        if (after != before) {
            fprintf(stderr, "kernels ran while the queue was suspended: is the shim loaded?\n");
            status = 1;
        }
        CHECK_XS(XQueueResume(xq, kQueueResumeFlagNone));
    }
    pthread_join(thread, NULL);
    ocl_verify(queue, buffer, COUNT, ROUNDS, LAUNCHES);
    printf("%d kernels, results are right\n", LAUNCHES);

    CHECK_XS(XQueueDestroy(xq));
    CHECK_XS(HwQueueDestroy(hwq));
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseProgram(o.program);
    clReleaseContext(o.context);
    return status;
}
