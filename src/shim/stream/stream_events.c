/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/stream_events.h"

struct xs_event_mark xs_api_event_before(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread)
{
    struct xs_event_mark m = {NULL, 0};
    struct xs_queue *q = xs_api_captured(rt->hal, stream, per_thread) ? NULL : xs_api_queue_known(rt->hal, stream, per_thread);

    if (!q)
        return m;
    if (XS_UNLIKELY(xs_api_intra())) {
        m.queue = q;
        m.number = xsched_priv_milestone(q);
    } else {
        xsched_priv_end_near(q);
        if (xs_api_event_matters()) {
            m.queue = q;
            m.number = xsched_priv_returned(q);
        }
    }
    return m;
}

void xs_api_event_noted(const void *event, struct xs_event_mark m)
{
    if (m.queue)
        xs_event_recorded(event, m.queue, m.number);
    else
        xs_event_forget(event);
}

void xs_api_event_stream_inherits(const struct xs_api_runtime *rt, xs_api_stream stream, bool per_thread,
                                  const void *event)
{
    struct xs_event_mark m;
    struct xs_queue *q;

    if (!xs_event_find(event, &m) || xs_api_captured(rt->hal, stream, per_thread))
        return;
    q = xs_api_queue(rt->hal, stream, per_thread); /* the wait may be the first that this stream sees */
    if (q)
        xsched_priv_waits_for(q, m.queue, m.number);
}

void xs_api_event_foreign(const void *event)
{
    xs_event_foreign(event);
    atomic_store(&xsched_priv_awaiting, 1);
}

static bool awaits(const void *event)
{
    struct xs_event_mark m;

    if (XS_LIKELY(atomic_load_explicit(&xsched_priv_awaiting, memory_order_relaxed) == 0)) /* a hint */
        return false;
    return xs_event_find(event, &m) ? xsched_priv_awaits(m.queue, m.number) : xs_event_is_foreign(event);
}

void xs_api_event_await_begin(struct xs_api_event_await *w, const struct xs_api_runtime *rt, xs_api_stream stream,
                              bool per_thread, const void *event)
{
    struct xs_queue *q = xs_api_captured(rt->hal, stream, per_thread) ? NULL : xs_api_queue_known(rt->hal, stream, per_thread);

    w->queue = NULL;
    if (q && !awaits(event)) {
        xsched_priv_waits_elsewhere(q);
    } else if (q) {
        xsched_priv_submit_begin(q, XS_KEY_AWAITS, XS_SUBMIT_PASS | XS_SUBMIT_OURS, &w->ticket);
        w->queue = q;
    }
}

bool xs_api_event_wait(const void *event, struct xs_event_mark *ret)
{
    struct xs_queue *q;

    if (XS_LIKELY(!xs_api_waits_matter()) || !xs_event_find(event, ret))
        return false;
    q = ret->queue;
    xsched_priv_wait_begin_for(q, ret->number);
    if (xs_event_find(event, ret) && ret->queue == q) /* else it ended before this wait kept its storage */
        return true;
    xsched_priv_wait_end(q, 0, false);
    return false;
}

void xs_api_event_waited(struct xs_event_mark m, xs_api_result r)
{
    xsched_priv_wait_end(m.queue, m.number, r == XS_API_OK);
}

void xs_api_event_busy(const void *event)
{
    struct xs_event_mark m;

    if (XS_UNLIKELY(xs_api_waits_matter()) && xs_event_find(event, &m))
        xsched_priv_polled(m.queue, m.number);
}
