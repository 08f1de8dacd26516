/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/cuda/swap/copy.h"

#include "hal/cuda/swap/store.h"

int xs_swap_failed(struct xs_swap_report *r, int error, const char *why)
{
    r->error = error;
    r->why = why;
    return error;
}

CUresult xs_swap_way_open(struct xs_swap_way *w, struct xs_swap *s, CUcontext ctx)
{
    CUresult err = XS_CU_NOT_FOUND;

    *w = (struct xs_swap_way){.s = s, .ctx = ctx};
    if (!xs_cuda_enter(ctx, &w->entered))
        return err;
    err = s->api->cuStreamCreateWithPriority(&w->stream, XS_CU_STREAM_NON_BLOCKING, 0);
    if (err != XS_CU_SUCCESS)
        xs_cuda_leave(&w->entered);
    return err;
}

void xs_swap_way_close(struct xs_swap_way *w)
{
    w->s->api->cuStreamDestroy_v2(w->stream);
    xs_cuda_leave(&w->entered);
}

CUresult xs_swap_copy(struct xs_swap_way *w, const struct xs_swap_range *r, unsigned block, bool out)
{
    const struct xs_cuda_api *api = w->s->api;
    size_t bytes = xs_swap_block_bytes(r, block), from = block * XS_SWAP_BLOCK, some;
    CUresult err = XS_CU_SUCCESS;

    for (size_t at = 0; at < bytes && err == XS_CU_SUCCESS; at += some) {
        char *host = xs_swap_store_at(api, w->ctx, r->store_at + from + at, &some);

        some = XS_MIN(some, bytes - at);
        err = out ? api->cuMemcpyDtoHAsync_v2(host, r->at + from + at, some, w->stream)
                  : api->cuMemcpyHtoDAsync_v2(r->at + from + at, host, some, w->stream);
    }
    return err;
}
