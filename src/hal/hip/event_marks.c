/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events, where the device cannot write: hal/common/event_watch.h. */
#include "hal/hip/hal.h"

static const struct xs_hip_api *api_of(const struct xs_watch_place *place)
{
    return ((const struct xs_hip_device *)(const void *)place)->api;
}

static void begin(const struct xs_watch_place *place)
{
    const struct xs_hip_api *api = api_of(place);
    int mode = XS_HIP_CAPTURE_MODE_RELAXED;

    if (api->hipThreadExchangeStreamCaptureMode) /* else a query may spoil a capture elsewhere */
        api->hipThreadExchangeStreamCaptureMode(&mode);
}

static int ask(const struct xs_watch_place *place, void *event)
{
    hipError_t r = api_of(place)->hipEventQuery(event);

    return r == XS_HIP_SUCCESS ? 0 : r == XS_HIP_NOT_READY ? 1 : -1; /* lost: the program reset its device */
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    if (reached)
        xsched_priv_completed(q, number);
    else
        xsched_priv_mark_lost(q, number);
}

const struct xs_watch_ops xs_hip_watch = {"HIP", begin, ask, done};

bool xs_hip_mark_event(struct xs_hip_hw *hw, struct xs_queue *q, uint64_t number)
{
    const struct xs_hip_api *api = hw->api;
    void *event = NULL;
    hipStream_t stream;
    bool ok = xs_hip_mark_stream(hw, number, &stream);
    int row = ok ? xs_watch_take(&xs_hip_watch, &hw->device->watch, &event) : -1;

    if (row < 0)
        return false;
    if (!event && api->hipEventCreateWithFlags((hipEvent_t *)&event, XS_HIP_EVENT_NO_TIMING) != XS_HIP_SUCCESS)
        event = NULL;
    ok = event && api->hipEventRecord(event, stream) == XS_HIP_SUCCESS;
    if (ok)
        xs_watch_set(row, event, q, number);
    else
        xs_watch_give_back(row, event);
    return ok;
}
