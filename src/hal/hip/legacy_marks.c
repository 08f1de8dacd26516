/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of a null stream, like those of CUDA's legacy stream (hal/cuda/legacy_marks.c). If blocking streams
 * of the device have submitted since the null stream's last command, or that is unknown, the mark goes into a
 * blocking stream of our own. Without such a stream there is no mark. */
#include "hal/hip/hal.h"

#include "base/log.h"

/* Once for each device of a runtime, until the program resets that. NULL: the runtime refused. The device is
 * current. */
static hipStream_t own_stream(struct xs_hip_device *d)
{
    hipStream_t own = atomic_load(&d->mark_stream), made = NULL;

    if (own || atomic_load(&d->no_mark_stream))
        return own;
    if (!d->api->hipStreamCreateWithFlags || d->api->hipStreamCreateWithFlags(&made, 0) != XS_HIP_SUCCESS) {
        atomic_store(&d->no_mark_stream, true);
        XS_WARN_ONCE("HIP: no stream for completion marks; XSched may notice the end of work in the null stream late");
        return NULL;
    }
    if (atomic_compare_exchange_strong(&d->mark_stream, &own, made))
        return made;
    if (d->api->hipStreamDestroy)
        d->api->hipStreamDestroy(made);
    return own;
}

bool xs_hip_mark_stream(struct xs_hip_hw *hw, uint64_t number, hipStream_t *ret)
{
    hipStream_t stream = hw->stream;

    if (XS_UNLIKELY(xs_native_is_null(xs_stream_native(&hw->st))) &&
        xs_group_submitted(&xs_hip_streams, &hw->device->group, number)) {
        stream = own_stream(hw->device);
        if (!stream)
            return false;
    }
    *ret = stream;
    return true;
}

void xs_hip_mark_stream_gone(struct xs_hip_device *d)
{
    atomic_store(&d->mark_stream, NULL);
    atomic_store(&d->no_mark_stream, false);
}
