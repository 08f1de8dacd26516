/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of a legacy stream. Each entry in it waits for the earlier commands of its context's blocking
 * streams, and their later ones wait for it. So a mark there, behind work of theirs, would order streams that
 * the program lets run side by side. Then the mark goes into a blocking stream of our own. That stream waits
 * for the legacy stream alone, and only later commands of the legacy stream wait for it. */
#include "hal/cuda/hal.h"

#include "base/log.h"

/* Once for each context, and it ends with that. NULL: the driver refused. The context is current. */
static CUstream own_stream(struct xs_cuda_context *c)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    CUstream own = atomic_load(&c->mark_stream), made = NULL;

    if (own || atomic_load(&c->no_mark_stream))
        return own;
    if (!api->cuStreamCreateWithPriority || api->cuStreamCreateWithPriority(&made, 0, 0) != XS_CU_SUCCESS) {
        atomic_store(&c->no_mark_stream, true);
        XS_WARN_ONCE("CUDA: no stream for completion marks; XSched may notice the end of work in the legacy stream late");
        return NULL;
    }
    if (atomic_compare_exchange_strong(&c->mark_stream, &own, made))
        return made;
    if (api->cuStreamDestroy_v2)
        api->cuStreamDestroy_v2(made);
    return own;
}

CUstream xs_cuda_mark_stream(struct xs_cuda_hw *hw, uint64_t number)
{
    if (XS_LIKELY(!xs_native_is_null(xs_stream_native(&hw->st))) ||
        !xs_group_submitted(&xs_cuda_streams, &hw->context->group, number))
        return hw->stream;
    return own_stream(hw->context);
}

void xs_cuda_mark_stream_gone(struct xs_cuda_context *c)
{
    atomic_store(&c->mark_stream, NULL);
    atomic_store(&c->no_mark_stream, false);
}
