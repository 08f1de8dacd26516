/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of HIP on a runtime that is a client of OpenCL (runtime.c), and some of OpenCL beside them, with both shims
 * loaded: each command is scheduled once. Reads its own trace, which is to hold so many commands: program TRACE HIP
 * OPENCL. With OpenCL's shim alone, what the runtime puts into its queues is scheduled there. */
#define CL_TARGET_OPENCL_VERSION 120
#include "over.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILLS = 20, OWN = 5, BYTES = 4096 }; /* and one copy */

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                    \
            return 1;                                                                             \
        }                                                                                         \
    } while (0)

static int of_hip(void)
{
    unsigned char host[BYTES];
    void *p, *stream;
    int n = 0;

    CHECK(hipGetDeviceCount(&n) == 0 && n == 1);
    CHECK(hipMalloc(&p, BYTES) == 0 && hipStreamCreateWithFlags(&stream, 1) == 0);
    for (int i = 1; i <= FILLS; i++)
        CHECK(hipMemsetAsync(p, i, BYTES, stream) == 0);
    CHECK(hipMemcpyAsync(host, p, BYTES, 2, stream) == 0 && hipStreamSynchronize(stream) == 0);
    CHECK(host[0] == FILLS && host[BYTES - 1] == FILLS);
    CHECK(hipStreamDestroy(stream) == 0 && hipFree(p) == 0);
    return 0;
}

static int of_opencl(void)
{
    cl_command_queue queue;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_uint value = 7;
    cl_mem memory;

    CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
    CHECK((context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL)));
    CHECK((queue = clCreateCommandQueue(context, device, 0, NULL)));
    CHECK((memory = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL)));
    for (int i = 0; i < OWN; i++)
        CHECK(clEnqueueFillBuffer(queue, memory, &value, sizeof(value), 0, BYTES, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(clFinish(queue) == CL_SUCCESS);
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}

int main(int argc, char **argv)
{
    int hip = 0, opencl = 0;
    char line[512];
    FILE *f;

    if (argc < 4 || of_hip() || of_opencl())
        return 1;
    CHECK((f = fopen(argv[1], "r")));
    while (fgets(line, sizeof(line), f)) {
        if (!strstr(line, " submit "))
            continue;
        hip += strstr(line, " hip") != NULL;
        opencl += strstr(line, " cl") != NULL;
    }
    fclose(f);
    remove(argv[1]);
    printf("scheduled: %d commands of HIP, %d of OpenCL\n", hip, opencl);
    return hip == atoi(argv[2]) && opencl == atoi(argv[3]) ? 0 : 1;
}
