/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events, where the device cannot write: before CUDA 12 stream memory operations may be off, or the
 * driver refuses to register memory. A thread (hal/common/event_watch.h) asks for the events and writes the
 * number that the device would have written. Others see no difference but that it comes later. */
#include "hal/cuda/hal.h"

#include "base/log.h"

#define NO_TIMING 2u

static void begin(const struct xs_watch_place *place)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    int mode = XS_CU_CAPTURE_MODE_RELAXED;

    (void)place;
    if (api->cuThreadExchangeStreamCaptureMode) /* else a query may spoil a capture elsewhere */
        api->cuThreadExchangeStreamCaptureMode(&mode);
}

static int ask(const struct xs_watch_place *place, void *event)
{
    CUresult r = xsched_priv_cuda_api(NULL)->cuEventQuery(event);

    (void)place;
    return r == XS_CU_SUCCESS ? 0 : r == XS_CU_NOT_READY ? 1 : -1;
}

/* Of two marks of one stream the thread may find the later one first, and the queue may end before the other
 * one does. Without xsched_priv_queue_hold, its word would then be the next queue's. */
static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    _Atomic uint64_t *word = xsched_priv_mark_word(q);
    uint64_t seen = atomic_load(word);

    while (reached && seen < number && !atomic_compare_exchange_weak(word, &seen, number))
        ;
    xsched_priv_queue_let_go(q);
}

const struct xs_watch_ops xs_cuda_watch = {"CUDA", begin, ask, done};

bool xs_cuda_mark_event(struct xs_cuda_hw *hw, struct xs_queue *q, uint64_t number)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_entered e;
    void *event = NULL;
    bool ok = false;
    CUstream stream;
    int row;

    if (!api->cuEventCreate || !api->cuEventRecord || !api->cuEventQuery) {
        XS_WARN_ONCE("CUDA: this driver has neither stream memory operations nor events; nothing bounds the commands in flight");
        return false;
    }
    if (atomic_load_explicit(&hw->st.mark_queue, memory_order_acquire) != q)
        xs_stream_marks_to(&hw->st, q, 0);
    /* an event belongs to the context that made it */
    if (!xs_cuda_enter(hw->ctx, &e))
        return false;
    stream = xs_cuda_mark_stream(hw, number);
    row = stream ? xs_watch_take(&xs_cuda_watch, &hw->context->watch, &event) : -1;
    if (row >= 0 && (event || api->cuEventCreate((CUevent *)&event, NO_TIMING) == XS_CU_SUCCESS))
        ok = api->cuEventRecord(event, stream) == XS_CU_SUCCESS;
    else
        event = NULL;
    xs_cuda_leave(&e);
    if (ok) {
        xsched_priv_queue_hold(q); /* until `done` */
        xs_watch_set(row, event, q, number);
    } else if (row >= 0) {
        xs_watch_give_back(row, event);
    }
    return ok;
}
