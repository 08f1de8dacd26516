/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, images, maps, shared virtual memory, blocking and not. */
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void transfers(struct suite *s)
{
    static int32_t a[N], b[N];
    cl_mem m = suite_buffer(s, 0, 1), m2 = suite_buffer(s, 9, 0);
    const size_t origin[3] = {0, 0, 0}, region[3] = {256, 16, 1}, to[3] = {0, 16, 0};
    const int32_t pattern = 42;
    cl_event e;

    for (int i = 0; i < N; i++)
        a[i] = i * 7;
    OK(clEnqueueWriteBuffer(s->queue, m, CL_FALSE, 0, sizeof(a), a, 0, NULL, &e));
    OK(clWaitForEvents(1, &e));
    OK(clReleaseEvent(e));
    OK(clEnqueueReadBuffer(s->queue, m, CL_FALSE, 0, sizeof(b), b, 0, NULL, NULL));
    OK(clFinish(s->queue));
    printf("write and read: %d\n", memcmp(a, b, sizeof(a)));
    OK(clEnqueueWriteBuffer(s->queue, m, CL_TRUE, 0, sizeof(a) / 2, a + N / 2, 0, NULL, NULL));
    OK(clEnqueueCopyBuffer(s->queue, m, m2, 0, sizeof(a) / 2, sizeof(a) / 4, 0, NULL, NULL));
    OK(clEnqueueFillBuffer(s->queue, m2, &pattern, sizeof(pattern), 0, 512, 0, NULL, NULL));
    OK(clEnqueueCopyBufferRect(s->queue, m, m2, origin, to, region, 256, 0, 256, 0, 0, NULL, NULL));
    printf("copy, fill, rect: %u\n", suite_sum(s, s->queue, m2));
    memset(b, 0, sizeof(b));
    OK(clEnqueueReadBufferRect(s->queue, m2, CL_TRUE, to, origin, region, 256, 0, 256, 0, b, 0, NULL, NULL));
    OK(clEnqueueWriteBufferRect(s->queue, m, CL_FALSE, to, origin, region, 256, 0, 256, 0, b, 0, NULL, NULL));
    printf("rects to the host and back: %u %u\n", suite_sum_host(b), suite_sum(s, s->queue, m));
    OK(clEnqueueMigrateMemObjects(s->queue, 1, &m, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    OK(clFinish(s->queue));
    OK(clReleaseMemObject(m));
    OK(clReleaseMemObject(m2));
}

static void maps(struct suite *s)
{
    cl_mem m = suite_buffer(s, 3, 5), part;
    cl_buffer_region half = {N * 2, N * 2};
    int32_t *p;
    cl_event e;
    cl_int err;

    p = clEnqueueMapBuffer(s->queue, m, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, N * 4, 0, NULL, NULL, &err);
    OK(err);
    for (int i = 0; i < N; i++)
        p[i] += i;
    OK(clEnqueueUnmapMemObject(s->queue, m, p, 0, NULL, NULL));
    suite_kernel(s->queue, s->add, m, 11, 0, NULL, NULL);
    p = clEnqueueMapBuffer(s->queue, m, CL_FALSE, CL_MAP_READ, 0, N * 4, 0, NULL, &e, NULL);
    TRUE(p != NULL);
    OK(clWaitForEvents(1, &e));
    OK(clReleaseEvent(e));
    printf("map: %u\n", suite_sum_host(p));
    OK(clEnqueueUnmapMemObject(s->queue, m, p, 0, NULL, &e));
    OK(clWaitForEvents(1, &e));
    OK(clReleaseEvent(e));
    part = clCreateSubBuffer(m, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &err);
    OK(err);
    p = clEnqueueMapBuffer(s->queue, part, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, &err);
    OK(err);
    memset(p, 1, 64);
    OK(clEnqueueUnmapMemObject(s->queue, part, p, 0, NULL, NULL));
    printf("sub-buffer: %u\n", suite_sum(s, s->queue, m));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(m));
    p = clEnqueueMapBuffer(s->queue, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &err);
    printf("map of nothing: %d %d\n", p != NULL, err);
    p = clEnqueueMapBuffer(s->queue, NULL, CL_FALSE, CL_MAP_READ, 0, 4, 0, NULL, NULL, NULL);
    printf("map of nothing, no error wanted: %d\n", p != NULL);
}

static void images(struct suite *s)
{
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    const size_t origin[3] = {0, 0, 0}, region[3] = {64, 32, 1}, all[3] = {64, 64, 1};
    const cl_uint colour[4] = {1, 2, 3, 4};
    static uint8_t pixels[64 * 64 * 4];
    cl_mem a, b, m;
    size_t pitch;
    uint32_t sum = 0;
    uint8_t *p;
    cl_int err;

    a = clCreateImage(s->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
    if (err != CL_SUCCESS) {
        printf("images: error %d\n", err);
        return;
    }
    b = clCreateImage(s->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
    OK(err);
    m = suite_buffer(s, 1, 1);
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)(i * 3);
    OK(clEnqueueWriteImage(s->queue, a, CL_FALSE, origin, all, 0, 0, pixels, 0, NULL, NULL));
    OK(clEnqueueFillImage(s->queue, b, colour, origin, all, 0, NULL, NULL));
    OK(clEnqueueCopyImage(s->queue, a, b, origin, origin, region, 0, NULL, NULL));
    OK(clEnqueueCopyBufferToImage(s->queue, m, b, 0, origin, (const size_t[3]){8, 8, 1}, 0, NULL, NULL));
    OK(clEnqueueCopyImageToBuffer(s->queue, b, m, origin, (const size_t[3]){16, 8, 1}, 0, 0, NULL, NULL));
    OK(clEnqueueReadImage(s->queue, b, CL_TRUE, origin, all, 0, 0, pixels, 0, NULL, NULL));
    for (size_t i = 0; i < sizeof(pixels); i++)
        sum += (uint32_t)(i + 1) * pixels[i];
    printf("images: %u %u\n", sum, suite_sum(s, s->queue, m));
    p = clEnqueueMapImage(s->queue, a, CL_TRUE, CL_MAP_READ, origin, all, &pitch, NULL, 0, NULL, NULL, &err);
    OK(err);
    for (size_t i = sum = 0; i < 64; i++)
        sum += p[i * pitch];
    OK(clEnqueueUnmapMemObject(s->queue, a, p, 0, NULL, NULL));
    OK(clFinish(s->queue));
    printf("mapped image: %u\n", sum);
    OK(clReleaseMemObject(a));
    OK(clReleaseMemObject(b));
    OK(clReleaseMemObject(m));
}

static int g_freed;

static void CL_CALLBACK on_free(cl_command_queue queue, cl_uint count, void *pointers[], void *data)
{
    (void)queue;
    for (cl_uint i = 0; i < count; i++)
        clSVMFree(data, pointers[i]);
    __atomic_add_fetch(&g_freed, (int)count, __ATOMIC_SEQ_CST);
}

static void svm(struct suite *s)
{
    cl_device_svm_capabilities caps = 0;
    const int32_t pattern = 7, arg = 4, n = N;
    const size_t global = N;
    int32_t *a, *b;
    void *both[2];
    cl_event e;

    if (clGetDeviceInfo(s->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(caps), &caps, NULL) != CL_SUCCESS ||
        !caps) {
        printf("shared virtual memory: none\n");
        return;
    }
    a = clSVMAlloc(s->context, CL_MEM_READ_WRITE, N * 4, 0);
    b = clSVMAlloc(s->context, CL_MEM_READ_WRITE, N * 4, 0);
    TRUE(a && b);
    OK(clEnqueueSVMMemFill(s->queue, a, &pattern, sizeof(pattern), N * 4, 0, NULL, NULL));
    OK(clSetKernelArgSVMPointer(s->add, 0, a));
    OK(clSetKernelArg(s->add, 1, sizeof(arg), &arg));
    OK(clSetKernelArg(s->add, 2, sizeof(n), &n));
    OK(clEnqueueNDRangeKernel(s->queue, s->add, 1, NULL, &global, NULL, 0, NULL, NULL));
    OK(clEnqueueSVMMap(s->queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, a, N * 4, 0, NULL, NULL));
    a[0] = 1000;
    OK(clEnqueueSVMUnmap(s->queue, a, 0, NULL, NULL));
    OK(clEnqueueSVMMemcpy(s->queue, CL_TRUE, b, a, N * 4, 0, NULL, NULL));
    OK(clEnqueueSVMMap(s->queue, CL_TRUE, CL_MAP_READ, b, N * 4, 0, NULL, NULL));
    printf("shared virtual memory: %u\n", suite_sum_host(b));
    OK(clEnqueueSVMUnmap(s->queue, b, 0, NULL, NULL));
    OK(clEnqueueSVMMigrateMem(s->queue, 1, (const void **)&b, NULL, 0, 0, NULL, NULL));
    both[0] = a;
    both[1] = b;
    OK(clEnqueueSVMFree(s->queue, 2, both, on_free, s->context, 0, NULL, &e));
    OK(clWaitForEvents(1, &e));
    OK(clReleaseEvent(e));
    printf("freed: %d\n", __atomic_load_n(&g_freed, __ATOMIC_SEQ_CST));
}

void suite_memory(struct suite *s)
{
    transfers(s);
    maps(s);
    images(s);
    svm(s);
}
