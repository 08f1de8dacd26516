/* SPDX-License-Identifier: Apache-2.0 */
/* Events: who waits for one waits for the stream that it was recorded on. Only where single streams may be
 * held; a program that is held as one needs none of it. For the functions that a platform writes by hand. */
#ifndef XS_SHIM_STREAM_STREAM_EVENTS_H
#define XS_SHIM_STREAM_STREAM_EVENTS_H

#include "shim/common/event_map.h"
#include "shim/stream/stream_call.h"

/** What an event that is about to be recorded will stand for: the queue, and how far it is before the call. */
static inline struct xs_event_mark xs_api_event_before(const struct xs_api_runtime *rt, xs_api_stream stream,
                                                       bool per_thread)
{
    struct xs_event_mark m = {NULL, 0};
    struct xs_queue *q = xs_api_captured(rt->hal, stream, per_thread) ? NULL : xs_api_queue_known(rt->hal, stream, per_thread);

    if (q && XS_UNLIKELY(xs_api_intra())) {
        m.queue = q;
        m.number = xsched_priv_milestone(q);
    } else if (q) {
        xsched_priv_end_near(q);
    }
    return m;
}

/** It was, with this result. */
static inline xs_api_result xs_api_event_recorded(xs_api_result r, const void *event, struct xs_event_mark m)
{
    if (XS_LIKELY(!xs_api_intra()) || r != XS_API_OK)
        return r;
    if (m.queue)
        xs_event_recorded(event, m.queue, m.number);
    else
        xs_event_forget(event);
    return r;
}

static inline void xs_api_event_ends(const void *event)
{
    if (XS_UNLIKELY(xs_api_intra()))
        xs_event_forget(event);
}

/** The stream stands still until the event is complete. Known before the call: it may be complete after. */
static inline void xs_api_event_holds(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread,
                                      const void *event)
{
    struct xs_event_mark m;
    struct xs_queue *q;

    if (XS_LIKELY(!xs_api_intra()) || !xs_event_find(event, &m) || xs_api_captured(rt->hal, stream, per_thread))
        return;
    q = xs_api_queue(rt->hal, stream, per_thread); /* the wait may be the first that this stream sees */
    if (q)
        xsched_priv_waits_for(q, m.queue, m.number);
}

/** A thread is about to wait for the event. @return whether xs_api_event_waited must follow */
static inline bool xs_api_event_wait(const void *event, struct xs_event_mark *ret)
{
    struct xs_queue *q;

    xs_api_begin_late();
    if (XS_LIKELY(!xs_api_intra()) || !xs_event_find(event, ret))
        return false;
    q = ret->queue;
    xsched_priv_wait_begin(q);
    if (xs_event_find(event, ret) && ret->queue == q) /* else it ended before its storage was kept by this wait */
        return true;
    xsched_priv_wait_end(q, 0, false);
    return false;
}

static inline void xs_api_event_waited(struct xs_event_mark m, xs_api_result r)
{
    xsched_priv_wait_end(m.queue, m.number, r == XS_API_OK);
}

/** A thread asked, with this result; one that asks and asks waits. */
static inline void xs_api_event_asked(const void *event, xs_api_result r)
{
    struct xs_event_mark m;

    if (r == XS_API_NOT_READY)
        xs_api_begin_late();
    if (XS_UNLIKELY(r == XS_API_NOT_READY && xs_api_intra()) && xs_event_find(event, &m))
        xsched_priv_polled(m.queue, m.number);
}

#endif
