/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of XSCHED_MEM_LIMIT: memory MIB, 0 for no limit. Prints what is wrong. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)

static int g_wrong;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            g_wrong++;                                                                                       \
        }                                                                                                    \
    } while (0)

static cl_context g_context;
static cl_command_queue g_queue;
static size_t g_limit;

static cl_mem buffer(size_t bytes, cl_int *err)
{
    return clCreateBuffer(g_context, CL_MEM_READ_WRITE, bytes, NULL, err);
}

/* What can still be had, by trying: to a MiB. */
static size_t left(void)
{
    size_t lo = 0, hi = g_limit / MIB + 1;

    while (lo + 1 < hi) {
        size_t mid = (lo + hi) / 2;
        cl_mem m = buffer(mid * MIB, NULL);

        if (m) {
            CHECK(clReleaseMemObject(m) == CL_SUCCESS);
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo * MIB;
}

static void buffers(void)
{
    cl_int err = 1;
    cl_mem a, b, part;
    cl_buffer_region region = {0, MIB};

    CHECK(left() == g_limit);
    a = buffer(g_limit - 8 * MIB, &err);
    CHECK(a && err == CL_SUCCESS);
    CHECK(left() == 8 * MIB);
    b = buffer(9 * MIB, &err);
    CHECK(!b && err == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CHECK(!buffer(9 * MIB, NULL));
    /* the object lives while anything refers to it */
    CHECK(clRetainMemObject(a) == CL_SUCCESS && clReleaseMemObject(a) == CL_SUCCESS);
    CHECK(left() == 8 * MIB);
    part = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &err);
    CHECK(part && err == CL_SUCCESS);
    CHECK(left() == 8 * MIB); /* a part of what is there */
    CHECK(clReleaseMemObject(a) == CL_SUCCESS);
    CHECK(left() == 8 * MIB);
    CHECK(clReleaseMemObject(part) == CL_SUCCESS);
    CHECK(left() == g_limit);
    /* what the library refuses itself is not counted */
    CHECK(!buffer(0, &err) && err == CL_INVALID_BUFFER_SIZE);
    CHECK(!clCreateBuffer(NULL, CL_MEM_READ_WRITE, MIB, NULL, &err) && err == CL_INVALID_CONTEXT);
    CHECK(left() == g_limit);
}

static void images(void)
{
    cl_image_format format = {CL_RGBA, CL_FLOAT};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1024, .image_height = 512};
    cl_bool has = CL_FALSE;
    cl_device_id device;
    cl_int err;
    cl_mem a, b;

    CHECK(clGetContextInfo(g_context, CL_CONTEXT_DEVICES, sizeof(device), &device, NULL) == CL_SUCCESS);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has), &has, NULL) == CL_SUCCESS);
    if (!has)
        return;
    a = clCreateImage(g_context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err); /* 8 MiB */
    CHECK(a && err == CL_SUCCESS);
    CHECK(left() == g_limit - 8 * MIB);
    b = buffer(g_limit - 12 * MIB, &err);
    CHECK(b && err == CL_SUCCESS);
    CHECK(!clCreateImage(g_context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err) &&
          err == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CHECK(left() == 4 * MIB);
    CHECK(clReleaseMemObject(a) == CL_SUCCESS && clReleaseMemObject(b) == CL_SUCCESS);
    CHECK(left() == g_limit);
}

static void shared(cl_device_id device)
{
    cl_device_svm_capabilities can = 0;
    void *a, *b;

    if (clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL) != CL_SUCCESS || !can)
        return;
    a = clSVMAlloc(g_context, CL_MEM_READ_WRITE, g_limit - 4 * MIB, 0);
    CHECK(a);
    CHECK(!clSVMAlloc(g_context, CL_MEM_READ_WRITE, 5 * MIB, 0));
    b = clSVMAlloc(g_context, CL_MEM_READ_WRITE, 2 * MIB, 0);
    CHECK(b && left() == 2 * MIB);
    clSVMFree(g_context, a);
    CHECK(left() == g_limit - 2 * MIB);
    CHECK(clEnqueueSVMFree(g_queue, 1, &b, NULL, NULL, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(clFinish(g_queue) == CL_SUCCESS);
    CHECK(left() == g_limit);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_ulong total = 0, most = 0;
    cl_int err;
    cl_mem m;

    if (argc < 2 || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 77;
    g_limit = strtoul(argv[1], NULL, 10) * MIB;
    g_context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    CHECK(err == CL_SUCCESS);
    g_queue = clCreateCommandQueueWithProperties(g_context, device, NULL, &err);
    CHECK(err == CL_SUCCESS);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL) == CL_SUCCESS);
    CHECK(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL) == CL_SUCCESS);
    if (g_limit) {
        CHECK(total == g_limit && most <= g_limit && most > 0);
        buffers();
        images();
        shared(device);
    } else {
        CHECK(total > 256 * MIB);
        m = buffer(128 * MIB, &err);
        CHECK(m && clReleaseMemObject(m) == CL_SUCCESS);
    }
    CHECK(clReleaseCommandQueue(g_queue) == CL_SUCCESS && clReleaseContext(g_context) == CL_SUCCESS);
    return g_wrong ? 1 : 0;
}
