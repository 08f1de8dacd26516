/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose work waits for the host, on OpenCL: opencl SECONDS MODE.
 *
 *   event  a kernel waits for a user event, which the host sets 2 ms later
 *   other  the same, and another queue waits for that kernel
 *   free   the same in one queue that is out of order
 *   tasks  forty kernels there, each of which waits for a user event of its own
 *
 * Each round but those of `tasks` has two commands more, and waits for them. Prints how many rounds a second it did. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "rounds.h"

#include <stdlib.h>

static const char k_source[] = "kernel void f(global int *a) { a[get_global_id(0)]++; }";

#define TASKS 40

static cl_int tasks(cl_context context, cl_command_queue q, cl_kernel kernel)
{
    cl_event go[TASKS], end;
    size_t n = 64;
    cl_int r = CL_SUCCESS;

    for (int i = 0; i < TASKS && !r; i++) {
        go[i] = clCreateUserEvent(context, &r);
        r |= clEnqueueNDRangeKernel(q, kernel, 1, NULL, &n, NULL, 1, &go[i], &end);
        r |= clReleaseEvent(end);
    }
    r |= clFlush(q);
    rounds_pause();
    for (int i = 0; i < TASKS && !r; i++)
        r |= clSetUserEventStatus(go[i], CL_COMPLETE) | clReleaseEvent(go[i]);
    return r | clFinish(q);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "", *source = k_source;
    cl_command_queue_properties properties = mode[0] == 'f' || mode[0] == 't' ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
    cl_command_queue q, rest;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_kernel kernel;
    size_t n = 64;
    cl_mem memory;
    cl_int r;

    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        printf("no OpenCL device\n");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    q = clCreateCommandQueue(context, device, properties, NULL);
    rest = mode[0] == 'o' ? clCreateCommandQueue(context, device, properties, NULL) : q;
    program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    r = clBuildProgram(program, 0, NULL, NULL, NULL, NULL);
    kernel = clCreateKernel(program, "f", NULL);
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE, n * sizeof(int), NULL, NULL);
    r |= clSetKernelArg(kernel, 0, sizeof(memory), &memory);
    while (!r && rounds_go_on(argc > 1 ? atof(argv[1]) : 1)) {
        int values[64];
        cl_event go, first, second, last;

        if (mode[0] == 't') {
            r |= tasks(context, q, kernel);
            continue;
        }
        go = clCreateUserEvent(context, &r);
        r |= clEnqueueNDRangeKernel(q, kernel, 1, NULL, &n, NULL, 1, &go, &first);
        r |= clEnqueueNDRangeKernel(rest, kernel, 1, NULL, &n, NULL, 1, &first, &second);
        r |= clEnqueueReadBuffer(rest, memory, CL_FALSE, 0, sizeof(values), values, 1, &second, &last);
        r |= clFlush(q) | clFlush(rest);
        rounds_pause();
        r |= clSetUserEventStatus(go, CL_COMPLETE);
        r |= clWaitForEvents(1, &last);
        r |= clReleaseEvent(go) | clReleaseEvent(first) | clReleaseEvent(second) | clReleaseEvent(last);
    }
    return rounds_end(r);
}
