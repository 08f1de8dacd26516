/* SPDX-License-Identifier: Apache-2.0 */
/* The functional suite: an ordinary OpenCL program that knows nothing of XSched. Its output holds
 * nothing that may differ from run to run, so that runs with and without XSched can be compared
 * line by line. */
#ifndef XS_TEST_SUITE_H
#define XS_TEST_SUITE_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdbool.h>
#include <stdint.h>

#define N 4096

struct suite {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    /* (dst, number, n): dst += number; dst *= number; burns time; dst = number + i */
    cl_kernel add, scale, spin, fix;
    cl_command_queue queue;       /* in order */
};

/** Ends the test with the place when it is not CL_SUCCESS. */
#define OK(call) suite_ok((call), #call, __FILE__, __LINE__)
/** The same for a condition. */
#define TRUE(what) suite_true((what), #what, __FILE__, __LINE__)
void suite_ok(cl_int err, const char *what, const char *file, int line);
void suite_true(bool value, const char *what, const char *file, int line);

cl_command_queue suite_queue(struct suite *s, cl_context context, cl_device_id device, cl_ulong properties);
cl_mem suite_buffer(struct suite *s, int first, int step);
/** Sum over i of (i + 1) * value, modulo 2^32. */
uint32_t suite_sum(struct suite *s, cl_command_queue queue, cl_mem buffer);
uint32_t suite_sum_host(const int32_t *v);
void suite_kernel(cl_command_queue queue, cl_kernel kernel, cl_mem dst, int arg, cl_uint waits,
                  const cl_event *list, cl_event *event);
/** A kernel of its own, since arguments belong to the kernel object. */
cl_kernel suite_clone(struct suite *s, const char *name);

void suite_queues(struct suite *s);
void suite_memory(struct suite *s);
void suite_events(struct suite *s);
void suite_objects(struct suite *s);

#endif
