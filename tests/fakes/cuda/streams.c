/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* For tests: how many were made. */
static _Atomic int g_made;

int fake_cuda_streams_made(void) __attribute__((visibility("default")));
int fake_cuda_streams_made(void)
{
    return g_made;
}

static CUresult create(CUstream *ret, unsigned flags, int priority)
{
    if (!fake_current())
        return INVALID_CONTEXT;
    g_made++;
    pthread_mutex_lock(&fake_lock);
    *ret = fake_stream_new(fake_current(), flags, priority);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
    FAKE_MAY_FAIL();
    return create(ret, flags, priority);
}

API cuStreamCreate(CUstream *ret, unsigned flags)
{
    return create(ret, flags, 0);
}

API cuStreamDestroy_v2(CUstream s)
{
    s->destroyed = true; /* its work goes on */
    return 0;
}

/* For tests: questions about a stream by another thread than the one that made it, which may destroy it at any moment. */
static _Atomic int g_asked_aside;

int fake_cuda_asked_aside(void) __attribute__((visibility("default")));
int fake_cuda_asked_aside(void)
{
    return g_asked_aside;
}

API cuStreamGetPriority(CUstream s, int *p)
{
    g_asked_aside += (uintptr_t)s > 2 && !pthread_equal(s->maker, pthread_self());
    *p = (uintptr_t)s > 2 ? s->priority : 0;
    return 0;
}

API cuStreamGetCtx(CUstream s, CUcontext *c)
{
    *c = (uintptr_t)s > 2 ? s->ctx : fake_current();
    return 0;
}

CUresult fake_synchronize(CUstream stream, bool per_thread)
{
    struct CUstream_st *s;
    CUresult r;

    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, per_thread);
    if (s)
        fake_drain(s);
    r = !s ? INVALID_CONTEXT : fake_lost ? ILLEGAL_ADDRESS : 0;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuStreamSynchronize(CUstream s)
{
    return fake_synchronize(s, false);
}

API cuStreamSynchronize_ptsz(CUstream s)
{
    return fake_synchronize(s, true);
}

static CUresult query(CUstream stream, bool per_thread)
{
    struct CUstream_st *s;
    CUresult r;

    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, per_thread);
    r = !s ? INVALID_CONTEXT : fake_lost ? ILLEGAL_ADDRESS : s->head ? XS_CU_NOT_READY : 0;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuStreamQuery(CUstream s)
{
    return query(s, false);
}

API cuStreamQuery_ptsz(CUstream s)
{
    return query(s, true);
}

/* For tests: the call of the kind after so many others fails; 0: none does. */
static _Atomic int g_fail_record, g_fail_wait;

void fake_cuda_fail(int record, int wait) __attribute__((visibility("default")));
void fake_cuda_fail(int record, int wait)
{
    g_fail_record = record;
    g_fail_wait = wait;
}

static bool fails(_Atomic int *left)
{
    return *left && --*left == 0;
}

API cuEventCreate(CUevent *e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof(**e));
    (*e)->ctx = fake_current();
    return 0;
}

API cuEventRecord(CUevent e, CUstream stream)
{
    struct CUstream_st *s;

    if ((uintptr_t)stream <= 2 && !fake_current())
        return INVALID_CONTEXT;
    FAKE_MAY_FAIL();
    if (fails(&g_fail_record))
        return XS_CU_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    e->capture = s->capture;
    e->on = s;
    e->captured = s->captured;
    if (!s->capture) {
        e->record = calloc(1, sizeof(*e->record));
        fake_put_locked(s, (struct fake_op){.kind = FAKE_EVENT, .record = e->record});
    }
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

/* Of an event that is only a place in a graph nothing can be asked, and that capture is spoilt. */
static CUresult captured_event(CUevent e)
{
    if (!e->capture)
        return fake_lost ? ILLEGAL_ADDRESS : 0;
    e->capture->invalid = true;
    return CAPTURED_EVENT;
}

/* A real driver may crash: an event ends with its context. */
static void still_there_locked(const struct CUevent_st *e)
{
    struct CUctx_st *c;

    for (c = fake_contexts; c && c != e->ctx; c = c->next)
        ;
    if (e->ctx && !c) {
        fprintf(stderr, "fake CUDA: an event is asked for whose context is gone\n");
        abort();
    }
}

API cuEventQuery(CUevent e)
{
    CUresult r;

    pthread_mutex_lock(&fake_lock);
    still_there_locked(e);
    r = captured_event(e);
    if (!r && e->record && !e->record->done)
        r = XS_CU_NOT_READY;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuEventSynchronize(CUevent e)
{
    struct fake_record *record;
    CUresult r;

    pthread_mutex_lock(&fake_lock);
    r = captured_event(e);
    record = r ? NULL : e->record;
    while (!fake_forked && record && !record->done)
        pthread_cond_wait(&fake_changed, &fake_lock);
    r = !r && fake_lost ? ILLEGAL_ADDRESS : r;
    pthread_mutex_unlock(&fake_lock);
    return r;
}

API cuStreamWaitEvent(CUstream stream, CUevent e, unsigned flags)
{
    struct CUstream_st *s;

    (void)flags;
    if ((uintptr_t)stream <= 2 && !fake_current())
        return INVALID_CONTEXT;
    if (fails(&g_fail_wait))
        return XS_CU_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, false);
    if (e->capture && !s->capture) {
        s->capture = e->capture;
        s->captured = s->rejoined = 0;
    }
    if (e->capture) {
        if (e->on != s && e->on->capture == e->capture && e->captured > e->on->rejoined)
            e->on->rejoined = e->captured;
    } else if (e->record && !s->capture) {
        fake_put_locked(s, (struct fake_op){.kind = FAKE_WAIT_EVENT, .record = e->record});
    }
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

API cuStreamGetFlags(CUstream s, unsigned *flags)
{
    *flags = (uintptr_t)s > 2 ? s->flags : 0;
    return 0;
}
