/* SPDX-License-Identifier: Apache-2.0 */
/* A program under the shim whose queues are scheduled one by one by a policy in the process. One queue is
 * held for the sake of a busy one; a more important one is given a command that waits for an event of the
 * held one, and sees it let go until that event is complete. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../stream/check.h"
#include "xqueue/queue.h"
#include "xsched/opencl/hal.h"
#include "xsched/xsched.h"

static cl_context g_context;
static cl_device_id g_device;
static cl_program g_program;
static cl_mem g_mem;
static volatile bool g_stop;

static cl_command_queue queue(int priority)
{
    cl_int err;
    cl_command_queue q = clCreateCommandQueue(g_context, g_device, 0, &err);
    HwQueueHandle hwq;
    XQueueHandle xq;

    TRUE(err == CL_SUCCESS);
    TRUE(OclQueueCreate(&hwq, q) == kXSchedSuccess);
    TRUE(XQueueGet(&xq, hwq) == kXSchedSuccess); /* by XSCHED_AUTO_XQUEUE */
    TRUE(XHintPriority(xq, priority) == kXSchedSuccess);
    return q;
}

static void work(cl_command_queue q, cl_uint waits, const cl_event *list, cl_event *event)
{
    cl_kernel k = clCreateKernel(g_program, "spin", NULL);
    const size_t one = 1;
    const int n = 200000;

    TRUE(k && clSetKernelArg(k, 0, sizeof(g_mem), &g_mem) == 0 && clSetKernelArg(k, 1, sizeof(n), &n) == 0);
    TRUE(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, NULL, waits, list, event) == 0);
    TRUE(clReleaseKernel(k) == 0);
}

static void *busy(void *q)
{
    while (!g_stop) {
        work(q, 0, NULL, NULL);
        work(q, 0, NULL, NULL);
        TRUE(clFinish(q) == 0);
    }
    return NULL;
}

static bool closed(cl_command_queue native)
{
    struct xs_queue *q = xsched_priv_queue_find(kPlatformOpenCL, (uintptr_t)native);

    return q && atomic_load(&atomic_load(&q->sc)->permitted) < atomic_load(&q->cc->entered) + 1;
}

static int32_t lent(cl_command_queue native)
{
    struct xs_queue *q = xsched_priv_queue_find(kPlatformOpenCL, (uintptr_t)native);
    uint64_t word = q ? atomic_load(&q->cc->lent) : 0;

    return word ? XS_LENT_PRIORITY(word) : -1000;
}

/* @param how  which command waits */
static void scene(cl_command_queue low, cl_command_queue mid, cl_command_queue high, int how)
{
    pthread_t t;
    cl_event gate = clCreateUserEvent(g_context, NULL), end, after = NULL;
    int word = 0;

    work(low, 1, &gate, &end);                     /* in flight, until we say so */
    g_stop = false;
    TRUE(pthread_create(&t, NULL, busy, mid) == 0);
    UNTIL(closed(low));
    TRUE(lent(low) == -1000);
    switch (how) {
    case 0: work(high, 1, &end, &after); break;
    case 1: TRUE(clEnqueueMarkerWithWaitList(high, 1, &end, &after) == 0); break;
    case 2: TRUE(clEnqueueBarrierWithWaitList(high, 1, &end, &after) == 0); break;
    default: TRUE(clEnqueueReadBuffer(high, g_mem, CL_FALSE, 0, sizeof(word), &word, 1, &end, &after) == 0);
    }
    TRUE(lent(low) == 10);
    UNTIL(!closed(low));                           /* or what it waits for might never come */
    TRUE(clSetUserEventStatus(gate, CL_COMPLETE) == 0);
    TRUE(clWaitForEvents(1, &after) == 0);
    UNTIL(lent(low) == -1000);                     /* and nothing is to be taken back */
    g_stop = true;
    TRUE(pthread_join(t, NULL) == 0);
    TRUE(clReleaseEvent(gate) == 0 && clReleaseEvent(end) == 0 && clReleaseEvent(after) == 0);
    TRUE(clFinish(low) == 0 && clFinish(high) == 0);
    printf("way %d\n", how);
}

int main(void)
{
    const char *source = "kernel void spin(global int *d, int n) { int x = d[0]; for (int i = 0; i < n; i++) x = x * 3 + i;"
                         " d[0] = x; }";
    cl_command_queue low, high, mid;
    cl_platform_id platform;
    cl_int err;

    setvbuf(stdout, NULL, _IONBF, 0);
    TRUE(clGetPlatformIDs(1, &platform, NULL) == 0);
    TRUE(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &g_device, NULL) == 0);
    g_context = clCreateContext(NULL, 1, &g_device, NULL, NULL, &err);
    TRUE(err == CL_SUCCESS);
    g_program = clCreateProgramWithSource(g_context, 1, &source, NULL, &err);
    TRUE(err == CL_SUCCESS && clBuildProgram(g_program, 1, &g_device, "", NULL, NULL) == 0);
    g_mem = clCreateBuffer(g_context, CL_MEM_READ_WRITE, 4096, NULL, &err);
    TRUE(err == CL_SUCCESS);
    low = queue(0);
    mid = queue(5);
    high = queue(10);
    work(mid, 0, NULL, NULL);
    TRUE(clFinish(mid) == 0);
    for (int how = 0; how < 4; how++)
        scene(low, mid, high, how);
    printf("done\n");
    _Exit(0);
}
