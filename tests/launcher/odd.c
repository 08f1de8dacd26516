/* SPDX-License-Identifier: Apache-2.0 */
/* Vendors' libraries that behave oddly, and a caller of OpenCL that is linked with its loader. Built with -DCUDA, -DNVML,
 * -DOPENCL_CALLER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fakes/nvml.h"

#ifdef CUDA
/* A driver: ODD_CUDA is "abort", or what cuInit answers. */
API int cuInit(unsigned flags);
API int cuDeviceGetCount(int *ret);
API int cuDeviceGetName(char *ret, int size, int device);

int cuInit(unsigned flags)
{
    const char *does = getenv("ODD_CUDA");

    (void)flags;
    if (does && strcmp(does, "abort") == 0)
        abort();
    return does ? (int)strtol(does, NULL, 10) : 0;
}

int cuDeviceGetCount(int *ret)
{
    *ret = 0;
    return 0;
}

int cuDeviceGetName(char *ret, int size, int device)
{
    (void)ret, (void)size, (void)device;
    return 1;
}
#endif

#ifdef NVML
/* One GPU at the address of the fake CUDA driver's first device, with the process ODD_NVML on it. */
API int nvmlInit_v2(void);

int nvmlInit_v2(void)
{
    puts("a library that has much to say");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **ret)
{
    static char device;

    *ret = &device;
    return i ? 2 : 0;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret)
{
    (void)device;
    memset(ret, 0, sizeof(*ret));
    ret->bus = FAKE_BUS;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *ret)
{
    const char *pid = getenv("ODD_NVML");

    (void)device;
    if (!pid || *n < 1)
        return 1;
    *n = 1;
    memset(ret, 0, sizeof(*ret));
    ret->pid = (unsigned)strtoul(pid, NULL, 10);
    return 0;
}
#endif

#ifdef OPENCL_CALLER
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

API int work(void);

int work(void)
{
    cl_platform_id p;
    cl_device_id d;
    cl_context c;
    cl_command_queue q;
    cl_mem b;
    cl_int e = clGetPlatformIDs(1, &p, NULL), zero = 0;

    e = e ? e : clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 1, &d, NULL);
    if (e)
        return e;
    c = clCreateContext(NULL, 1, &d, NULL, NULL, &e);
    q = e ? NULL : clCreateCommandQueue(c, d, 0, &e);
    b = e ? NULL : clCreateBuffer(c, CL_MEM_READ_WRITE, 4096, NULL, &e);
    for (int i = 0; !e && i < 8; i++)
        e = clEnqueueWriteBuffer(q, b, CL_FALSE, 0, sizeof(zero), &zero, 0, NULL, NULL);
    return e ? e : clFinish(q);
}
#endif
