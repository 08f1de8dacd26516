/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a whole context. */
#include "shim/stream/stream_call.h"

static void wait_one(struct xs_queue *q, void *arg)
{
    struct xs_api_wait_all *w = arg;

    if (w->n == XS_API_WAIT_QUEUES)
        return;
    w->of[w->n].queue = q;
    w->of[w->n++].began = xsched_priv_wait_begin(q);
}

void xs_api_wait_all_open(struct xs_api_wait_all *w, const struct xs_api_runtime *rt, xs_api_context ctx)
{
    w->rt = rt;
    w->n = 0;
    w->begin_ns = xs_shim_tracing ? xs_now_ns() : 0;
    xs_api_each_queue(rt->hal, ctx, wait_one, w);
}

void xs_api_wait_all_close(struct xs_api_wait_all *w, enum xs_row row, xs_api_result r)
{
    for (size_t i = 0; i < w->n; i++)
        xsched_priv_wait_end(w->of[i].queue, w->of[i].began, r == XS_API_OK);
    if (r != XS_API_OK && xs_api_is_over(r))
        xs_api_over(w->rt);
    if (xs_shim_tracing)
        xs_trace_call(xs_row_info[row].symbol, xs_row_info[row].how, 0, r, false, w->begin_ns);
}

static void over(struct xs_queue *q, void *arg)
{
    (void)arg;
    xsched_priv_wait_end(q, xsched_priv_wait_begin(q), true);
}

void xs_api_over(const struct xs_api_runtime *rt)
{
    xs_api_each_queue(rt->hal, (xs_api_context)0, over, NULL);
}
