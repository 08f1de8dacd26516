/* SPDX-License-Identifier: Apache-2.0 */
/* The load client's device: the first OpenCL device, and that alone. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "load.h"

#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const k_source =
    "__kernel void burn(uint rounds_low, uint rounds_high, __global volatile uint *started, uint stamp,"
    "                   __global volatile uint *sum)"
    "{"
    "    ulong rounds = (ulong)rounds_high << 32 | rounds_low;"
    "    uint x = get_global_id(0) + 1u;"
    "    if (stamp != 0u && get_global_id(0) == 0)"
    "        started[0] = stamp;"
    "    for (ulong i = 0; i < rounds; i++)"
    "        x = x * 1664525u + (x >> 13) + (uint)i;"
    "    atomic_add(sum, x);"
    "}";

struct load_queue {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem sum, started;
    cl_event events[LOAD_SLOTS];
    volatile uint32_t *host;
};

static cl_device_id s_device;
static cl_context s_context;
static cl_program s_program;
static int s_cpu;
static size_t s_items = 1;

static void check(cl_int e, const char *what)
{
    if (e != CL_SUCCESS)
        load_die(what, e);
}

int load_open(void)
{
    cl_platform_id platform;
    cl_device_type type = 0;
    cl_uint units = 1;
    cl_int e;

    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &s_device, NULL) != CL_SUCCESS) {
        fprintf(stderr, "load: no OpenCL device\n");
        exit(77);
    }
    clGetDeviceInfo(s_device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    clGetDeviceInfo(s_device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
    s_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    s_items = s_cpu ? 1 : (size_t)units * 2048;
    s_context = clCreateContext(NULL, 1, &s_device, NULL, NULL, &e);
    check(e, "clCreateContext");
    s_program = clCreateProgramWithSource(s_context, 1, (const char **)&k_source, NULL, &e);
    check(clBuildProgram(s_program, 1, &s_device, "", NULL, NULL), "clBuildProgram");
    return 1;
}

void load_about(const char **ret_name, const char **ret_driver, uint64_t *ret_bytes)
{
    static char name[128], driver[64];
    cl_ulong bytes = 0;

    clGetDeviceInfo(s_device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    clGetDeviceInfo(s_device, CL_DRIVER_VERSION, sizeof(driver) - 1, driver, NULL);
    clGetDeviceInfo(s_device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    *ret_name = name;
    *ret_driver = driver;
    *ret_bytes = bytes;
}

void load_thread(int device)
{
    (void)device;
}

struct load_queue *load_queue_new(int device, int priority)
{
    struct load_queue *q = calloc(1, sizeof(*q));
    void *page = NULL;
    cl_int e;

    (void)device;
    (void)priority;                    /* an extension that few devices have; the driver of the benchmark hints instead */
    q->queue = clCreateCommandQueue(s_context, s_device, 0, &e);
    check(e, "clCreateCommandQueue");
    q->kernel = clCreateKernel(s_program, "burn", &e);
    check(e, "clCreateKernel");
    if (posix_memalign(&page, 4096, 4096))
        load_die("memory", 12);
    memset(page, 0, 4096);
    q->host = page;
    q->started = clCreateBuffer(s_context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096, page, &e);
    check(e, "clCreateBuffer");
    q->sum = clCreateBuffer(s_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4, page, &e);
    check(e, "clCreateBuffer");
    return q;
}

void load_launch(struct load_queue *q, uint64_t rounds, unsigned width_percent, uint32_t stamp)
{
    cl_uint low = (cl_uint)rounds, high = (cl_uint)(rounds >> 32), mark = stamp;
    size_t items = s_items * width_percent / 100;
    cl_event first = NULL;

    items = items ? items : 1;
    clSetKernelArg(q->kernel, 0, sizeof(low), &low);
    clSetKernelArg(q->kernel, 1, sizeof(high), &high);
    clSetKernelArg(q->kernel, 2, sizeof(q->started), &q->started);
    clSetKernelArg(q->kernel, 3, sizeof(mark), &mark);
    check(clSetKernelArg(q->kernel, 4, sizeof(q->sum), &q->sum), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(q->queue, q->kernel, 1, NULL, &items, NULL, 0, NULL, stamp && !s_cpu ? &first : NULL),
          "clEnqueueNDRangeKernel");
    clFlush(q->queue);
    if (first) {                       /* no word that device and host both see: the first kernel's end stands for it */
        check(clWaitForEvents(1, &first), "clWaitForEvents");
        clReleaseEvent(first);
        *q->host = stamp;
    }
}

uint32_t load_started(struct load_queue *q)
{
    return *q->host;
}

void load_mark(struct load_queue *q, unsigned slot)
{
    if (q->events[slot])
        clReleaseEvent(q->events[slot]);
    check(clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &q->events[slot]), "clEnqueueMarkerWithWaitList");
    clFlush(q->queue);
}

void load_wait(struct load_queue *q, unsigned slot)
{
    check(clWaitForEvents(1, &q->events[slot]), "clWaitForEvents");
}

void load_finish(struct load_queue *q)
{
    check(clFinish(q->queue), "clFinish");
}

uint64_t load_sum(struct load_queue *q)
{
    uint32_t v = 0;

    check(clEnqueueReadBuffer(q->queue, q->sum, CL_TRUE, 0, 4, &v, 0, NULL, NULL), "clEnqueueReadBuffer");
    return v;
}

int load_may_spin(void)
{
    return !s_cpu;
}
