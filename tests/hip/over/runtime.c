/* SPDX-License-Identifier: Apache-2.0 */
/* A HIP runtime that is a client of OpenCL, as far as program.c needs one. */
#define CL_TARGET_OPENCL_VERSION 120
#include "over.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum { ERROR_UNKNOWN = 999 };

static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static cl_context g_context;
static cl_device_id g_device;

static void start(void)
{
    cl_platform_id platform;

    if (clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &g_device, NULL) == CL_SUCCESS)
        g_context = clCreateContext(NULL, 1, &g_device, NULL, NULL, NULL);
}

EXPORT int hipGetDeviceCount(int *ret)
{
    pthread_once(&g_once, start);
    *ret = g_context != NULL;
    return 0;
}

EXPORT int hipGetDevice(int *ret)
{
    *ret = 0;
    return 0;
}

EXPORT int hipSetDevice(int dev)
{
    return dev == 0 ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipMalloc(void **ret, size_t bytes)
{
    *ret = clCreateBuffer(g_context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
    return *ret ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipFree(void *p)
{
    return clReleaseMemObject(p) == CL_SUCCESS ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipStreamCreateWithFlags(void **ret, unsigned flags)
{
    (void)flags;
    *ret = clCreateCommandQueue(g_context, g_device, 0, NULL);
    return *ret ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipStreamDestroy(void *stream)
{
    return clReleaseCommandQueue(stream) == CL_SUCCESS ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipStreamSynchronize(void *stream)
{
    return clFinish(stream) == CL_SUCCESS ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipMemsetAsync(void *p, int value, size_t bytes, void *stream)
{
    unsigned char byte = (unsigned char)value;

    return clEnqueueFillBuffer(stream, p, &byte, 1, 0, bytes, 0, NULL, NULL) == CL_SUCCESS ? 0 : ERROR_UNKNOWN;
}

EXPORT int hipMemcpyAsync(void *to, void *from, size_t bytes, int kind, void *stream)
{
    (void)kind; /* to the host */
    return clEnqueueReadBuffer(stream, from, CL_FALSE, 0, bytes, to, 0, NULL, NULL) == CL_SUCCESS ? 0 : ERROR_UNKNOWN;
}
