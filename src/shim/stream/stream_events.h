/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a thread or a stream that waits for one waits for the stream on which the program recorded it. This
 * matters only if a scheduler may suspend single streams, not if the process suspends and resumes as one. Any
 * thread. */
#ifndef XS_SHIM_STREAM_STREAM_EVENTS_H
#define XS_SHIM_STREAM_STREAM_EVENTS_H

#include "shim/common/event_map.h"
#include "shim/stream/stream_call.h"

/** The mark of an event whose record comes next: the queue, and how far it is before the call. */
struct xs_event_mark xs_api_event_before(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread);
/** After a call that recorded it, if that matters. */
void xs_api_event_noted(const void *event, struct xs_event_mark m);
/** Whether it matters where the program records events: who waits for whom, or which streams wait for the host. */
static inline bool xs_api_event_matters(void)
{
    return XS_UNLIKELY(xs_api_waits_matter()) ||
           XS_UNLIKELY(atomic_load_explicit(&xsched_priv_awaiting, memory_order_relaxed) != 0); /* a hint */
}

/** After a call that recorded it, with this result. */
static inline xs_api_result xs_api_event_recorded(xs_api_result r, const void *event, struct xs_event_mark m)
{
    if (xs_api_event_matters() && r == XS_API_OK)
        xs_api_event_noted(event, m);
    return r;
}

/** Before the program destroys the event. */
static inline void xs_api_event_ends(const void *event)
{
    if (xs_api_event_matters())
        xs_event_forget(event);
}

/** The stream waits on the device until the event is complete: the stream of the event inherits. Before the
 *  call, since the event may be complete after it. */
void xs_api_event_stream_inherits(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread,
                                  const void *event);
static inline void xs_api_event_stream_waits(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread,
                                             const void *event)
{
    if (XS_UNLIKELY(xs_api_intra()))
        xs_api_event_stream_inherits(rt, stream, per_thread, event);
}

/** The program opened an event of another process. */
void xs_api_event_foreign(const void *event);

/** Around a call by which a stream waits for an event. The time is not this stream's. Where the event waits for the
 *  host, or is another process's, the wait is a command of its own. */
struct xs_api_event_await {
    struct xs_queue *queue;       /* NULL: no command */
    struct xs_ticket ticket;
};
void xs_api_event_await_begin(struct xs_api_event_await *w, const struct xs_api_runtime *rt, xs_api_stream stream,
                              bool per_thread, const void *event);
static inline void xs_api_event_await_end(struct xs_api_event_await *w, xs_api_result r)
{
    if (XS_UNLIKELY(w->queue != NULL))
        xsched_priv_submit_end(&w->ticket, r == XS_API_OK, false);
}

/** A thread waits for the event next. @return whether to call xs_api_event_waited afterwards */
bool xs_api_event_wait(const void *event, struct xs_event_mark *ret);
void xs_api_event_waited(struct xs_event_mark m, xs_api_result r);

/** A thread asked and the event was not complete; a thread that polls waits. */
void xs_api_event_busy(const void *event);

#endif
