/* SPDX-License-Identifier: Apache-2.0 */
/* Events: who waits for one waits for the stream that it was recorded on. Only where single streams may be
 * held; a program that is held as one needs none of it. Functions written by hand, as in hand.c. */
#include "shim/stream/call.h"
#include "shim/stream/prototypes.h"
#include "shim/common/events.h"

/* What the event will stand for: the queue, and how far it is before the call. */
static struct xs_event_mark about_to_record(const struct xs_api_runtime *rt, CUstream stream, bool per_thread)
{
    struct xs_event_mark m = {NULL, 0};

    if (XS_UNLIKELY(xs_api_intra()) && !xs_api_captured(rt->hal, stream, per_thread))
        m.queue = xs_api_queue_known(rt->hal, stream, per_thread);
    if (m.queue)
        m.number = xsched_priv_milestone(m.queue);
    return m;
}

static CUresult recorded(CUresult r, CUevent event, struct xs_event_mark m)
{
    if (XS_LIKELY(!xs_api_intra()) || r != XS_CU_SUCCESS)
        return r;
    if (m.queue)
        xs_event_recorded(event, m.queue, m.number);
    else
        xs_event_forget(event);
    return r;
}

#define RECORD(symbol, per_thread, args)                                                          \
    do {                                                                                          \
        struct xs_event_mark m = about_to_record(rt, hStream, per_thread);                            \
        return recorded(XS_REAL(symbol) args, hEvent, m);                                         \
    } while (0)

CUresult xs_hand_cuEventRecord(const struct xs_api_runtime *rt, CUevent hEvent, CUstream hStream)
{
    RECORD(cuEventRecord, false, (hEvent, hStream));
}

CUresult xs_hand_cuEventRecord_ptsz(const struct xs_api_runtime *rt, CUevent hEvent, CUstream hStream)
{
    RECORD(cuEventRecord_ptsz, true, (hEvent, hStream));
}

CUresult xs_hand_cuEventRecordWithFlags(const struct xs_api_runtime *rt,
                                           CUevent hEvent, CUstream hStream, unsigned flags)
{
    RECORD(cuEventRecordWithFlags, false, (hEvent, hStream, flags));
}

CUresult xs_hand_cuEventRecordWithFlags_ptsz(const struct xs_api_runtime *rt,
                                           CUevent hEvent, CUstream hStream, unsigned flags)
{
    RECORD(cuEventRecordWithFlags_ptsz, true, (hEvent, hStream, flags));
}

CUresult xs_hand_cuEventDestroy(const struct xs_api_runtime *rt, CUevent hEvent)
{
    if (XS_UNLIKELY(xs_api_intra()))
        xs_event_forget(hEvent);
    return XS_REAL(cuEventDestroy)(hEvent);
}

CUresult xs_hand_cuEventDestroy_v2(const struct xs_api_runtime *rt, CUevent hEvent)
{
    if (XS_UNLIKELY(xs_api_intra()))
        xs_event_forget(hEvent);
    return XS_REAL(cuEventDestroy_v2)(hEvent);
}

/* The stream stands still until the event is complete. Known before the call: it may be complete after. */
static void stream_waits(const struct xs_api_runtime *rt, CUstream stream, bool per_thread, CUevent event)
{
    struct xs_event_mark m;
    struct xs_queue *q;

    if (XS_LIKELY(!xs_api_intra()) || !xs_event_find(event, &m) || xs_api_captured(rt->hal, stream, per_thread))
        return;
    q = xs_cuda_queue(stream, per_thread); /* the wait may be the first that this stream sees */
    if (q)
        xsched_priv_waits_for(q, m.queue, m.number);
}

CUresult xs_hand_cuStreamWaitEvent(const struct xs_api_runtime *rt,
                                           CUstream hStream, CUevent hEvent, unsigned Flags)
{
    stream_waits(rt, hStream, false, hEvent);
    return XS_REAL(cuStreamWaitEvent)(hStream, hEvent, Flags);
}

CUresult xs_hand_cuStreamWaitEvent_ptsz(const struct xs_api_runtime *rt,
                                           CUstream hStream, CUevent hEvent, unsigned Flags)
{
    stream_waits(rt, hStream, true, hEvent);
    return XS_REAL(cuStreamWaitEvent_ptsz)(hStream, hEvent, Flags);
}

CUresult xs_hand_cuEventSynchronize(const struct xs_api_runtime *rt, CUevent hEvent)
{
    struct xs_event_mark m;
    CUresult r;

    if (XS_LIKELY(!xs_api_intra()) || !xs_event_find(hEvent, &m))
        return XS_REAL(cuEventSynchronize)(hEvent);
    xsched_priv_wait_begin(m.queue);
    r = XS_REAL(cuEventSynchronize)(hEvent);
    xsched_priv_wait_end(m.queue, m.number, r == XS_CU_SUCCESS);
    return r;
}

CUresult xs_hand_cuEventQuery(const struct xs_api_runtime *rt, CUevent hEvent)
{
    CUresult r = XS_REAL(cuEventQuery)(hEvent);
    struct xs_event_mark m;

    if (XS_UNLIKELY(r == XS_CU_NOT_READY && xs_api_intra()) && xs_event_find(hEvent, &m))
        xsched_priv_polled(m.queue, m.number);
    return r;
}
