/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues: made, shared, released, and waits for them. */
#include "base/log.h"
#include "shim/opencl/opencl_call.h"

/* A queue that the vendor has just made. @param api  of its loader. @param priority  above the vendor's default */
static void queue_made(const struct xs_ocl_api *api, cl_command_queue queue, int32_t priority)
{
    HwQueueHandle hwq;
    XResult r;

    if (!queue || !xsched_priv_auto())
        return;
    r = xsched_priv_ocl_created(api, queue, &hwq);
    if (r == kXSchedSuccess)
        r = xsched_priv_auto_queue(hwq, priority);
    if (r != kXSchedSuccess && r != kXSchedErrorNotSupported)
        XS_WARN_ONCE("OpenCL: XSched could not schedule a command queue (error %d); it runs freely", (int)r);
}

/* cl_khr_priority_hints: one step up or down. */
static int32_t priority_of(const cl_queue_properties *properties)
{
    for (; properties && properties[0]; properties += 2) {
        if (properties[0] != CL_QUEUE_PRIORITY_KHR)
            continue;
        if (properties[1] & CL_QUEUE_PRIORITY_HIGH_KHR)
            return 1;
        return properties[1] & CL_QUEUE_PRIORITY_LOW_KHR ? -1 : 0;
    }
    return 0;
}

cl_command_queue xs_hand_clCreateCommandQueue(const struct xs_ocl_table *T, const void *caller,
                                              cl_context context, cl_device_id device,
                                              cl_command_queue_properties properties, cl_int *errcode_ret)
{
    struct xs_ocl_call c;
    cl_command_queue queue;

    xs_ocl_call_begin(&c, ROW_clCreateCommandQueue, caller);
    queue = T->clCreateCommandQueue(context, device, properties, errcode_ret);
    if (c.handled)
        queue_made(T->api, queue, 0);
    xs_ocl_call_end(&c, ROW_clCreateCommandQueue, XS_HOW_HAND, queue, XS_RESULT(queue), true);
    return queue;
}

cl_command_queue xs_hand_clCreateCommandQueueWithProperties(const struct xs_ocl_table *T, const void *caller,
                                                            cl_context context, cl_device_id device,
                                                            const cl_queue_properties *properties,
                                                            cl_int *errcode_ret)
{
    struct xs_ocl_call c;
    cl_command_queue queue;

    xs_ocl_call_begin(&c, ROW_clCreateCommandQueueWithProperties, caller);
    queue = T->clCreateCommandQueueWithProperties(context, device, properties, errcode_ret);
    if (c.handled)
        queue_made(T->api, queue, priority_of(properties));
    xs_ocl_call_end(&c, ROW_clCreateCommandQueueWithProperties, XS_HOW_HAND, queue, XS_RESULT(queue), true);
    return queue;
}

cl_command_queue xs_hand_clCreateCommandQueueWithPropertiesKHR(
    cl_command_queue (*real)(cl_context, cl_device_id, const cl_queue_properties_khr *, cl_int *),
    const void *caller, cl_context context, cl_device_id device, const cl_queue_properties_khr *properties,
    cl_int *errcode_ret)
{
    struct xs_ocl_call c;
    cl_command_queue queue;

    xs_ocl_call_begin(&c, ROW_clCreateCommandQueueWithPropertiesKHR, caller);
    queue = real(context, device, properties, errcode_ret);
    if (c.handled)
        queue_made(xsched_priv_ocl_api(caller), queue, priority_of(properties));
    xs_ocl_call_end(&c, ROW_clCreateCommandQueueWithPropertiesKHR, XS_HOW_HAND, queue, XS_RESULT(queue),
                    true);
    return queue;
}

/* The layer under our own preload entry must not count again, and knows by the depth. A reference from inside
 * another library's call passes unseen: xsched_priv_ocl_releasing asks the vendor too. */
cl_int xs_hand_clRetainCommandQueue(const struct xs_ocl_table *T, const void *caller,
                                    cl_command_queue command_queue)
{
    struct xs_ocl_hw *hw;
    struct xs_ocl_call c;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clRetainCommandQueue, caller);
    err = T->clRetainCommandQueue(command_queue);
    hw = c.outer && err == CL_SUCCESS ? xsched_priv_ocl_find(command_queue) : NULL;
    if (hw)
        atomic_fetch_add(&hw->references, 1);
    xs_ocl_call_end(&c, ROW_clRetainCommandQueue, XS_HOW_HAND, command_queue, err, false);
    return err;
}

cl_int xs_hand_clReleaseCommandQueue(const struct xs_ocl_table *T, const void *caller,
                                     cl_command_queue command_queue)
{
    struct xs_ocl_call c;
    cl_int err = CL_SUCCESS;

    xs_ocl_call_begin(&c, ROW_clReleaseCommandQueue, caller);
    if (!c.outer || !xsched_priv_ocl_releasing(command_queue))
        err = T->clReleaseCommandQueue(command_queue);
    xs_ocl_call_end(&c, ROW_clReleaseCommandQueue, XS_HOW_HAND, command_queue, err, false);
    return err;
}

cl_int xs_hand_clSetCommandQueueProperty(const struct xs_ocl_table *T, const void *caller,
                                         cl_command_queue command_queue,
                                         cl_command_queue_properties properties, cl_bool enable,
                                         cl_command_queue_properties *old_properties)
{
    struct xs_ocl_hw *hw;
    struct xs_ocl_call c;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clSetCommandQueueProperty, caller);
    err = T->clSetCommandQueueProperty(command_queue, properties, enable, old_properties);
    hw = c.outer && err == CL_SUCCESS ? xsched_priv_ocl_find(command_queue) : NULL;
    if (hw && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        atomic_store(&hw->in_order, !enable);
    xs_ocl_call_end(&c, ROW_clSetCommandQueueProperty, XS_HOW_HAND, command_queue, err, false);
    return err;
}

cl_event xs_hand_clCreateUserEvent(const struct xs_ocl_table *T, const void *caller, cl_context context,
                                   cl_int *errcode_ret)
{
    struct xs_ocl_call c;
    cl_event event;

    xs_ocl_call_begin(&c, ROW_clCreateUserEvent, caller);
    event = T->clCreateUserEvent(context, errcode_ret);
    if (event && !atomic_load_explicit(&xs_ocl_user_events, memory_order_relaxed)) /* a hint */
        atomic_store(&xs_ocl_user_events, true);
    xs_ocl_call_end(&c, ROW_clCreateUserEvent, XS_HOW_PASS, NULL, XS_RESULT(event), true);
    return event;
}

cl_int xs_hand_clFinish(const struct xs_ocl_table *T, const void *caller, cl_command_queue command_queue)
{
    struct xs_queue *q;
    struct xs_ocl_call c;
    uint64_t began = 0;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clFinish, caller);
    q = c.handled ? xsched_priv_queue_find(kPlatformOpenCL, (uint64_t)(uintptr_t)command_queue) : NULL;
    if (q)
        began = xsched_priv_wait_begin(q);
    err = T->clFinish(command_queue);
    if (q)
        xsched_priv_wait_end(q, began, err == CL_SUCCESS);
    xs_ocl_call_end(&c, ROW_clFinish, q ? XS_HOW_SYNC : XS_HOW_PASS, command_queue, err, false);
    return err;
}

#define WAIT_QUEUES 8             /* queues of one wait that we see; we ignore more */
#define WAIT_EVENTS 64

struct waited {
    struct xs_queue *queues[WAIT_QUEUES];
    uint64_t began[WAIT_QUEUES];
    size_t count;
};

static void waited_add(struct waited *w, struct xs_queue *q)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->queues[i] == q)
            return;
    if (w->count == WAIT_QUEUES)
        return;
    w->queues[w->count] = q;
    w->began[w->count] = xsched_priv_wait_begin(q);
    w->count++;
}

cl_int xs_hand_clWaitForEvents(const struct xs_ocl_table *T, const void *caller, cl_uint num_events,
                               const cl_event *event_list)
{
    struct waited w = {.count = 0};
    struct xs_ocl_call c;
    cl_int err;

    xs_ocl_call_begin(&c, ROW_clWaitForEvents, caller);
    for (cl_uint i = 0; c.handled && event_list && i < num_events && i < WAIT_EVENTS; i++) {
        cl_command_queue queue = NULL; /* NULL for user events */
        struct xs_queue *q;

        if (!event_list[i] || T->clGetEventInfo(event_list[i], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
                                                NULL) != CL_SUCCESS || !queue)
            continue;
        q = xsched_priv_queue_pin(kPlatformOpenCL, (uint64_t)(uintptr_t)queue);
        if (!q)
            continue;
        waited_add(&w, q);
        xsched_priv_queue_let_go(q);
    }
    err = T->clWaitForEvents(num_events, event_list);
    for (size_t i = 0; i < w.count; i++) /* an event proves its own command only */
        xsched_priv_wait_end(w.queues[i], w.began[i], false);
    xs_ocl_call_end(&c, ROW_clWaitForEvents, w.count ? XS_HOW_SYNC : XS_HOW_PASS, NULL, err, false);
    return err;
}
