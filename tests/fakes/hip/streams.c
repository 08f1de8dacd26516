/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, captures and graphs. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct known {             /* events of this copy; under fake_lock; kept when destroyed */
    CUevent event;
    struct known *next;
} *g_events;

bool fake_knows_stream(hipStream_t s)
{
    bool found = (uintptr_t)s <= 2;

    pthread_mutex_lock(&fake_lock);
    for (struct CUctx_st *c = fake_contexts; c && !found; c = c->next)
        for (struct CUstream_st *p = c->streams; p && !found; p = p->next)
            found = p == CU_STREAM(s) && !p->destroyed;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

static bool knows_event(hipEvent_t e)
{
    bool found = false;

    pthread_mutex_lock(&fake_lock);
    for (struct known *k = g_events; k && !found; k = k->next)
        found = k->event == (CUevent)e;
    pthread_mutex_unlock(&fake_lock);
    return found;
}

#define WITH_STREAM(s, call)                                                                      \
    do {                                                                                          \
        hipError_t r_ = fake_ready();                                                             \
        if (!r_ && !fake_knows_stream(s))                                                         \
            r_ = XS_HIP_CONTEXT_DESTROYED;                                                        \
        return fake_result(r_ ? r_ : (call));                                                     \
    } while (0)

static hipError_t create(hipStream_t *ret, unsigned flags, int priority)
{
    hipError_t r = fake_ready();

    return fake_result(r ? r : cuStreamCreateWithPriority((CUstream *)ret, flags, priority));
}

API hipStreamCreate(hipStream_t *ret)
{
    return create(ret, 0, 0);
}

API hipStreamCreateWithFlags(hipStream_t *ret, unsigned flags)
{
    return create(ret, flags, 0);
}

API hipStreamCreateWithPriority(hipStream_t *ret, unsigned flags, int priority)
{
    return create(ret, flags, priority < -1 ? -1 : priority > 1 ? 1 : priority);
}

API hipExtStreamCreateWithCUMask(hipStream_t *ret, uint32_t n, const uint32_t *mask)
{
    (void)n, (void)mask;
    return create(ret, 0, 0);
}

API hipExecutionCtxStreamCreate(hipStream_t *ret, void *ctx, unsigned flags, int priority)
{
    (void)ctx;                    /* all of the device, whatever it is */
    return hipStreamCreateWithPriority(ret, flags, priority);
}

API hipStreamDestroy(hipStream_t s)
{
    if ((uintptr_t)s <= 2)
        return fake_result(XS_HIP_INVALID_HANDLE);
    WITH_STREAM(s, cuStreamDestroy_v2(CU_STREAM(s)));
}

API hipStreamGetPriority(hipStream_t s, int *p)
{
    *p = (uintptr_t)s > 2 && fake_knows_stream(s) ? CU_STREAM(s)->priority : 0;
    return 0;
}

API hipStreamGetFlags(hipStream_t s, unsigned *f)
{
    WITH_STREAM(s, (*f = (uintptr_t)s > 2 ? CU_STREAM(s)->flags : 0, 0));
}

API hipStreamGetDevice(hipStream_t s, int *d)
{
    WITH_STREAM(s, (*d = (uintptr_t)s > 2 ? CU_STREAM(s)->ctx->dev : fake_current()->dev, 0));
}

int hipGetStreamDeviceId(hipStream_t s) __attribute__((visibility("default")));
int hipGetStreamDeviceId(hipStream_t s)
{
    int d = -1;

    return hipStreamGetDevice(s, &d) ? -1 : d;
}

API hipStreamSynchronize(hipStream_t s)
{
    WITH_STREAM(s, fake_synchronize(CU_STREAM(s), false));
}

API hipStreamSynchronize_spt(hipStream_t s)
{
    WITH_STREAM(s, fake_synchronize(CU_STREAM(s), true));
}

API hipStreamQuery(hipStream_t s)
{
    WITH_STREAM(s, cuStreamQuery(CU_STREAM(s)));
}

API hipStreamQuery_spt(hipStream_t s)
{
    WITH_STREAM(s, cuStreamQuery_ptsz(CU_STREAM(s)));
}

API hipStreamWaitEvent(hipStream_t s, hipEvent_t e, unsigned flags)
{
    if (!knows_event(e))
        return fake_result(XS_HIP_INVALID_HANDLE);
    WITH_STREAM(s, cuStreamWaitEvent(CU_STREAM(s), (CUevent)e, flags));
}

API hipLaunchHostFunc(hipStream_t s, void *fn, void *arg)
{
    WITH_STREAM(s, cuLaunchHostFunc(CU_STREAM(s), fn, arg));
}

/* ---- values ---- */

API hipStreamWriteValue64(hipStream_t s, void *p, uint64_t v, unsigned flags)
{
    if (fake_hip_fault("no_writes"))
        return fake_result(XS_HIP_NOT_SUPPORTED);
    WITH_STREAM(s, cuStreamWriteValue64_v2(CU_STREAM(s), (CUdeviceptr)(uintptr_t)p, v, flags));
}

API hipStreamWriteValue32(hipStream_t s, void *p, uint32_t v, unsigned flags)
{
    if (fake_hip_fault("no_writes"))
        return fake_result(XS_HIP_NOT_SUPPORTED);
    WITH_STREAM(s, cuStreamWriteValue32_v2(CU_STREAM(s), (CUdeviceptr)(uintptr_t)p, v, flags));
}

API hipStreamWaitValue32(hipStream_t s, void *p, uint32_t v, unsigned flags, uint32_t mask)
{
    (void)mask;
    WITH_STREAM(s, cuStreamWaitValue32_v2(CU_STREAM(s), (CUdeviceptr)(uintptr_t)p, v, flags));
}

API hipStreamWaitValue64(hipStream_t s, void *p, uint64_t v, unsigned flags, uint64_t mask)
{
    (void)mask;
    WITH_STREAM(s, cuStreamWaitValue64_v2(CU_STREAM(s), (CUdeviceptr)(uintptr_t)p, v, flags));
}

/* ---- events ---- */

API hipEventCreateWithFlags(hipEvent_t *e, unsigned flags)
{
    struct known *k;
    hipError_t r = fake_ready();

    if (r || (r = cuEventCreate((CUevent *)e, flags)))
        return fake_result(r);
    k = malloc(sizeof(*k));
    pthread_mutex_lock(&fake_lock);
    *k = (struct known){(CUevent)*e, g_events};
    g_events = k;
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API hipEventCreate(hipEvent_t *e)
{
    return hipEventCreateWithFlags(e, 0);
}

API hipEventDestroy(hipEvent_t e)
{
    return fake_result(knows_event(e) ? 0 : XS_HIP_INVALID_HANDLE);
}

API hipEventRecord(hipEvent_t e, hipStream_t s)
{
    if (!knows_event(e))
        return fake_result(XS_HIP_INVALID_HANDLE);
    WITH_STREAM(s, cuEventRecord((CUevent)e, CU_STREAM(s)));
}

API hipEventQuery(hipEvent_t e)
{
    return fake_result(!knows_event(e) ? XS_HIP_INVALID_HANDLE : cuEventQuery((CUevent)e));
}

API hipEventSynchronize(hipEvent_t e)
{
    return fake_result(!knows_event(e) ? XS_HIP_INVALID_HANDLE : cuEventSynchronize((CUevent)e));
}

API hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    *ms = 0;
    return fake_result(knows_event(start) && knows_event(stop) ? 0 : XS_HIP_INVALID_HANDLE);
}

/* ---- captures and graphs ---- */

API hipThreadExchangeStreamCaptureMode(int *mode)
{
    return cuThreadExchangeStreamCaptureMode(mode);
}

API hipStreamIsCapturing(hipStream_t s, int *status)
{
    WITH_STREAM(s, cuStreamIsCapturing(CU_STREAM(s), status));
}

API hipStreamBeginCapture(hipStream_t s, int mode)
{
    WITH_STREAM(s, cuStreamBeginCapture_v2(CU_STREAM(s), mode));
}

API hipStreamEndCapture(hipStream_t s, hipGraph_t *g)
{
    WITH_STREAM(s, cuStreamEndCapture(CU_STREAM(s), (CUgraph *)g));
}

API hipGraphInstantiate(hipGraphExec_t *ret, hipGraph_t g, void *node, char *log, size_t n)
{
    (void)node, (void)log, (void)n;
    return cuGraphInstantiateWithFlags((CUgraphExec *)ret, (CUgraph)g, 0);
}

API hipGraphLaunch(hipGraphExec_t exec, hipStream_t s)
{
    hipError_t r = fake_accepts(s);

    return fake_result(r ? r : cuGraphLaunch((CUgraphExec)exec, CU_STREAM(s)));
}
