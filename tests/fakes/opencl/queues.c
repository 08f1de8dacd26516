/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues. */
#include "internal.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

API cl_int clRetainContext(cl_context c);
API cl_int clReleaseContext(cl_context c);

static cl_command_queue create(cl_context c, cl_device_id d, cl_command_queue_properties properties, int priority,
                               cl_int *err)
{
    cl_command_queue q = NULL;

    if (c && c->device == d) {
        q = fake_new(sizeof(*q));
        q->context = c;
        q->properties = properties;
        clRetainContext(c);
        pthread_mutex_lock(&fake_lock);
        q->stream = fake_stream_new(d->ctx, 1, priority);
        pthread_mutex_unlock(&fake_lock);
    }
    if (err)
        *err = q ? CL_SUCCESS : CL_INVALID_VALUE;
    return q;
}

API cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties properties,
                                          cl_int *err)
{
    return create(c, d, properties, 0, err);
}

API cl_command_queue clCreateCommandQueueWithProperties(cl_context c, cl_device_id d, const cl_queue_properties *list,
                                                        cl_int *err)
{
    cl_command_queue_properties properties = 0;
    int priority = 0;

    for (; list && list[0]; list += 2) {
        if (list[0] == CL_QUEUE_PROPERTIES)
            properties = list[1];
        if (list[0] == CL_QUEUE_PRIORITY_KHR)
            priority = list[1] == CL_QUEUE_PRIORITY_HIGH_KHR ? -1 : list[1] == CL_QUEUE_PRIORITY_LOW_KHR;
    }
    return create(c, d, properties, priority, err);
}

API cl_int clRetainCommandQueue(cl_command_queue q)
{
    fake_retain(q);
    return CL_SUCCESS;
}

/* What was enqueued goes on. */
void fake_queue_release(cl_command_queue q)
{
    cl_context c = q->context;

    if (!fake_release(q))
        return;
    q->stream->destroyed = true;
    free(q);
    clReleaseContext(c);
}

API cl_int clReleaseCommandQueue(cl_command_queue q)
{
    fake_queue_release(q);
    return CL_SUCCESS;
}

/* A test's; before the references of a queue are counted. */
API void (*fake_opencl_on_count)(cl_command_queue q);

API cl_int clGetCommandQueueInfo(cl_command_queue q, cl_command_queue_info name, size_t size, void *ret,
                                 size_t *ret_size)
{
    cl_uint references;

    switch (name) {
    case CL_QUEUE_CONTEXT:
        return fake_answer(&q->context, sizeof(q->context), size, ret, ret_size);
    case CL_QUEUE_DEVICE:
        return fake_answer(&q->context->device, sizeof(q->context->device), size, ret, ret_size);
    case CL_QUEUE_PROPERTIES:
        return fake_answer(&q->properties, sizeof(q->properties), size, ret, ret_size);
    case CL_QUEUE_REFERENCE_COUNT:
        if (fake_opencl_on_count)
            fake_opencl_on_count(q);
        pthread_mutex_lock(&fake_lock);
        references = (cl_uint)q->head.references;
        pthread_mutex_unlock(&fake_lock);
        return fake_answer(&references, sizeof(references), size, ret, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

API cl_int clSetCommandQueueProperty(cl_command_queue q, cl_command_queue_properties properties, cl_bool enable,
                                     cl_command_queue_properties *old)
{
    if (old)
        *old = q->properties;
    q->properties = enable ? q->properties | properties : q->properties & ~properties;
    return CL_SUCCESS;
}

API cl_int clFlush(cl_command_queue q)
{
    return q ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

API cl_int clFinish(cl_command_queue q)
{
    return fake_synchronize(q->stream, false) ? CL_INVALID_COMMAND_QUEUE : CL_SUCCESS;
}
