/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are asked for by name, and the few of them that do something. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking) ret name params;
#include "shim/opencl/opencl_ext.def"
#undef OCL_EXT
API cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                        const cl_queue_properties *properties, cl_int *err);

static const struct {
    const char *name;
    void *fn;
} k_rows[] = {
#define OCL_EXT(kind, name, ret, params, args, miss, key, blocking) {#name, (void *)name},
#include "shim/opencl/opencl_ext.def"
};

API void *clGetExtensionFunctionAddress(const char *name)
{
    for (size_t i = 0; i < sizeof(k_rows) / sizeof(k_rows[0]); i++)
        if (strcmp(k_rows[i].name, name) == 0)
            return k_rows[i].fn;
    return NULL;
}

API void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    return platform == &fake_platform ? clGetExtensionFunctionAddress(name) : NULL;
}

API cl_command_queue clCreateCommandQueueWithPropertiesKHR(cl_context context, cl_device_id device,
                                                           const cl_queue_properties_khr *properties, cl_int *err)
{
    return clCreateCommandQueueWithProperties(context, device, properties, err);
}

API cl_int clEnqueueMemFillINTEL(cl_command_queue queue, void *to, const void *pattern, size_t width, size_t size,
                                 cl_uint count, const cl_event *list, cl_event *event)
{
    return fake_enqueue(queue, fake_fill_op(to, pattern, width, size), count, list, event, false);
}

API cl_int clEnqueueMemcpyINTEL(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
                                cl_uint count, const cl_event *list, cl_event *event)
{
    return fake_enqueue(queue, (struct fake_op){.kind = FAKE_COPY, .dst = to, .src = from, .bytes = size}, count, list,
                        event, blocking);
}

/* ---- command buffers: of nothing ---- */

API cl_command_buffer_khr clCreateCommandBufferKHR(cl_uint count, const cl_command_queue *queues,
                                                   const cl_command_buffer_properties_khr *properties, cl_int *err)
{
    cl_command_buffer_khr b = NULL;

    (void)properties;
    if (count == 1 && queues && queues[0]) {
        b = fake_new(sizeof(*b));
        b->queue = queues[0];
    }
    if (err)
        *err = b ? CL_SUCCESS : CL_INVALID_VALUE;
    return b;
}

API cl_int clRetainCommandBufferKHR(cl_command_buffer_khr b)
{
    fake_retain(b);
    return CL_SUCCESS;
}

API cl_int clReleaseCommandBufferKHR(cl_command_buffer_khr b)
{
    if (fake_release(b))
        free(b);
    return CL_SUCCESS;
}

API cl_int clEnqueueCommandBufferKHR(cl_uint queues, cl_command_queue *queue, cl_command_buffer_khr b, cl_uint count,
                                     const cl_event *list, cl_event *event)
{
    return fake_enqueue(queues ? queue[0] : b->queue, (struct fake_op){.kind = FAKE_WORK}, count, list, event, false);
}
