/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues of one program with different priorities, set by the program itself. It runs under
 * the shim, which hands every launch to the XQueue of its command queue:
 *
 *   XSCHED_AUTO_XQUEUE=OFF xsched run --intra --local-policy HPF -- ./hints
 */
#include "../common/ocl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <xsched/opencl/hal.h>
#include <xsched/xsched.h>

#define COUNT    1
#define ROUNDS   500000
#define REQUESTS 20

#define CHECK_XS(call)                                                                                       \
    do {                                                                                                     \
        XResult result_ = (call);                                                                            \
        if (result_ != kXSchedSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s: result %d\n", __FILE__, __LINE__, #call, (int)result_);              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static struct ocl device;
static atomic_bool stop;

/* An XQueue on a command queue, with a priority. */
static XQueueHandle xqueue_on(cl_command_queue queue, Priority priority)
{
    HwQueueHandle hwq;
    XQueueHandle xq;

    CHECK_XS(OclQueueCreate(&hwq, queue));
    CHECK_XS(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    CHECK_XS(XHintPriority(xq, priority));
    return xq;
}

/* Launches kernels without end. */
static void *background(void *arg)
{
    cl_command_queue queue = arg;
    cl_mem buffer = ocl_numbers(&device, COUNT);
    cl_kernel kernel = ocl_kernel(&device, buffer, ROUNDS);
    size_t count = COUNT;
    unsigned launches = 0;

    while (!stop) {
        CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
        if (++launches % 64 == 0)
            CHECK_CL(clFinish(queue));
    }
    CHECK_CL(clFinish(queue));
    ocl_verify(queue, buffer, COUNT, ROUNDS, launches);
    printf("background: %u kernels, results are right\n", launches);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One kernel now and then. @return median time of one in ms */
static double urgent(cl_command_queue queue, unsigned *launches, cl_kernel kernel)
{
    double took[REQUESTS];
    size_t count = COUNT;

    for (int i = 0; i < REQUESTS; i++) {
        struct timespec pause = {0, 20000000};
        double begin;

        nanosleep(&pause, NULL);
        begin = now_ms();
        CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
        CHECK_CL(clFinish(queue));
        took[i] = now_ms() - begin;
        ++*launches;
    }
    qsort(took, REQUESTS, sizeof(took[0]), by_value);
    return took[REQUESTS / 2];
}

int main(void)
{
    cl_command_queue low_queue, high_queue;
    XQueueHandle low, high;
    unsigned launches = 0;
    cl_kernel kernel;
    cl_mem buffer;
    pthread_t thread;
    int64_t counted = 0;
    double equal, important;

    device = ocl_open();
    low_queue = ocl_queue(&device);
    high_queue = ocl_queue(&device);
    low = xqueue_on(low_queue, 0);
    high = xqueue_on(high_queue, 0);
    buffer = ocl_numbers(&device, COUNT);
    kernel = ocl_kernel(&device, buffer, ROUNDS);

    pthread_create(&thread, NULL, background, low_queue);
    equal = urgent(high_queue, &launches, kernel);
    CHECK_XS(XHintPriority(high, 10)); /* at run time, from any thread */
    important = urgent(high_queue, &launches, kernel);
    stop = true;
    pthread_join(thread, NULL);
    printf("urgent kernel, median: %.2f ms with equal priorities, %.2f ms with the higher one\n", equal,
           important);

    ocl_verify(high_queue, buffer, COUNT, ROUNDS, launches);
    CHECK_XS(XQueueProfileHwCommandCount(high, &counted));
    printf("urgent: %u kernels, results are right; the XQueue counted %lld commands\n", launches,
           (long long)counted);
    if (counted < (int64_t)launches) {
        fprintf(stderr, "the launches did not go through the XQueue: is the shim loaded?\n");
        return 1;
    }
    CHECK_XS(XQueueDestroy(high));
    CHECK_XS(XQueueDestroy(low));
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(low_queue);
    clReleaseCommandQueue(high_queue);
    clReleaseProgram(device.program);
    clReleaseContext(device.context);
    return 0;
}
