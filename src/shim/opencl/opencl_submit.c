/* SPDX-License-Identifier: Apache-2.0 */
/* One command on a queue: gate, vendor call, count, mark. */
#include "shim/opencl/opencl_call.h"

bool xs_ocl_submit_open(struct xs_ocl_submit *s, enum xs_row row, const void *caller,
                        cl_command_queue queue)
{
    s->queue = NULL;
    s->native = queue;
    s->own = NULL;
    s->want_event = false;
    s->blocking = false;
    s->row = row;
    xs_ocl_call_begin(&s->call, row, caller);
    if (!s->call.handled)
        return false;
    s->queue = xsched_priv_queue_find(kPlatformOpenCL, (uint64_t)(uintptr_t)queue);
    return s->queue != NULL;
}

/* Looks the queue up only where it matters: few commands have a mark. */
static bool in_order(struct xs_ocl_submit *s)
{
    struct xs_ocl_hw *hw = xsched_priv_ocl_find(s->native);

    s->api = hw ? hw->api : NULL;
    /* relaxed: it changes only while the program does nothing else with the queue */
    return hw && atomic_load_explicit(&hw->in_order, memory_order_relaxed);
}

void xs_ocl_submit_gate(struct xs_ocl_submit *s, uint64_t key, bool blocking, uint32_t flags)
{
    if (XS_UNLIKELY(xs_depth_in_callback(s->call.depth)))
        flags |= XS_SUBMIT_PASS; /* a thread of the vendor's: other threads wait for it */
    xsched_priv_submit_begin(s->queue, key, flags, &s->ticket);
    if (!s->ticket.queue) { /* part of a command that counts as a whole */
        s->queue = NULL;
        return;
    }
    s->blocking = blocking;
    if (blocking)
        s->began = xsched_priv_wait_begin(s->queue);
    else
        /* In order, the command's own completion proves that of all before it. Out of order only a marker
         * does, which submit_end gets from the hal. */
        s->want_event = s->ticket.mark && in_order(s);
}

#define WAITS_MOST 32             /* events of one command that this reads */

void xs_ocl_submit_lends(struct xs_ocl_submit *s, cl_uint count, const cl_event *list)
{
    const struct xs_ocl_hw *hw = xsched_priv_ocl_find(s->native);
    struct xs_queue *last = s->queue;

    for (cl_uint i = 0; hw && i < count && i < WAITS_MOST; i++) {
        cl_command_queue queue = NULL; /* NULL for user events */
        struct xs_queue *q;

        if (!list[i] || hw->api->clGetEventInfo(list[i], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) !=
                            CL_SUCCESS || !queue)
            continue;
        q = xsched_priv_queue_find(kPlatformOpenCL, (uint64_t)(uintptr_t)queue);
        if (!q || q == last || q == s->queue)
            continue;
        last = q; /* lists are mostly of one queue */
        xsched_priv_waits_for(s->queue, q, xsched_priv_milestone(q));
    }
}

static void close_blocking(struct xs_ocl_submit *s, bool ok)
{
    bool proven = ok && in_order(s);
    uint64_t number;

    if (proven)
        s->ticket.mark = true; /* it is complete, so the mark costs nothing */
    number = xsched_priv_submit_end(&s->ticket, ok, proven);
    if (proven)
        xsched_priv_completed(s->queue, number);
    xsched_priv_wait_end(s->queue, s->began, proven);
}

static void close_async(struct xs_ocl_submit *s, bool ok, cl_event *event)
{
    bool self = ok && s->want_event && event && *event;
    uint64_t number = xsched_priv_submit_end(&s->ticket, ok, self);

    if (!self)
        return;
    if (xsched_priv_ocl_watch(s->api, *event, event == &s->own, s->queue, number)) {
        s->own = NULL; /* given away, if it was ours */
        /* without a flush it need never complete, and a thread may wait for the mark */
        s->api->clFlush(s->native);
    } else {
        xsched_priv_mark_lost(s->queue, number);
    }
}

void xs_ocl_submit_close(struct xs_ocl_submit *s, cl_int err, cl_event *event)
{
    if (s->queue && s->blocking)
        close_blocking(s, err == CL_SUCCESS);
    else if (s->queue)
        close_async(s, err == CL_SUCCESS, event);
    if (s->own && err == CL_SUCCESS)
        s->api->clReleaseEvent(s->own);
    xs_ocl_call_end(&s->call, s->row, s->queue ? XS_HOW_SUBMIT : XS_HOW_PASS, s->native, err, false);
}
