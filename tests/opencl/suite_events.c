/* SPDX-License-Identifier: Apache-2.0 */
/* Events: user events, callbacks, profiling, failed commands. */
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static void user_event(struct suite *s)
{
    cl_mem m = suite_buffer(s, 1, 2);
    cl_event user, e;
    cl_int err, status;

    user = clCreateUserEvent(s->context, &err);
    OK(err);
    suite_kernel(s->queue, s->add, m, 3, 1, &user, &e);
    OK(clFlush(s->queue));
    usleep(20000);
    OK(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("behind a user event: %d", status != CL_COMPLETE);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(1, &e));
    printf(" %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseEvent(user));
    OK(clReleaseEvent(e));
    OK(clReleaseMemObject(m));
}

/* Work in flight that completes only after this very thread goes on: a bound on what is in flight
 * must let it. */
static void many_behind_user_event(struct suite *s)
{
    cl_command_queue q[2] = {suite_queue(s, NULL, NULL, 0),
                             suite_queue(s, NULL, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)};
    cl_mem m[2] = {suite_buffer(s, 1, 2), suite_buffer(s, 3, 4)};
    cl_event user;
    cl_int err;

    for (int w = 0; w < 2; w++) /* so that the estimates are known */
        for (int i = 0; i < 10; i++)
            suite_kernel(q[w], w ? s->fix : s->spin, m[w], 400, 0, NULL, NULL);
    OK(clFinish(q[0]));
    OK(clFinish(q[1]));
    user = clCreateUserEvent(s->context, &err);
    OK(err);
    for (int w = 0; w < 2; w++)
        for (int i = 0; i < 200; i++)
            suite_kernel(q[w], w ? s->fix : s->spin, m[w], 400, i == 0 || w ? 1 : 0,
                         i == 0 || w ? &user : NULL, NULL);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clFinish(q[0]));
    OK(clFinish(q[1]));
    printf("200 behind a user event: %u %u\n", suite_sum(s, q[0], m[0]), suite_sum(s, q[1], m[1]));
    OK(clReleaseEvent(user));
    for (int w = 0; w < 2; w++) {
        OK(clReleaseMemObject(m[w]));
        OK(clReleaseCommandQueue(q[w]));
    }
}

static _Atomic int g_go;

static void CL_CALLBACK wait_native(void *args)
{
    (void)args;
    while (!atomic_load(&g_go))
        usleep(100);
}

static void CL_CALLBACK wait_callback(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)status;
    (void)data;
    while (!atomic_load(&g_go))
        usleep(100);
}

/* The same with a function on the host, a callback and a kernel that polls the host's memory in
 * the place of the user event. */
static void many_behind_the_host(struct suite *s)
{
    static int32_t flag[64] __attribute__((aligned(4096)));
    const char *source = "kernel void poll(global volatile int *flag) { while (*flag == 0) ; }";
    const int32_t word = 0;
    const size_t one = 1;
    cl_device_exec_capabilities can = 0;
    cl_mem m = suite_buffer(s, 1, 2), shared;
    cl_program p;
    cl_kernel k;
    cl_event e;
    cl_int err;

    OK(clGetDeviceInfo(s->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, NULL));
    shared = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof(flag), flag, &err);
    OK(err);
    p = clCreateProgramWithSource(s->context, 1, &source, NULL, &err);
    OK(err);
    OK(clBuildProgram(p, 0, NULL, NULL, NULL, NULL));
    k = clCreateKernel(p, "poll", &err);
    OK(err);
    OK(clSetKernelArg(k, 0, sizeof(shared), &shared));
    for (int how = 0; how < 3; how++) {
        cl_command_queue q = suite_queue(s, NULL, NULL, 0);

        atomic_store(&g_go, 0);
        if (how == 0 && (can & CL_EXEC_NATIVE_KERNEL)) {
            OK(clEnqueueNativeKernel(q, wait_native, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
        } else if (how == 1) {
            cl_event gate = clCreateUserEvent(s->context, &err); /* else it may run in this thread */

            OK(err);
            suite_kernel(q, s->spin, m, 400, 1, &gate, &e);
            OK(clSetEventCallback(e, CL_COMPLETE, wait_callback, NULL));
            OK(clSetUserEventStatus(gate, CL_COMPLETE));
            OK(clReleaseEvent(gate));
            OK(clReleaseEvent(e));
        } else if (how == 2) {
            OK(clEnqueueWriteBuffer(q, shared, CL_TRUE, 0, sizeof(word), &word, 0, NULL, NULL));
            OK(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, NULL, 0, NULL, NULL));
        }
        for (int i = 0; i < 150; i++)
            suite_kernel(q, s->spin, m, 400, 0, NULL, NULL);
        OK(clFlush(q));
        atomic_store(&g_go, 1);
        __atomic_store_n(&flag[0], 1, __ATOMIC_SEQ_CST);
        printf("150 behind the host, %d: %u\n", how, suite_sum(s, q, m));
        OK(clReleaseCommandQueue(q));
    }
    OK(clReleaseKernel(k));
    OK(clReleaseProgram(p));
    OK(clReleaseMemObject(shared));
    OK(clReleaseMemObject(m));
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int seen[4];                  /* by status 0..3 */
    int calls;
} g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

static void CL_CALLBACK on_status(cl_event event, cl_int status, void *data)
{
    (void)event;
    (void)data;
    pthread_mutex_lock(&g.lock);
    if (status >= 0 && status < 4)
        g.seen[status]++;
    g.calls++;
    pthread_cond_broadcast(&g.cond);
    pthread_mutex_unlock(&g.lock);
}

static void wait_calls(int calls)
{
    pthread_mutex_lock(&g.lock);
    while (g.calls < calls)
        pthread_cond_wait(&g.cond, &g.lock);
    pthread_mutex_unlock(&g.lock);
}

struct again {
    struct suite *suite;
    cl_command_queue queue;
    cl_mem buffer;
    cl_kernel kernel;
};

static void CL_CALLBACK on_done_enqueue(cl_event event, cl_int status, void *data)
{
    struct again *a = data;
    const size_t global = N;

    if (status == CL_COMPLETE)
        OK(clEnqueueNDRangeKernel(a->queue, a->kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clFlush(a->queue));
    on_status(event, status, NULL);
}

static void callbacks(struct suite *s)
{
    cl_mem m = suite_buffer(s, 6, 6);
    struct again a = {s, suite_queue(s, NULL, NULL, 0), m, suite_clone(s, "add")};
    const int arg = 100, n = N;
    cl_event user, e;
    cl_int err;

    user = clCreateUserEvent(s->context, &err);
    OK(err);
    suite_kernel(s->queue, s->add, m, 1, 1, &user, &e);
    for (cl_int status = CL_COMPLETE; status <= CL_SUBMITTED; status++)
        OK(clSetEventCallback(e, status, on_status, NULL));
    OK(clFlush(s->queue));
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    wait_calls(3);
    printf("callbacks: %d\n", g.calls);
    OK(clReleaseEvent(user));
    OK(clReleaseEvent(e));

    OK(clSetKernelArg(a.kernel, 0, sizeof(m), &m));
    OK(clSetKernelArg(a.kernel, 1, sizeof(arg), &arg));
    OK(clSetKernelArg(a.kernel, 2, sizeof(n), &n));
    for (int i = 0; i < 20; i++) {
        suite_kernel(s->queue, s->add, m, 1, 0, NULL, &e);
        OK(clSetEventCallback(e, CL_COMPLETE, on_done_enqueue, &a));
        OK(clFlush(s->queue));
        wait_calls(4 + i);
        OK(clFinish(a.queue));
        OK(clReleaseEvent(e));
    }
    printf("enqueued in callbacks: %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseKernel(a.kernel));
    OK(clReleaseCommandQueue(a.queue));
    OK(clReleaseMemObject(m));
}

static void profiling(struct suite *s)
{
    static const cl_profiling_info names[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_command_queue q = suite_queue(s, NULL, NULL, CL_QUEUE_PROFILING_ENABLE);
    cl_mem m = suite_buffer(s, 1, 1);
    int sorted = 0, overlaps = 0;
    cl_ulong end_before = 0;
    cl_event e[40];

    for (int i = 0; i < 40; i++)
        suite_kernel(q, s->spin, m, 500, 0, NULL, &e[i]);
    OK(clFinish(q));
    for (int i = 0; i < 40; i++) {
        cl_ulong t[4];

        for (int k = 0; k < 4; k++)
            OK(clGetEventProfilingInfo(e[i], names[k], sizeof(t[k]), &t[k], NULL));
        sorted += t[0] <= t[1] && t[1] <= t[2] && t[2] < t[3];
        overlaps += t[2] < end_before;
        end_before = t[3];
        OK(clReleaseEvent(e[i]));
    }
    printf("profiled: %d of 40 in order, %d overlap\n", sorted, overlaps);
    OK(clReleaseMemObject(m));
    OK(clReleaseCommandQueue(q));
}

static void refused(struct suite *s)
{
    const size_t global = N, none = 0;
    cl_mem m = suite_buffer(s, 1, 1);
    cl_event untouched = (cl_event)(uintptr_t)0x5A5A, e = untouched;
    int32_t word;

    printf("refused:");
    printf(" %d", clEnqueueNDRangeKernel(NULL, s->add, 1, NULL, &global, NULL, 0, NULL, &e));
    printf(" %d", clEnqueueNDRangeKernel(s->queue, s->add, 4, NULL, &global, NULL, 0, NULL, &e));
    printf(" %d", clEnqueueReadBuffer(s->queue, m, CL_TRUE, 1 << 30, 4, &word, 0, NULL, &e));
    printf(" %d", clEnqueueReadBuffer(s->queue, m, CL_FALSE, 0, 4, NULL, 0, NULL, &e));
    printf(" %d", clEnqueueCopyBuffer(s->queue, m, NULL, 0, 0, 4, 0, NULL, NULL));
    printf(" %d", clFinish(NULL));
    printf(" %d", clFlush(NULL));
    printf(" %d", clWaitForEvents(0, NULL));
    printf(" %d", clWaitForEvents(1, &(cl_event){NULL}));
    printf(" %d", clReleaseCommandQueue(NULL));
    printf(" %d", clRetainCommandQueue(NULL));
    printf(" %d", clSetEventCallback(NULL, CL_COMPLETE, on_status, NULL));
    printf(", event %s\n", e == untouched ? "untouched" : "written");
    (void)none;
    for (int i = 0; i < 100; i++) /* refused commands leave no trace */
        TRUE(clEnqueueNDRangeKernel(s->queue, s->add, 4, NULL, &global, NULL, 0, NULL, NULL) != CL_SUCCESS);
    suite_kernel(s->queue, s->add, m, 1, 0, NULL, NULL);
    printf("after that: %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseMemObject(m));
}

static void failed(struct suite *s)
{
    cl_command_queue q = suite_queue(s, NULL, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem m = suite_buffer(s, 8, 1);
    cl_event user, e;
    cl_int err, status;

    user = clCreateUserEvent(s->context, &err);
    OK(err);
    suite_kernel(q, s->add, m, 1, 1, &user, &e);
    OK(clSetUserEventStatus(user, -77));
    err = clWaitForEvents(1, &e);
    OK(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
    printf("behind a failed event: %d %d\n", err != CL_SUCCESS, status < 0);
    OK(clReleaseEvent(user));
    OK(clReleaseEvent(e));
    OK(clReleaseCommandQueue(q));
    OK(clReleaseMemObject(m));
}

static void counts(struct suite *s)
{
    cl_mem m = suite_buffer(s, 1, 1);
    cl_uint references;
    cl_event e;

    suite_kernel(s->queue, s->add, m, 1, 0, NULL, &e);
    OK(clFinish(s->queue));
    references = 0;
    for (int i = 0; i < 100 && references != 1; i++) { /* the driver's thread may hold one for a moment */
        OK(clGetEventInfo(e, CL_EVENT_REFERENCE_COUNT, sizeof(references), &references, NULL));
        usleep(1000);
    }
    printf("references of an event: %u\n", references);
    OK(clReleaseEvent(e));
    OK(clReleaseMemObject(m));
}

void suite_events(struct suite *s)
{
    user_event(s);
    many_behind_user_event(s);
    many_behind_the_host(s);
    callbacks(s);
    profiling(s);
    refused(s);
    failed(s);
    counts(s);
}
