/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of functions by name, and command buffers (cl_khr_command_buffer). */
#include "shim/opencl/opencl_call.h"

#include <stdlib.h>

void *xs_hand_clGetExtensionFunctionAddress(const struct xs_ocl_table *T, const void *caller,
                                            const char *func_name)
{
    struct xs_ocl_call c;
    void *fn;

    xs_ocl_call_begin(&c, ROW_clGetExtensionFunctionAddress, caller);
    fn = T->clGetExtensionFunctionAddress(func_name);
    if (c.handled && !xs_shim_disabled)
        fn = xs_ocl_wrap(func_name, fn, NULL, T);
    xs_ocl_call_end(&c, ROW_clGetExtensionFunctionAddress, XS_HOW_HAND, NULL, XS_RESULT(fn), true);
    return fn;
}

void *xs_hand_clGetExtensionFunctionAddressForPlatform(const struct xs_ocl_table *T, const void *caller,
                                                       cl_platform_id platform, const char *func_name)
{
    struct xs_ocl_call c;
    void *fn;

    xs_ocl_call_begin(&c, ROW_clGetExtensionFunctionAddressForPlatform, caller);
    fn = T->clGetExtensionFunctionAddressForPlatform(platform, func_name);
    if (c.handled && !xs_shim_disabled)
        fn = xs_ocl_wrap(func_name, fn, platform, T);
    xs_ocl_call_end(&c, ROW_clGetExtensionFunctionAddressForPlatform, XS_HOW_HAND, NULL, XS_RESULT(fn), true);
    return fn;
}

/* A program may enqueue a command buffer without naming its queue. */
struct buffer {
    cl_command_queue queue;
    _Atomic int32_t references;
};

static struct xs_map g_buffers;

static struct buffer *buffer_find(cl_command_buffer_khr handle)
{
    return xs_map_get(&g_buffers, (uint64_t)(uintptr_t)handle);
}

cl_command_buffer_khr xs_hand_clCreateCommandBufferKHR(
    cl_command_buffer_khr (*real)(cl_uint, const cl_command_queue *, const cl_command_buffer_properties_khr *,
                                  cl_int *),
    const void *caller, cl_uint num_queues, const cl_command_queue *queues,
    const cl_command_buffer_properties_khr *properties, cl_int *errcode_ret)
{
    cl_command_buffer_khr handle;
    struct xs_ocl_call c;
    struct buffer *b;

    xs_ocl_call_begin(&c, ROW_clCreateCommandBufferKHR, caller);
    handle = real(num_queues, queues, properties, errcode_ret);
    b = c.outer && handle && num_queues && queues ? calloc(1, sizeof(*b)) : NULL;
    if (b) {
        b->queue = queues[0];
        atomic_store(&b->references, 1);
        free(xs_map_remove(&g_buffers, (uint64_t)(uintptr_t)handle)); /* its release passed unseen */
        if (xs_map_put(&g_buffers, (uint64_t)(uintptr_t)handle, b) < 0)
            free(b);
    }
    xs_ocl_call_end(&c, ROW_clCreateCommandBufferKHR, XS_HOW_HAND, NULL, XS_RESULT(handle), true);
    return handle;
}

cl_int xs_hand_clRetainCommandBufferKHR(cl_int (*real)(cl_command_buffer_khr), const void *caller,
                                        cl_command_buffer_khr command_buffer)
{
    struct xs_ocl_call c;
    struct buffer *b;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clRetainCommandBufferKHR, caller);
    err = real(command_buffer);
    b = c.outer && err == CL_SUCCESS ? buffer_find(command_buffer) : NULL;
    if (b)
        atomic_fetch_add(&b->references, 1);
    xs_ocl_call_end(&c, ROW_clRetainCommandBufferKHR, XS_HOW_HAND, NULL, err, false);
    return err;
}

cl_int xs_hand_clReleaseCommandBufferKHR(cl_int (*real)(cl_command_buffer_khr), const void *caller,
                                         cl_command_buffer_khr command_buffer)
{
    struct xs_ocl_call c;
    struct buffer *b;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clReleaseCommandBufferKHR, caller);
    b = c.outer ? buffer_find(command_buffer) : NULL;
    if (b && atomic_fetch_sub(&b->references, 1) == 1) {
        xs_map_remove(&g_buffers, (uint64_t)(uintptr_t)command_buffer);
        free(b);
    }
    err = real(command_buffer);
    xs_ocl_call_end(&c, ROW_clReleaseCommandBufferKHR, XS_HOW_HAND, NULL, err, false);
    return err;
}

/* Counts on the first queue; XSched does not see the others' shares of a buffer over several queues. */
cl_int xs_hand_clEnqueueCommandBufferKHR(cl_int (*real)(cl_uint, cl_command_queue *, cl_command_buffer_khr,
                                                        cl_uint, const cl_event *, cl_event *),
                                         const void *caller, cl_uint num_queues, cl_command_queue *queues,
                                         cl_command_buffer_khr command_buffer,
                                         cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
                                         cl_event *event)
{
    struct buffer *b = buffer_find(command_buffer);
    cl_command_queue queue = num_queues && queues ? queues[0] : b ? b->queue : NULL;
    struct xs_ocl_submit s;
    cl_int err;

    if (xs_ocl_submit_open(&s, ROW_clEnqueueCommandBufferKHR, caller, queue))
        xs_ocl_submit_gate(&s, xs_ocl_key(s.row, (uint64_t)(uintptr_t)command_buffer), false, 0, num_events_in_wait_list,
                           event_wait_list);
    if (s.want_event && !event)
        event = &s.own;
    err = real(num_queues, queues, command_buffer, num_events_in_wait_list, event_wait_list, event);
    xs_ocl_submit_close(&s, err, event);
    return err;
}
