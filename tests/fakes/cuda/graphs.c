/* SPDX-License-Identifier: Apache-2.0 */
/* Capture and graphs. */
#include <stdlib.h>

#include "internal.h"

API cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int mine;
    int old = mine;

    mine = *mode;
    *mode = old;
    return 0;
}

static _Atomic int g_asked;       /* whether a stream captures */

/* For tests. */
API fake_cuda_capturing_asked(void)
{
    return g_asked;
}

API cuStreamIsCapturing(CUstream stream, int *status)
{
    struct CUstream_st *s;
    CUresult r = 0;

    g_asked++;
    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    *status = !s || !s->capture || s->capture->graphics ? 0 : s->capture->invalid ? 2 : 1;
    if (s && s->legacy) /* as documented: not while a blocking stream captures */
        for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
            if (o->capture && o->blocking)
                r = XS_CU_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuStreamBeginCapture_v2(CUstream s, int mode)
{
    CUresult r = ILLEGAL_STATE;

    (void)mode;
    if ((uintptr_t)s <= 2)
        return CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&fake_lock);
    if (!s->capture) {
        s->capture = calloc(1, sizeof(*s->capture));
        s->capture->origin = s;
        s->captured = s->rejoined = 0;
        r = 0;
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

/* As documented: a graph that was captured before is captured anew. Here it is another graph then. */
API cuStreamBeginRecaptureToGraph(CUstream s, int mode, CUgraph graph, void *callback, void *arg)
{
    (void)callback, (void)arg;
    return graph ? cuStreamBeginCapture_v2(s, mode) : XS_CU_INVALID_VALUE;
}

static struct CUgraph_st *g_recorded;

/* For tests: the last command list. */
__attribute__((visibility("default"))) const struct CUgraph_st *fake_cuda_recorded(void)
{
    return g_recorded;
}

API cuStreamBeginCaptureToCig(CUstream s, void *params)
{
    CUresult r = params ? cuStreamBeginCapture_v2(s, 2) : XS_CU_INVALID_VALUE;

    if (!r)
        s->capture->graphics = true;
    return r;
}

API cuStreamEndCaptureToCig(CUstream s)
{
    if ((uintptr_t)s <= 2 || !s->capture || !s->capture->graphics)
        return XS_CU_INVALID_VALUE;
    g_recorded = s->capture;
    s->capture = NULL;
    return 0;
}

/* A function of the future that begins one. */
CUresult fake_begin_anew(int how, CUstream s);
CUresult fake_begin_anew(int how, CUstream s)
{
    return how == 99 ? cuStreamBeginCapture_v2(s, 2) : XS_CU_INVALID_VALUE;
}

API cuStreamEndCapture(CUstream s, CUgraph *ret)
{
    struct CUgraph_st *g = NULL;
    CUresult r = 0;

    *ret = NULL;
    pthread_mutex_lock(&fake_lock);
    if ((uintptr_t)s > 2)
        g = s->capture;
    if (!g)
        r = ILLEGAL_STATE;
    else if (g->invalid)
        r = CAPTURE_INVALIDATED;
    else if (g->origin != s)
        r = CAPTURE_UNMATCHED;
    for (struct CUstream_st *o = g ? s->ctx->streams : NULL; o && !r; o = o->next)
        if (o->capture == g && o != s && o->captured != o->rejoined)
            r = CAPTURE_UNJOINED;
    if (g && g->origin == s) { /* whatever it answers, that capture is over */
        for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
            if (o->capture == g)
                o->capture = NULL;
        *ret = r ? NULL : g;
    } else if (g) {
        g->invalid = true;
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph g, uint64_t flags)
{
    bool there = true;

    (void)flags;
    if (fake_absent) {
        pthread_mutex_lock(&fake_mappings);
        for (const struct fake_op *op = g->head; op && there; op = op->next)
            there = (op->kind != FAKE_COPY && op->kind != FAKE_FILL) ||
                    (!fake_absent(op->dst, op->bytes * (op->width ? op->width : 1)) &&
                     (op->kind == FAKE_FILL || !fake_absent(op->src, op->bytes)));
        pthread_mutex_unlock(&fake_mappings);
    }
    if (!there)
        return XS_CU_INVALID_VALUE; /* as measured on an H200 */
    *ret = (CUgraphExec)g;
    return 0;
}

API cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct CUgraph_st *g = (struct CUgraph_st *)exec;
    struct CUstream_st *s;

    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    fake_graph_memory_launched_locked(g);
    for (struct fake_op *op = g->head; s && op; op = op->next)
        fake_put_locked(s, *op);
    pthread_mutex_unlock(&fake_lock);
    return s ? 0 : INVALID_CONTEXT;
}
