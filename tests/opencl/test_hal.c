/* SPDX-License-Identifier: Apache-2.0 */
/* libhalopencl and the public calls on a real queue. Run plain, and preloaded with the shim: what
 * needs the shim is skipped without it. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "xsched/opencl/hal.h"
#include "xsched/xsched.h"

#define N 1024
#define OK(call) assert_int_equal((call), 0)

static cl_context g_context;
static cl_device_id g_device;
static cl_kernel g_kernel;
static cl_mem g_mem;
static clCreateCommandBufferKHR_fn g_create_buffer;
static clCommandNDRangeKernelKHR_fn g_command_kernel;
static clFinalizeCommandBufferKHR_fn g_finalize_buffer;
static clEnqueueCommandBufferKHR_fn g_enqueue_buffer;

static bool with_shim(void)
{
    return dlsym(RTLD_DEFAULT, "clInitLayer") != NULL;
}

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_int err;
    cl_command_queue q = clCreateCommandQueueWithProperties(g_context, g_device, list, &err);

    OK(err);
    return q;
}

static cl_int launch(cl_command_queue q, cl_uint waits, const cl_event *list, cl_event *event)
{
    const size_t global = N;

    return clEnqueueNDRangeKernel(q, g_kernel, 1, NULL, &global, NULL, waits, list, event);
}

static int32_t first_word(cl_command_queue q)
{
    int32_t v;

    OK(clEnqueueReadBuffer(q, g_mem, CL_TRUE, 0, sizeof(v), &v, 0, NULL, NULL));
    return v;
}

static int set_up(void **state)
{
    const char *source = "kernel void add(global int *d) { d[get_global_id(0)] += 1; }";
    cl_platform_id platform;
    cl_program program;
    cl_int err;

    (void)state;
    OK(clGetPlatformIDs(1, &platform, NULL));
    OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &g_device, NULL));
    g_context = clCreateContext(NULL, 1, &g_device, NULL, NULL, &err);
    OK(err);
    program = clCreateProgramWithSource(g_context, 1, &source, NULL, &err);
    OK(err);
    OK(clBuildProgram(program, 1, &g_device, NULL, NULL, NULL));
    g_kernel = clCreateKernel(program, "add", &err);
    OK(err);
    g_mem = clCreateBuffer(g_context, CL_MEM_READ_WRITE, N * 4, NULL, &err);
    OK(err);
    OK(clSetKernelArg(g_kernel, 0, sizeof(g_mem), &g_mem));
#define GET(to, name) to = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
    GET(g_create_buffer, clCreateCommandBufferKHR);
    GET(g_command_kernel, clCommandNDRangeKernelKHR);
    GET(g_finalize_buffer, clFinalizeCommandBufferKHR);
    GET(g_enqueue_buffer, clEnqueueCommandBufferKHR);
    return 0;
}

static void arguments(void **state)
{
    static char zeros[256] __attribute__((aligned(64)));
    void *points_nowhere[2] = {(void *)(uintptr_t)0x123450, NULL};
    cl_command_queue q = new_queue(0);
    HwQueueHandle a = 0, b = 0;

    (void)state;
    assert_int_equal(OclQueueCreate(NULL, q), kXSchedErrorInvalidValue);
    assert_int_equal(OclQueueCreate(&a, NULL), kXSchedErrorInvalidValue);
    assert_int_equal(OclQueueCreate(&a, (cl_command_queue)(uintptr_t)0x10), kXSchedErrorInvalidValue);
    assert_int_equal(OclQueueCreate(&a, (cl_command_queue)(uintptr_t)0x7777), kXSchedErrorInvalidValue);
    assert_int_equal(OclQueueCreate(&a, (cl_command_queue)(void *)zeros), kXSchedErrorInvalidValue);
    assert_int_equal(OclQueueCreate(&a, (cl_command_queue)(void *)points_nowhere), kXSchedErrorInvalidValue);
    assert_true(a == 0);
    OK(OclQueueCreate(&a, q));
    assert_true(a != 0);
    OK(OclQueueCreate(&b, q));
    assert_true(a == b);
    OK(HwQueueSynchronize(a));
    OK(HwQueueDestroy(a));
    assert_int_equal(HwQueueSynchronize(a), kXSchedErrorNotFound);
    OK(OclQueueCreate(&b, q)); /* and once more */
    OK(HwQueueDestroy(b));
    OK(clReleaseCommandQueue(q));
}

static XResult launch_command(HwQueueHandle hwq, void *data)
{
    (void)hwq;
    return launch(data, 0, NULL, NULL) == CL_SUCCESS ? kXSchedSuccess : kXSchedErrorHardware;
}

static void commands(void **state)
{
    cl_command_queue q = new_queue(0);
    HwCommandHandle c[50];
    XQueueState s = kQueueStateUnknown;
    HwQueueHandle hwq;
    int32_t before = first_word(q);
    XQueueHandle xq;
    int64_t count;

    (void)state;
    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    for (int i = 0; i < 50; i++) {
        OK(HwCommandCreateCallback(&c[i], launch_command, q));
        OK(XQueueSubmit(xq, c[i]));
    }
    OK(XQueueWait(xq, c[49]));
    OK(XQueueWaitAll(xq));
    OK(XQueueQuery(xq, &s));
    assert_int_equal(s, kQueueStateIdle);
    OK(XQueueProfileHwCommandCount(xq, &count));
    assert_int_equal(count, 50); /* the shim must not count their vendor calls again */
    assert_int_equal(first_word(q) - before, 50);
    OK(XQueueDestroy(xq));
    OK(HwQueueDestroy(hwq));
    OK(clReleaseCommandQueue(q));
}

/* No shim needed: held commands stay with XQueueSubmit. */
static void suspend_submitted(void **state)
{
    cl_command_queue q = new_queue(0);
    int32_t before = first_word(q);
    HwCommandHandle c;
    HwQueueHandle hwq;
    XQueueHandle xq;

    (void)state;
    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue));
    OK(HwCommandCreateCallback(&c, launch_command, q));
    OK(XQueueSubmit(xq, c));
    usleep(50000);
    {
        cl_command_queue other = new_queue(0);

        assert_int_equal(first_word(other), before);
        OK(clReleaseCommandQueue(other));
    }
    OK(XQueueResume(xq, kQueueResumeFlagNone));
    OK(XQueueWaitAll(xq));
    assert_int_equal(first_word(q), before + 1);
    OK(XQueueDestroy(xq));
    OK(HwQueueDestroy(hwq));
    OK(clReleaseCommandQueue(q));
}

struct attempt {
    cl_command_queue queue;
    _Atomic int done;
};

static void *attempt_thread(void *data)
{
    struct attempt *a = data;

    if (launch(a->queue, 0, NULL, NULL) == CL_SUCCESS && clFlush(a->queue) == CL_SUCCESS)
        atomic_store(&a->done, 1);
    return NULL;
}

static void suspend_calls(void **state)
{
    struct attempt a = {new_queue(0), 0};
    HwQueueHandle hwq;
    XQueueHandle xq;
    pthread_t t;

    (void)state;
    if (!with_shim())
        skip();
    OK(OclQueueCreate(&hwq, a.queue));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(XQueueSuspend(xq, kQueueSuspendFlagNone));
    assert_int_equal(pthread_create(&t, NULL, attempt_thread, &a), 0);
    usleep(100000);
    assert_int_equal(atomic_load(&a.done), 0);
    OK(XQueueResume(xq, kQueueResumeFlagNone));
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(a.done, 1);
    OK(clReleaseCommandQueue(a.queue)); /* with an XQueue on it */
    assert_int_equal(XQueueGet(&xq, hwq), kXSchedErrorNotFound);
}

struct from_callback {
    cl_command_queue queue;
    _Atomic int state; /* 1 entered, 2 left */
};

static void CL_CALLBACK enqueue_in_callback(cl_event event, cl_int status, void *data)
{
    struct from_callback *c = data;

    (void)event;
    (void)status;
    atomic_store(&c->state, 1);
    launch(c->queue, 0, NULL, NULL);
    atomic_store(&c->state, 2);
}

static void callbacks_never_sleep(void **state)
{
    struct from_callback c = {new_queue(0), 0};
    cl_command_queue q = new_queue(0);
    HwQueueHandle hwq;
    XQueueHandle xq;
    cl_event e;

    (void)state;
    if (!with_shim())
        skip();
    OK(OclQueueCreate(&hwq, c.queue));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(XQueueSuspend(xq, kQueueSuspendFlagNone));
    OK(launch(q, 0, NULL, &e));
    OK(clSetEventCallback(e, CL_COMPLETE, enqueue_in_callback, &c));
    OK(clFlush(q));
    for (int i = 0; i < 20000 && atomic_load(&c.state) != 2; i++)
        usleep(1000);
    assert_int_equal(c.state, 2);
    OK(XQueueResume(xq, kQueueResumeFlagNone));
    OK(clFinish(c.queue));
    OK(clReleaseEvent(e));
    OK(clReleaseCommandQueue(c.queue));
    OK(clReleaseCommandQueue(q));
}

/* completed >= m means that the first m are done: a later command that overtook an earlier one
 * must not make the queue look idle. */
static void numbers(cl_command_queue_properties properties)
{
    cl_command_queue q = new_queue(properties);
    XQueueState s = kQueueStateUnknown;
    cl_event user, second;
    HwQueueHandle hwq;
    XQueueHandle xq;
    int64_t count, until;
    cl_int err;

    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(XQueueSetLaunchConfig(xq, 100, 1)); /* a mark a command */
    OK(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst));
    user = clCreateUserEvent(g_context, &err);
    OK(err);
    OK(launch(q, 1, &user, NULL));
    OK(launch(q, 0, NULL, &second));
    OK(clFlush(q));
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        OK(clWaitForEvents(1, &second));
    usleep(50000);
    OK(XQueueProfileHwCommandCount(xq, &count));
    assert_int_equal(count, 2);
    OK(XQueueQuery(xq, &s));
    assert_int_equal(s, kQueueStateReady);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    until = now_ms() + 5000;
    do {
        usleep(1000);
        OK(XQueueQuery(xq, &s));
    } while (s != kQueueStateIdle && now_ms() < until);
    assert_int_equal(s, kQueueStateIdle); /* by the marks alone: nobody has waited for the queue */
    OK(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown));
    OK(clReleaseEvent(user));
    OK(clReleaseEvent(second));
    OK(clReleaseCommandQueue(q));
}

static void numbers_in_order(void **state)
{
    (void)state;
    if (!with_shim())
        skip();
    numbers(0);
}

static void numbers_out_of_order(void **state)
{
    (void)state;
    if (!with_shim())
        skip();
    numbers(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static void waits_prove(void **state)
{
    cl_command_queue q = new_queue(0);
    XQueueState s = kQueueStateUnknown;
    HwQueueHandle hwq;
    XQueueHandle xq;

    (void)state;
    if (!with_shim())
        skip();
    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    for (int i = 0; i < 20; i++) {
        OK(launch(q, 0, NULL, NULL));
        if (i % 2)
            OK(clFinish(q));
        else
            first_word(q); /* a blocking read proves itself and all before it */
        OK(XQueueQuery(xq, &s));
        assert_int_equal(s, kQueueStateIdle);
    }
    OK(clReleaseCommandQueue(q));
}

static void release_pending(void **state)
{
    cl_command_queue q = new_queue(0), other = new_queue(0);
    int32_t before = first_word(other);
    HwQueueHandle hwq;
    XQueueHandle xq;
    XQueueState s;
    cl_event user, e;
    cl_int err;

    (void)state;
    if (!with_shim())
        skip();
    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(clRetainCommandQueue(q));
    OK(clReleaseCommandQueue(q)); /* not the last one */
    OK(XQueueQuery(xq, &s));
    user = clCreateUserEvent(g_context, &err);
    OK(err);
    OK(launch(q, 1, &user, &e));
    OK(clReleaseCommandQueue(q));
    assert_int_equal(XQueueQuery(xq, &s), kXSchedErrorNotFound);
    assert_int_equal(HwQueueSynchronize(hwq), kXSchedErrorNotFound);
    OK(clSetUserEventStatus(user, CL_COMPLETE));
    OK(clWaitForEvents(1, &e));
    assert_int_equal(first_word(other) - before, 1);
    OK(clReleaseEvent(e));
    OK(clReleaseEvent(user));
    OK(clReleaseCommandQueue(other));
}

/* A pointer that the program asked for while nothing was scheduled must lead to us later. */
static void early_pointer(void **state)
{
    static const size_t global = N;
    cl_command_queue q = new_queue(0);
    cl_command_buffer_khr cb;
    HwQueueHandle hwq;
    XQueueHandle xq;
    int64_t count;
    cl_int err;

    (void)state;
    if (!with_shim() || !g_create_buffer)
        skip();
    cb = g_create_buffer(1, &q, NULL, &err);
    OK(err);
    OK(g_command_kernel(cb, NULL, NULL, g_kernel, 1, NULL, &global, NULL, 0, NULL, NULL, NULL));
    OK(g_finalize_buffer(cb));
    OK(OclQueueCreate(&hwq, q));
    OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
    OK(g_enqueue_buffer(0, NULL, cb, 0, NULL, NULL));
    OK(clFinish(q));
    OK(XQueueProfileHwCommandCount(xq, &count));
    assert_int_equal(count, 1);
    OK(clReleaseCommandQueue(q));
}

static void *churn(void *data)
{
    (void)data;
    for (int i = 0; i < 60; i++) {
        cl_command_queue q = new_queue(i % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        HwQueueHandle hwq;
        XQueueHandle xq;

        OK(OclQueueCreate(&hwq, q));
        OK(XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone));
        for (int k = 0; k < 20; k++)
            OK(launch(q, 0, NULL, NULL));
        if (i % 3)
            OK(clFinish(q));
        if (!with_shim()) {
            OK(XQueueDestroy(xq));
            OK(HwQueueDestroy(hwq));
        }
        OK(clReleaseCommandQueue(q));
    }
    return NULL;
}

static void churn_threads(void **state)
{
    pthread_t t[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(t[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_pointer),
        cmocka_unit_test(arguments),           cmocka_unit_test(commands),
        cmocka_unit_test(suspend_submitted),   cmocka_unit_test(suspend_calls),
        cmocka_unit_test(callbacks_never_sleep), cmocka_unit_test(numbers_in_order),
        cmocka_unit_test(numbers_out_of_order), cmocka_unit_test(waits_prove),
        cmocka_unit_test(release_pending),     cmocka_unit_test(churn_threads),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
