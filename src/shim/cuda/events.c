/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that record events and wait for them, written by hand as in hand.c. */
#include "shim/stream/stream_events.h"
#include "shim/stream/prototypes.h"

#define RECORD(symbol, per_thread, args)                                                          \
    do {                                                                                          \
        struct xs_event_mark m = xs_api_event_before(rt, hStream, per_thread);                    \
        return xs_api_event_recorded(XS_REAL(symbol) args, hEvent, m);                            \
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
    xs_api_event_ends(hEvent);
    return XS_REAL(cuEventDestroy)(hEvent);
}

CUresult xs_hand_cuEventDestroy_v2(const struct xs_api_runtime *rt, CUevent hEvent)
{
    xs_api_event_ends(hEvent);
    return XS_REAL(cuEventDestroy_v2)(hEvent);
}

CUresult xs_hand_cuStreamWaitEvent(const struct xs_api_runtime *rt,
                                           CUstream hStream, CUevent hEvent, unsigned Flags)
{
    xs_api_event_holds(rt, hStream, false, hEvent);
    return XS_REAL(cuStreamWaitEvent)(hStream, hEvent, Flags);
}

CUresult xs_hand_cuStreamWaitEvent_ptsz(const struct xs_api_runtime *rt,
                                           CUstream hStream, CUevent hEvent, unsigned Flags)
{
    xs_api_event_holds(rt, hStream, true, hEvent);
    return XS_REAL(cuStreamWaitEvent_ptsz)(hStream, hEvent, Flags);
}

CUresult xs_hand_cuEventSynchronize(const struct xs_api_runtime *rt, CUevent hEvent)
{
    struct xs_event_mark m;
    CUresult r;

    if (!xs_api_event_wait(hEvent, &m))
        return XS_REAL(cuEventSynchronize)(hEvent);
    r = XS_REAL(cuEventSynchronize)(hEvent);
    xs_api_event_waited(m, r);
    return r;
}

CUresult xs_hand_cuEventQuery(const struct xs_api_runtime *rt, CUevent hEvent)
{
    CUresult r = XS_REAL(cuEventQuery)(hEvent);

    xs_api_event_asked(hEvent, r);
    return r;
}
