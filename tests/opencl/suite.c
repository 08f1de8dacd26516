/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char k_source[] =
    "kernel void add(global int *dst, int a, int n) { int i = get_global_id(0); if (i < n) dst[i] += a; }\n"
    "kernel void scale(global int *dst, int k, int n) { int i = get_global_id(0); if (i < n) dst[i] *= k; }\n"
    "kernel void fix(global int *dst, int v, int n) { int i = get_global_id(0);"
    " if (i < n) dst[i] = v + i; }\n"
    "kernel void spin(global int *dst, int rounds, int n) {\n"
    "  int i = get_global_id(0); int x = i; for (int r = 0; r < rounds; r++) x = x * 1103515245 + 12345;\n"
    "  if (i < n) dst[i] += (x & 1) * 2 + 1; }\n";

void suite_ok(cl_int err, const char *what, const char *file, int line)
{
    if (err == CL_SUCCESS)
        return;
    printf("FAILED %s:%d: %s gives %d\n", file, line, what, err);
    fflush(stdout);
    _Exit(1);
}

void suite_true(bool value, const char *what, const char *file, int line)
{
    if (value)
        return;
    printf("FAILED %s:%d: %s\n", file, line, what);
    fflush(stdout);
    _Exit(1);
}

cl_command_queue suite_queue(struct suite *s, cl_context context, cl_device_id device, cl_ulong properties)
{
    cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    cl_command_queue queue;
    cl_int err;

    queue = clCreateCommandQueueWithProperties(context ? context : s->context, device ? device : s->device,
                                               list, &err);
    OK(err);
    return queue;
}

cl_mem suite_buffer(struct suite *s, int first, int step)
{
    int32_t v[N];
    cl_int err;
    cl_mem m;

    for (int i = 0; i < N; i++)
        v[i] = first + i * step;
    m = clCreateBuffer(s->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(v), v, &err);
    OK(err);
    return m;
}

uint32_t suite_sum_host(const int32_t *v)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < N; i++)
        sum += (i + 1) * (uint32_t)v[i];
    return sum;
}

uint32_t suite_sum(struct suite *s, cl_command_queue queue, cl_mem buffer)
{
    int32_t v[N];

    (void)s;
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL));
    return suite_sum_host(v);
}

void suite_kernel(cl_command_queue queue, cl_kernel kernel, cl_mem dst, int arg, cl_uint waits,
                  const cl_event *list, cl_event *event)
{
    const size_t global = N;
    const int n = N;

    OK(clSetKernelArg(kernel, 0, sizeof(dst), &dst));
    OK(clSetKernelArg(kernel, 1, sizeof(arg), &arg));
    OK(clSetKernelArg(kernel, 2, sizeof(n), &n));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, waits, list, event));
}

cl_kernel suite_clone(struct suite *s, const char *name)
{
    cl_int err;
    cl_kernel k = clCreateKernel(s->program, name, &err);

    OK(err);
    return k;
}

int main(int argc, char **argv)
{
    const char *source = k_source;
    struct suite s = {0};
    cl_int err;

    setvbuf(stdout, NULL, _IONBF, 0);
    OK(clGetPlatformIDs(1, &s.platform, NULL));
    OK(clGetDeviceIDs(s.platform, CL_DEVICE_TYPE_ALL, 1, &s.device, NULL));
    s.context = clCreateContext(NULL, 1, &s.device, NULL, NULL, &err);
    OK(err);
    s.program = clCreateProgramWithSource(s.context, 1, &source, NULL, &err);
    OK(err);
    OK(clBuildProgram(s.program, 1, &s.device, "", NULL, NULL));
    s.add = suite_clone(&s, "add");
    s.scale = suite_clone(&s, "scale");
    s.spin = suite_clone(&s, "spin");
    s.fix = suite_clone(&s, "fix");
    s.queue = suite_queue(&s, NULL, NULL, 0);

    if (argc < 2 || strcmp(argv[1], "queues") == 0)
        suite_queues(&s);
    if (argc < 2 || strcmp(argv[1], "memory") == 0)
        suite_memory(&s);
    if (argc < 2 || strcmp(argv[1], "events") == 0)
        suite_events(&s);
    if (argc < 2 || strcmp(argv[1], "objects") == 0)
        suite_objects(&s);

    OK(clFinish(s.queue));
    OK(clReleaseKernel(s.add));
    OK(clReleaseKernel(s.scale));
    OK(clReleaseKernel(s.spin));
    OK(clReleaseKernel(s.fix));
    OK(clReleaseCommandQueue(s.queue));
    OK(clReleaseProgram(s.program));
    OK(clReleaseContext(s.context));
    printf("done\n");
    return 0;
}
