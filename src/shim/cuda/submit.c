/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a whole context. */
#include "shim/cuda/call.h"

static void wait_one(struct xs_queue *q, void *arg)
{
    struct xs_cuda_wait_all *w = arg;

    if (w->n == XS_CUDA_WAIT_QUEUES)
        return;
    w->of[w->n].queue = q;
    w->of[w->n++].began = xsched_priv_wait_begin(q);
}

void xs_cuda_wait_all_open(struct xs_cuda_wait_all *w, CUcontext ctx)
{
    w->n = 0;
    w->begin_ns = xs_cuda_tracing ? xs_now_ns() : 0;
    xsched_priv_cuda_each_queue(ctx, wait_one, w);
}

void xs_cuda_wait_all_close(struct xs_cuda_wait_all *w, enum xs_cuda_row row, CUresult r)
{
    for (size_t i = 0; i < w->n; i++)
        xsched_priv_wait_end(w->of[i].queue, w->of[i].began, r == XS_CU_SUCCESS);
    if (xs_cuda_tracing)
        xs_trace_call(xs_cuda_info[row].symbol, XS_HOW_SYNC, 0, r, false, w->begin_ns);
}
