/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: in and out of order, several of them, threads, sub-devices, markers, release. */
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void in_order(struct suite *s)
{
    cl_mem m = suite_buffer(s, 1, 3);

    for (int i = 0; i < 200; i++)
        suite_kernel(s->queue, i % 2 ? s->scale : s->add, m, i % 2 ? 3 : i, 0, NULL, NULL);
    printf("in order: %u\n", suite_sum(s, s->queue, m));
    for (int i = 0; i < 50; i++) {
        suite_kernel(s->queue, s->add, m, i, 0, NULL, NULL);
        if (i % 10 == 9)
            OK(clFinish(s->queue));
    }
    OK(clFlush(s->queue));
    printf("finish and flush: %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseMemObject(m));
}

static void several(struct suite *s)
{
    cl_command_queue q[2][2];
    cl_context contexts[2];
    cl_program programs[2];
    const char *source = "kernel void add(global int *d, int a, int n) { d[get_global_id(0)] += a; }";
    cl_int err;

    for (int c = 0; c < 2; c++) {
        contexts[c] = clCreateContext(NULL, 1, &s->device, NULL, NULL, &err);
        OK(err);
        programs[c] = clCreateProgramWithSource(contexts[c], 1, &source, NULL, &err);
        OK(err);
        OK(clBuildProgram(programs[c], 0, NULL, NULL, NULL, NULL));
        for (int i = 0; i < 2; i++) {
            struct suite own = *s;
            cl_kernel k = clCreateKernel(programs[c], "add", &err);
            cl_mem m;

            OK(err);
            own.context = contexts[c];
            q[c][i] = suite_queue(&own, NULL, NULL, i ? CL_QUEUE_PROFILING_ENABLE : 0);
            m = suite_buffer(&own, c + 1, i + 1);
            for (int r = 0; r < 60; r++)
                suite_kernel(q[c][i], k, m, r, 0, NULL, NULL);
            printf("context %d queue %d: %u\n", c, i, suite_sum(&own, q[c][i], m));
            OK(clReleaseMemObject(m));
            OK(clReleaseKernel(k));
        }
    }
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < 2; i++)
            OK(clReleaseCommandQueue(q[c][i]));
        OK(clReleaseProgram(programs[c]));
        OK(clReleaseContext(contexts[c]));
    }
}

static void out_of_order(struct suite *s)
{
    cl_command_queue q = suite_queue(s, NULL, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem m = suite_buffer(s, 2, 1);
    cl_event e[101];

    for (int i = 0; i < 100; i++) /* the wait lists alone keep the order */
        suite_kernel(q, i % 2 ? s->scale : s->add, m, i % 2 ? 3 : i, i ? 1 : 0, i ? &e[i - 1] : NULL, &e[i]);
    OK(clEnqueueMarkerWithWaitList(q, 0, NULL, &e[100]));
    OK(clWaitForEvents(1, &e[100]));
    for (int i = 0; i < 101; i++) {
        cl_int status;

        OK(clGetEventInfo(e[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
        TRUE(status == CL_COMPLETE);
        OK(clReleaseEvent(e[i]));
    }
    printf("out of order: %u\n", suite_sum(s, q, m));
    for (int i = 0; i < 20; i++) {
        suite_kernel(q, s->add, m, 1, 0, NULL, NULL);
        OK(clEnqueueBarrierWithWaitList(q, 0, NULL, NULL));
    }
    OK(clEnqueueBarrier(q));
    printf("barriers: %u\n", suite_sum(s, q, m));
    OK(clFinish(q));
    OK(clReleaseMemObject(m));
    OK(clReleaseCommandQueue(q));
}

static void across(struct suite *s)
{
    cl_command_queue q[3];
    cl_mem m = suite_buffer(s, 5, 2);
    cl_event last = NULL, next;

    for (int i = 0; i < 3; i++)
        q[i] = suite_queue(s, NULL, NULL, i == 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    for (int i = 0; i < 90; i++) {
        suite_kernel(q[i % 3], i % 2 ? s->scale : s->add, m, i % 2 ? 5 : i, last ? 1 : 0, last ? &last : NULL,
                     &next);
        OK(clFlush(q[i % 3]));
        if (last)
            OK(clReleaseEvent(last));
        last = next;
    }
    OK(clWaitForEvents(1, &last));
    OK(clReleaseEvent(last));
    printf("wait lists across queues: %u\n", suite_sum(s, q[0], m));
    suite_kernel(q[0], s->add, m, 9, 0, NULL, NULL);
    OK(clEnqueueMarker(q[0], &last));
    OK(clWaitForEvents(1, &last));
    OK(clReleaseEvent(last));
    printf("old marker: %u\n", suite_sum(s, q[1], m));
    for (int i = 0; i < 3; i++)
        OK(clReleaseCommandQueue(q[i]));
    OK(clReleaseMemObject(m));
}

struct job {
    struct suite *suite;
    cl_command_queue queue;
    cl_mem buffer;
    int number;
};

static void *work(void *data)
{
    struct job *j = data;
    cl_kernel k = suite_clone(j->suite, "add");

    for (int i = 0; i < 100; i++) {
        suite_kernel(j->queue, k, j->buffer, j->number, 0, NULL, NULL);
        if (i % 25 == 24)
            OK(clFinish(j->queue));
    }
    OK(clReleaseKernel(k));
    return NULL;
}

static void threads(struct suite *s, bool shared)
{
    cl_mem one = suite_buffer(s, 0, 1);
    pthread_t t[4];
    struct job j[4];

    for (int i = 0; i < 4; i++) {
        j[i] = (struct job){s, shared ? s->queue : suite_queue(s, NULL, NULL, 0), NULL, i + 1};
        j[i].buffer = shared ? one : suite_buffer(s, i, 1);
        TRUE(pthread_create(&t[i], NULL, work, &j[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        TRUE(pthread_join(t[i], NULL) == 0);
    for (int i = 0; i < 4 && !shared; i++) {
        printf("thread %d: %u\n", i, suite_sum(s, j[i].queue, j[i].buffer));
        OK(clReleaseMemObject(j[i].buffer));
        OK(clReleaseCommandQueue(j[i].queue));
    }
    if (shared)
        printf("threads on one queue: %u\n", suite_sum(s, s->queue, one));
    OK(clReleaseMemObject(one));
}

static cl_uint references(cl_command_queue q)
{
    cl_uint count;

    OK(clGetCommandQueueInfo(q, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, NULL));
    return count;
}

/* The driver's thread may hold a reference for a moment after the last command. */
static void only_ours(cl_command_queue q)
{
    for (int i = 0; i < 2000 && references(q) > 1; i++)
        usleep(1000);
}

static void sub_devices(struct suite *s)
{
    cl_device_partition_property by[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                         CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id sub = NULL;
    cl_context context;
    struct suite own = *s;
    cl_uint count = 0;
    cl_int err = clCreateSubDevices(s->device, by, 1, &sub, &count);

    if (err != CL_SUCCESS) {
        printf("sub-devices: error %d\n", err);
        return;
    }
    context = clCreateContext(NULL, 1, &sub, NULL, NULL, &err);
    OK(err);
    own.context = context;
    own.device = sub;
    own.queue = suite_queue(&own, NULL, NULL, 0);
    {
        const char *source = "kernel void add(global int *d, int a, int n) { d[get_global_id(0)] += a; }";
        cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &err);
        cl_mem m = suite_buffer(&own, 4, 4);
        cl_kernel k;

        OK(clBuildProgram(p, 1, &sub, NULL, NULL, NULL));
        k = clCreateKernel(p, "add", &err);
        OK(err);
        for (int i = 0; i < 30; i++)
            suite_kernel(own.queue, k, m, 2, 0, NULL, NULL);
        printf("sub-device: %u\n", suite_sum(&own, own.queue, m));
        OK(clReleaseKernel(k));
        OK(clReleaseProgram(p));
        OK(clReleaseMemObject(m));
    }
    /* PoCL 3.1 frees a sub-device while its own thread still holds a queue there, and then looks
     * into it; MALLOC_PERTURB_=165 shows that in a program by itself, too. */
    only_ours(own.queue);
    OK(clReleaseCommandQueue(own.queue));
    OK(clReleaseContext(context));
    OK(clReleaseDevice(sub));
}

static void lifetime(struct suite *s)
{
    cl_command_queue q = suite_queue(s, NULL, NULL, 0);
    cl_mem m = suite_buffer(s, 1, 1);
    cl_event e;

    printf("references: %u", references(q));
    OK(clRetainCommandQueue(q));
    printf(" %u", references(q));
    suite_kernel(q, s->add, m, 1, 0, NULL, NULL);
    OK(clReleaseCommandQueue(q));
    OK(clFinish(q));
    only_ours(q);
    printf(" %u\n", references(q));
    suite_kernel(q, s->spin, m, 4000, 0, NULL, NULL);
    suite_kernel(q, s->add, m, 5, 0, NULL, &e);
    OK(clReleaseCommandQueue(q)); /* with work pending: it is finished all the same */
    OK(clWaitForEvents(1, &e));
    OK(clReleaseEvent(e));
    printf("released with work pending: %u\n", suite_sum(s, s->queue, m));
    for (int i = 0; i < 50; i++) { /* handles come again */
        q = i % 2 ? suite_queue(s, NULL, NULL, 0)
                  : clCreateCommandQueue(s->context, s->device, CL_QUEUE_PROFILING_ENABLE, NULL);
        TRUE(q != NULL);
        suite_kernel(q, s->add, m, 1, 0, NULL, NULL);
        if (i % 3)
            OK(clFinish(q));
        else
            OK(clFlush(q));
        OK(clReleaseCommandQueue(q));
    }
    OK(clFinish(s->queue));
    OK(clReleaseMemObject(m));
    printf("queues made and released\n");
}

void suite_queues(struct suite *s)
{
    in_order(s);
    several(s);
    out_of_order(s);
    across(s);
    threads(s, true);
    threads(s, false);
    sub_devices(s);
    lifetime(s);
}
