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

#define WAITS_MOST 32             /* events of one command that this reads */

_Atomic bool xs_ocl_user_events;

/* A user event, one of another library, or one of a command that waits for such an event. */
static bool awaits(const struct xs_ocl_api *api, const struct xs_ocl_submit *s, cl_event event)
{
    cl_command_queue queue = NULL;
    cl_int status = CL_COMPLETE;
    struct xs_queue *q;

    if (!event || api->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) != CL_SUCCESS)
        return false;
    q = queue ? xsched_priv_queue_find(kPlatformOpenCL, (uint64_t)(uintptr_t)queue) : NULL;
    if (queue && (!q || q == s->queue || !xsched_priv_awaits(q, xsched_priv_returned(q))))
        return false;
    api->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return status > CL_COMPLETE;
}

/* If the command waits for events that wait for the host, a marker before it waits for them, as a command of its own:
 * that time is not the command's. */
static __attribute__((noinline)) void await_host(struct xs_ocl_submit *s, cl_uint count, const cl_event *list)
{
    const struct xs_ocl_hw *hw = xsched_priv_ocl_find(s->native);
    const struct xs_ocl_api *api = hw ? hw->api : NULL;
    struct xs_ticket t;
    cl_event marker = NULL;
    bool ok, self;
    uint64_t number;
    cl_uint i = 0;

    if (!api || !api->clEnqueueMarkerWithWaitList)
        return;
    while (i < count && i < WAITS_MOST && !awaits(api, s, list[i]))
        i++;
    if (i == XS_MIN(count, WAITS_MOST))
        return;
    /* Out of order, each mark waits for all commands before it. Two for each of a hundred commands that wait cost a
     * vendor's library a tenth of a second, so only the first of them has the marker. */
    if (!in_order(s) && xsched_priv_awaits(s->queue, xsched_priv_returned(s->queue))) {
        xsched_priv_waits_for_host(s->queue);
        return;
    }
    xsched_priv_submit_begin(s->queue, XS_KEY_AWAITS, XS_SUBMIT_PASS | XS_SUBMIT_OURS, &t);
    if (!t.queue || !t.mark) {    /* part of a command, or nobody schedules the queue */
        xsched_priv_submit_end(&t, false, false);
        return;
    }
    ok = api->clEnqueueMarkerWithWaitList(s->native, count, list, &marker) == CL_SUCCESS;
    self = ok && in_order(s);
    number = xsched_priv_submit_end(&t, ok, self);
    if (!ok)
        return;                   /* the vendor refuses the list, for the program's command, too */
    if (!self)                    /* out of order it proves nothing; libhalopencl releases it when it is over */
        xsched_priv_queue_hold(s->queue);
    if (!xsched_priv_ocl_watch(api, marker, true, s->queue, self ? number : 0)) {
        xsched_priv_mark_lost(s->queue, self ? number : 0);
        api->clReleaseEvent(marker);
    }
}

/* Until these events are complete, no scheduler suspends the queues of their commands for anything less important than
 * this queue. */
static __attribute__((noinline)) void lend(struct xs_ocl_submit *s, cl_uint count, const cl_event *list)
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

void xs_ocl_submit_gate(struct xs_ocl_submit *s, uint64_t key, bool blocking, uint32_t flags, cl_uint count,
                        const cl_event *list)
{
    if (!list)
        count = 0;
    if (XS_UNLIKELY(count && atomic_load_explicit(&xs_ocl_user_events, memory_order_relaxed))) /* a hint */
        await_host(s, count, list);
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
    /* relaxed: a hint. If the process suspends and resumes as one, nothing needs it. */
    if (XS_UNLIKELY(count && atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed)))
        lend(s, count, list);
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
