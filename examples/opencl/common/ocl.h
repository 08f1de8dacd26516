/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL part that the examples have in common: a device, and a kernel that squares numbers
 * `rounds` times and so takes some time. Nothing of the scheduler is in here. */
#ifndef EXAMPLE_OCL_H
#define EXAMPLE_OCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK_CL(call)                                                                                       \
    do {                                                                                                     \
        cl_int err_ = (call);                                                                                \
        if (err_ != CL_SUCCESS) {                                                                            \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, err_);                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct ocl {
    cl_device_id device;
    cl_context context;
    cl_program program;
};

static const char ocl_source[] = "__kernel void churn(__global uint *x, uint rounds)\n"
                                 "{\n"
                                 "    uint v = x[get_global_id(0)];\n"
                                 "    for (uint i = 0; i < rounds; i++)\n"
                                 "        v = v * v + i;\n"
                                 "    x[get_global_id(0)] = v;\n"
                                 "}\n";

/* What `times` launches of the kernel make of v. */
static inline uint32_t ocl_expected(uint32_t v, uint32_t rounds, unsigned times)
{
    while (times--) {
        for (uint32_t i = 0; i < rounds; i++)
            v = v * v + i;
    }
    return v;
}

static inline struct ocl ocl_open(void)
{
    const char *text = ocl_source;
    cl_platform_id platform;
    struct ocl o;
    cl_int err;

    CHECK_CL(clGetPlatformIDs(1, &platform, NULL));
    CHECK_CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &o.device, NULL));
    o.context = clCreateContext(NULL, 1, &o.device, NULL, NULL, &err);
    CHECK_CL(err);
    o.program = clCreateProgramWithSource(o.context, 1, &text, NULL, &err);
    CHECK_CL(err);
    CHECK_CL(clBuildProgram(o.program, 1, &o.device, "", NULL, NULL));
    return o;
}

static inline cl_command_queue ocl_queue(const struct ocl *o)
{
    cl_int err;
    cl_command_queue queue = clCreateCommandQueue(o->context, o->device, 0, &err);

    CHECK_CL(err);
    return queue;
}

/* A buffer of `count` numbers 0, 1, 2, ... */
static inline cl_mem ocl_numbers(const struct ocl *o, size_t count)
{
    uint32_t *values = malloc(count * sizeof(*values));
    cl_mem buffer;
    cl_int err;

    for (size_t i = 0; i < count; i++)
        values[i] = (uint32_t)i;
    buffer = clCreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(*values),
                            values, &err);
    CHECK_CL(err);
    free(values);
    return buffer;
}

static inline cl_kernel ocl_kernel(const struct ocl *o, cl_mem buffer, uint32_t rounds)
{
    cl_int err;
    cl_kernel kernel = clCreateKernel(o->program, "churn", &err);

    CHECK_CL(err);
    CHECK_CL(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
    CHECK_CL(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds));
    return kernel;
}

/* Compares the buffer with what `times` launches should have made of it; ends the program if not. */
static inline void ocl_verify(cl_command_queue queue, cl_mem buffer, size_t count, uint32_t rounds,
                              unsigned times)
{
    uint32_t *values = malloc(count * sizeof(*values));

    CHECK_CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(*values), values, 0, NULL, NULL));
    for (size_t i = 0; i < count; i++) {
        uint32_t expected = ocl_expected((uint32_t)i, rounds, times);

        if (values[i] != expected) {
            fprintf(stderr, "wrong result: number %zu is %u, not %u\n", i, values[i], expected);
            exit(1);
        }
    }
    free(values);
}

static inline double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

#endif
