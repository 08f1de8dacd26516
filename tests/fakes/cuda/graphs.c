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

API cuStreamIsCapturing(CUstream stream, int *status)
{
    struct CUstream_st *s;
    CUresult r = 0;

    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    *status = s && s->capture ? 1 : 0;
    if (s && s->legacy) /* as documented: not while a blocking stream captures */
        for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
            if (o->capture && o->blocking)
                r = XS_CU_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuStreamBeginCapture_v2(CUstream s, int mode)
{
    (void)mode;
    if ((uintptr_t)s <= 2)
        return CAPTURE_UNSUPPORTED;
    s->capture = calloc(1, sizeof(*s->capture));
    s->capture->origin = s;
    s->joined = false;
    return 0;
}

API cuStreamEndCapture(CUstream s, CUgraph *ret)
{
    if ((uintptr_t)s <= 2 || !s->capture || s->joined)
        return 901;
    pthread_mutex_lock(&fake_lock);
    *ret = s->capture;
    for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
        if (o->capture == *ret)
            o->capture = NULL;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph g, uint64_t flags)
{
    (void)flags;
    *ret = (CUgraphExec)g;
    return 0;
}

API cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct CUgraph_st *g = (struct CUgraph_st *)exec;
    struct CUstream_st *s;

    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    for (struct fake_op *op = g->head; s && op; op = op->next)
        fake_put_locked(s, *op);
    pthread_mutex_unlock(&fake_lock);
    return s ? 0 : INVALID_CONTEXT;
}
