/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that record events and wait for them, written by hand as in hand.c. */
#include "shim/stream/stream_events.h"
#include "shim/stream/prototypes.h"

#define RECORD(symbol, per_thread, args)                                                          \
    do {                                                                                          \
        struct xs_event_mark m = xs_api_event_before(rt, stream, per_thread);                     \
        return xs_api_event_recorded(XS_REAL(symbol) args, event, m);                             \
    } while (0)

hipError_t xs_hand_hipEventRecord(const struct xs_api_runtime *rt, hipEvent_t event, hipStream_t stream)
{
    RECORD(hipEventRecord, false, (event, stream));
}

hipError_t xs_hand_hipEventRecord_spt(const struct xs_api_runtime *rt, hipEvent_t event, hipStream_t stream)
{
    RECORD(hipEventRecord_spt, true, (event, stream));
}

hipError_t xs_hand_hipEventRecordWithFlags(const struct xs_api_runtime *rt, hipEvent_t event, hipStream_t stream,
                                           unsigned flags)
{
    RECORD(hipEventRecordWithFlags, false, (event, stream, flags));
}

hipError_t xs_hand_hipEventDestroy(const struct xs_api_runtime *rt, hipEvent_t event)
{
    xs_api_event_ends(event);
    return XS_REAL(hipEventDestroy)(event);
}

hipError_t xs_hand_hipStreamWaitEvent(const struct xs_api_runtime *rt, hipStream_t stream, hipEvent_t event,
                                      unsigned flags)
{
    xs_api_event_holds(rt, stream, false, event);
    return XS_REAL(hipStreamWaitEvent)(stream, event, flags);
}

hipError_t xs_hand_hipStreamWaitEvent_spt(const struct xs_api_runtime *rt, hipStream_t stream, hipEvent_t event,
                                          unsigned flags)
{
    xs_api_event_holds(rt, stream, true, event);
    return XS_REAL(hipStreamWaitEvent_spt)(stream, event, flags);
}

hipError_t xs_hand_hipEventSynchronize(const struct xs_api_runtime *rt, hipEvent_t event)
{
    struct xs_event_mark m;
    hipError_t r;

    if (!xs_api_event_wait(event, &m))
        return XS_REAL(hipEventSynchronize)(event);
    r = XS_REAL(hipEventSynchronize)(event);
    xs_api_event_waited(m, r);
    return r;
}

hipError_t xs_hand_hipEventQuery(const struct xs_api_runtime *rt, hipEvent_t event)
{
    hipError_t r = XS_REAL(hipEventQuery)(event);

    xs_api_event_asked(event, r);
    return r;
}
