/* SPDX-License-Identifier: Apache-2.0 */
/* Native kernels, extension pointers, command buffers, build and destructor callbacks. */
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct native_args {
    int32_t *data;
    int32_t add;
    char tail[];
};

static void CL_CALLBACK native(void *opaque)
{
    struct native_args *a = opaque;

    for (int i = 0; i < N; i++)
        a->data[i] += a->add;
}

static void native_kernel(struct suite *s)
{
    static char big[3000];
    struct native_args small = {NULL, 5};
    cl_mem m = suite_buffer(s, 1, 1);
    const void *loc;
    cl_int err;

    loc = &small.data;
    err = clEnqueueNativeKernel(s->queue, native, &small, sizeof(small), 1, &m, &loc, 0, NULL, NULL);
    printf("native kernel: %d", err);
    if (err == CL_SUCCESS) {
        struct native_args *far = (struct native_args *)(void *)big;

        far->add = 6;
        loc = &far->data;
        OK(clEnqueueNativeKernel(s->queue, native, big, sizeof(big), 1, &m, &loc, 0, NULL, NULL));
        memset(big, 0xFF, sizeof(big)); /* the vendor has its copy */
        printf(" %u", suite_sum(s, s->queue, m));
        printf(" %d", clEnqueueNativeKernel(s->queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
        printf(" %d", clEnqueueNativeKernel(s->queue, native, NULL, 8, 0, NULL, NULL, 0, NULL, NULL));
        printf(" %d", clEnqueueNativeKernel(s->queue, native, &small, sizeof(small), 1, &m, NULL, 0, NULL,
                                            NULL));
    }
    printf("\n");
    OK(clReleaseMemObject(m));
}

static void command_buffer(struct suite *s)
{
#define GET(name) name##_fn name = (name##_fn)clGetExtensionFunctionAddressForPlatform(s->platform, #name)
    GET(clCreateCommandBufferKHR);
    GET(clFinalizeCommandBufferKHR);
    GET(clRetainCommandBufferKHR);
    GET(clReleaseCommandBufferKHR);
    GET(clEnqueueCommandBufferKHR);
    GET(clCommandNDRangeKernelKHR);
    const size_t global = N;
    const int arg = 3, n = N;
    cl_command_buffer_khr cb;
    cl_kernel k;
    cl_mem m;
    cl_event e;
    cl_int err;

    if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR) {
        printf("command buffers: none\n");
        return;
    }
    m = suite_buffer(s, 2, 2);
    k = suite_clone(s, "add");
    cb = clCreateCommandBufferKHR(1, &s->queue, NULL, &err);
    OK(err);
    OK(clSetKernelArg(k, 0, sizeof(m), &m));
    OK(clSetKernelArg(k, 1, sizeof(arg), &arg));
    OK(clSetKernelArg(k, 2, sizeof(n), &n));
    for (int i = 0; i < 5; i++)
        OK(clCommandNDRangeKernelKHR(cb, NULL, NULL, k, 1, NULL, &global, NULL, 0, NULL, NULL, NULL));
    OK(clFinalizeCommandBufferKHR(cb));
    OK(clRetainCommandBufferKHR(cb));
    OK(clReleaseCommandBufferKHR(cb));
    for (int i = 0; i < 4; i++) {
        OK(clEnqueueCommandBufferKHR(0, NULL, cb, 0, NULL, i % 2 ? &e : NULL));
        OK(clFinish(s->queue));
        if (i % 2)
            OK(clReleaseEvent(e));
    }
    printf("command buffers: %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseCommandBufferKHR(cb));
    OK(clReleaseKernel(k));
    OK(clReleaseMemObject(m));
}

static void pointers(struct suite *s)
{
    static const char *const names[] = {"clNoSuchFunctionXYZ", "clEnqueueMemcpyINTEL",
                                        "clIcdGetPlatformIDsKHR", "clEnqueueAcquireGLObjects"};

    printf("extension pointers:");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        printf(" %d%d", clGetExtensionFunctionAddressForPlatform(s->platform, names[i]) != NULL,
               clGetExtensionFunctionAddress(names[i]) != NULL);
    printf(" %d\n", clGetExtensionFunctionAddressForPlatform(s->platform, "") != NULL);
}

static int g_built, g_gone;

static void CL_CALLBACK on_built(cl_program program, void *data)
{
    (void)program;
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void CL_CALLBACK on_gone(cl_mem mem, void *data)
{
    (void)mem;
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void CL_CALLBACK on_context_gone(cl_context context, void *data)
{
    (void)context;
    __atomic_add_fetch((int *)data, 10, __ATOMIC_SEQ_CST);
}

static void notified(struct suite *s)
{
    const char *source = "kernel void f(global int *p) { p[0] = 1; }", *bad = "kernel void f( {";
    cl_context context;
    cl_program p;
    cl_mem m;
    cl_int err;

    p = clCreateProgramWithSource(s->context, 1, &source, NULL, &err);
    OK(err);
    OK(clBuildProgram(p, 0, NULL, NULL, on_built, &g_built));
    for (int i = 0; i < 1000 && !__atomic_load_n(&g_built, __ATOMIC_SEQ_CST); i++)
        usleep(1000);
    OK(clReleaseProgram(p));
    p = clCreateProgramWithSource(s->context, 1, &bad, NULL, &err);
    OK(err);
    err = clBuildProgram(p, 0, NULL, NULL, on_built, &g_built);
    usleep(10000);
    printf("build: %d calls, a bad one gives %d\n", __atomic_load_n(&g_built, __ATOMIC_SEQ_CST), err);
    OK(clReleaseProgram(p));

    m = suite_buffer(s, 0, 0);
    OK(clSetMemObjectDestructorCallback(m, on_gone, &g_gone));
    OK(clReleaseMemObject(m));
    context = clCreateContext(NULL, 1, &s->device, NULL, NULL, &err);
    OK(err);
    err = clSetContextDestructorCallback(context, on_context_gone, &g_gone);
    OK(clReleaseContext(context));
    printf("destructors: %d %d\n", g_gone, err);
}

static void asked(struct suite *s)
{
    cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0}, got[8] = {0};
    cl_command_queue q = clCreateCommandQueueWithProperties(s->context, s->device, list, NULL), none;
    cl_command_queue_properties properties;
    cl_context context;
    cl_device_id device;
    size_t size = 0;
    cl_int err;

    OK(clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL));
    OK(clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL));
    OK(clGetCommandQueueInfo(q, CL_QUEUE_DEVICE, sizeof(device), &device, NULL));
    err = clGetCommandQueueInfo(q, CL_QUEUE_PROPERTIES_ARRAY, sizeof(got), got, &size);
    printf("asked: %d %d %d %d %zu %d\n", (int)properties, context == s->context, device == s->device, err,
           size, (int)got[1]);
    OK(clReleaseCommandQueue(q));
    none = clCreateCommandQueue(NULL, s->device, 0, &err);
    printf("no context: %d %d\n", none != NULL, err);
    none = clCreateCommandQueueWithProperties(s->context, NULL, NULL, &err);
    printf("no device: %d %d\n", none != NULL, err);
    none = clCreateCommandQueue(NULL, s->device, 0, NULL);
    printf("no context, no error wanted: %d\n", none != NULL);
}

void suite_objects(struct suite *s)
{
    native_kernel(s);
    command_buffer(s);
    pointers(s);
    notified(s);
    asked(s);
}
