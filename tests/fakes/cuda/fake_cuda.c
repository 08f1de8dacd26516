/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default"))) CUresult

#define DEVICES 2
#define INVALID_CONTEXT 201
#define INVALID_HANDLE  400
#define CAPTURE_UNSUPPORTED 900

static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
static struct CUctx_st *g_contexts, *g_primary[DEVICES];
static int g_primary_refs[DEVICES];
static uint64_t g_seq;
static bool g_worker, g_init;
static _Thread_local CUcontext t_stack[16];
static _Thread_local int t_depth;
static _Thread_local char t_me;
static int g_registered;          /* cuMemHostRegister less cuMemHostUnregister */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static CUcontext current(void)
{
    return t_depth ? t_stack[t_depth - 1] : NULL;
}

/* ---- execution ---- */

static bool pending_before(CUcontext ctx, uint64_t seq, bool of_legacy)
{
    for (struct CUstream_st *s = ctx->streams; s; s = s->next)
        if ((of_legacy ? s->legacy : !s->legacy && s->blocking) && s->head && s->head->seq < seq)
            return true;
    return false;
}

static bool may_start(const struct CUstream_st *s)
{
    const struct fake_op *op = s->head;

    if (!op || s->running)
        return false;
    if (s->legacy && pending_before(s->ctx, op->seq, false))
        return false;
    if (!s->legacy && s->blocking && pending_before(s->ctx, op->seq, true))
        return false;
    if (op->kind == FAKE_WAIT_EVENT)
        return op->event->seq > op->event_seq || op->event->done;
    if (op->kind == FAKE_WAIT) {
        uint64_t v = op->width == 8 ? *(volatile uint64_t *)op->dst : *(volatile uint32_t *)op->dst;

        return (op->flags & 3) == 0 ? (int64_t)(v - op->value) >= 0 : v == op->value;
    }
    return true;
}

static struct CUstream_st *choose(int dev)
{
    struct CUstream_st *best = NULL;

    for (struct CUctx_st *c = g_contexts; c; c = c->next)
        for (struct CUstream_st *s = c->dev == dev ? c->streams : NULL; s; s = s->next)
            if (may_start(s) && (!best || s->priority < best->priority ||
                                 (s->priority == best->priority && s->head->seq < best->head->seq)))
                best = s;
    return best;
}

static void execute(struct fake_op *op)
{
    uint64_t end = now_ns() + op->ns;

    while (op->ns && now_ns() < end)
        if (end - now_ns() > 200000)
            nanosleep(&(struct timespec){0, 100000}, NULL);
    switch (op->kind) {
    case FAKE_WORK:
        if (op->log) {
            op->log[1 + op->log[0]] = op->tag;
            __atomic_fetch_add(&op->log[0], 1, __ATOMIC_RELEASE);
        }
        break;
    case FAKE_COPY:
        memcpy(op->dst, op->src, op->bytes);
        break;
    case FAKE_FILL:
        for (size_t i = 0; i < op->bytes; i++)
            memcpy((char *)op->dst + i * op->width, &op->value, op->width);
        break;
    case FAKE_WRITE:
        if (op->width == 8)
            __atomic_store_n((uint64_t *)op->dst, op->value, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint32_t *)op->dst, (uint32_t)op->value, __ATOMIC_RELEASE);
        break;
    case FAKE_HOST:
        op->fn(op->arg);
        break;
    default:
        break;
    }
}

static void *worker(void *dev)
{
    pthread_mutex_lock(&g_lock);
    for (;;) {
        struct CUstream_st *s = choose((int)(intptr_t)dev);
        struct fake_op *op;

        if (!s) { /* memory may change without anybody telling */
            struct timespec t;

            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec += 200000;
            if (t.tv_nsec >= 1000000000) {
                t.tv_nsec -= 1000000000;
                t.tv_sec++;
            }
            pthread_cond_timedwait(&g_changed, &g_lock, &t);
            continue;
        }
        op = s->head;
        s->running = true;
        pthread_mutex_unlock(&g_lock);
        execute(op);
        pthread_mutex_lock(&g_lock);
        if (op->kind == FAKE_EVENT && op->event->seq == op->seq)
            op->event->done = true;
        s->head = op->next;
        if (!s->head)
            s->tail = NULL;
        s->running = false;
        free(op);
        pthread_cond_broadcast(&g_changed);
    }
    return NULL;
}

/* Under g_lock. Into the stream, or into the graph that it captures. */
static struct fake_op *put_locked(struct CUstream_st *s, struct fake_op op)
{
    struct fake_op *p = malloc(sizeof(*p)), **tail;

    *p = op;
    p->next = NULL;
    p->ctx = s->ctx;
    p->seq = ++g_seq;
    tail = s->capture ? (s->capture->tail ? &s->capture->tail->next : &s->capture->head)
                      : (s->tail ? &s->tail->next : &s->head);
    *tail = p;
    if (s->capture)
        s->capture->tail = p;
    else
        s->tail = p;
    pthread_cond_broadcast(&g_changed);
    return p;
}

static struct CUstream_st *new_stream(struct CUctx_st *c, unsigned flags, int priority)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));

    s->ctx = c;
    s->flags = flags;
    s->blocking = !(flags & 1);
    s->priority = priority;
    s->next = c->streams ? c->streams->next : NULL;
    if (c->streams)
        c->streams->next = s;
    else
        c->streams = s;
    return s;
}

static struct CUstream_st *stream_of(CUstream s, bool per_thread)
{
    CUcontext c = current();
    struct CUstream_st *p;

    if ((uintptr_t)s > 2)
        return s;
    if (!c)
        return NULL;
    if (s == XS_CU_STREAM_LEGACY || (!s && !per_thread))
        return c->streams;
    for (p = c->streams; p; p = p->next)
        if (p->thread == &t_me)
            return p;
    p = new_stream(c, 0, 0);
    p->thread = &t_me;
    return p;
}

static CUresult put(CUstream stream, bool per_thread, struct fake_op op)
{
    struct CUstream_st *s;
    CUresult r = INVALID_HANDLE;

    if ((uintptr_t)stream <= 2 && !current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, per_thread);
    if (s && !s->destroyed) {
        put_locked(s, op);
        r = 0;
    }
    pthread_mutex_unlock(&g_lock);
    return r;
}

static void drain(struct CUstream_st *s)
{
    uint64_t upto = g_seq;

    while (s->head && s->head->seq <= upto)
        pthread_cond_wait(&g_changed, &g_lock);
}

/* ---- start, devices, contexts ---- */

API cuInit(unsigned flags)
{
    (void)flags;
    pthread_mutex_lock(&g_lock);
    g_init = true;
    for (intptr_t i = 0; !g_worker && i < DEVICES; i++) {
        pthread_t t;

        pthread_create(&t, NULL, worker, (void *)i);
        pthread_detach(t);
    }
    g_worker = true;
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuDriverGetVersion(int *v)
{
    *v = 13000;
    return 0;
}

API cuDeviceGetCount(int *n)
{
    *n = DEVICES;
    return g_init ? 0 : XS_CU_NOT_INITIALIZED;
}

API cuDeviceGet(CUdevice *d, int i)
{
    if (i < 0 || i >= DEVICES)
        return 101;
    *d = i;
    return g_init ? 0 : XS_CU_NOT_INITIALIZED;
}

API cuDeviceGetAttribute(int *v, int attribute, CUdevice d)
{
    *v = attribute == XS_CU_ATTR_PCI_BUS ? 0x10 + d : 0;
    return 0;
}

static CUcontext new_context(int dev)
{
    struct CUctx_st *c = calloc(1, sizeof(*c));

    c->dev = dev;
    new_stream(c, 0, 0)->legacy = true;
    c->next = g_contexts;
    g_contexts = c;
    return c;
}

API cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice d)
{
    (void)flags;
    pthread_mutex_lock(&g_lock);
    *ret = new_context(d);
    pthread_mutex_unlock(&g_lock);
    t_stack[t_depth++] = *ret;
    return 0;
}

static void end_context(CUcontext c)
{
    for (struct CUctx_st **p = &g_contexts; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next; /* its work is dropped; what runs ends */
            break;
        }
    for (struct CUstream_st *s = c->streams; s; s = s->next)
        while (s->running)
            pthread_cond_wait(&g_changed, &g_lock);
}

API cuCtxDestroy_v2(CUcontext c)
{
    pthread_mutex_lock(&g_lock);
    end_context(c);
    pthread_mutex_unlock(&g_lock);
    if (t_depth && current() == c)
        t_depth--;
    return 0;
}

API cuCtxGetCurrent(CUcontext *ret)
{
    *ret = current();
    return 0;
}

API cuCtxSetCurrent(CUcontext c)
{
    if (!t_depth)
        t_depth = 1;
    t_stack[t_depth - 1] = c;
    return 0;
}

API cuCtxPushCurrent_v2(CUcontext c)
{
    t_stack[t_depth++] = c;
    return 0;
}

API cuCtxPopCurrent_v2(CUcontext *ret)
{
    if (!t_depth)
        return INVALID_CONTEXT;
    *ret = t_stack[--t_depth];
    return 0;
}

API cuCtxGetDevice(CUdevice *d)
{
    if (!current())
        return INVALID_CONTEXT;
    *d = current()->dev;
    return 0;
}

API cuCtxSynchronize(void)
{
    if (!current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&g_lock);
    for (struct CUstream_st *s = current()->streams; s; s = s->next)
        drain(s);
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d)
{
    pthread_mutex_lock(&g_lock);
    if (!g_primary[d]) {
        g_primary[d] = new_context(d);
        g_primary[d]->primary = true;
    }
    g_primary_refs[d]++;
    *ret = g_primary[d];
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    pthread_mutex_lock(&g_lock);
    if (g_primary_refs[d] && --g_primary_refs[d] == 0) {
        end_context(g_primary[d]);
        g_primary[d] = NULL;
    }
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuDevicePrimaryCtxReset_v2(CUdevice d)
{
    pthread_mutex_lock(&g_lock);
    if (g_primary[d])
        end_context(g_primary[d]);
    g_primary[d] = NULL;
    g_primary_refs[d] = 0;
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active)
{
    *flags = 0;
    *active = g_primary[d] != NULL;
    return 0;
}

/* ---- streams, events ---- */

API cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
    if (!current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&g_lock);
    *ret = new_stream(current(), flags, priority);
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuStreamCreate(CUstream *ret, unsigned flags)
{
    return cuStreamCreateWithPriority(ret, flags, 0);
}

API cuStreamDestroy_v2(CUstream s)
{
    s->destroyed = true; /* its work goes on */
    return 0;
}

API cuStreamGetPriority(CUstream s, int *p)
{
    *p = (uintptr_t)s > 2 ? s->priority : 0;
    return 0;
}

API cuStreamGetCtx(CUstream s, CUcontext *c)
{
    *c = (uintptr_t)s > 2 ? s->ctx : current();
    return 0;
}

static CUresult synchronize(CUstream stream, bool per_thread)
{
    struct CUstream_st *s;

    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, per_thread);
    if (s)
        drain(s);
    pthread_mutex_unlock(&g_lock);
    return s ? 0 : INVALID_CONTEXT;
}

API cuStreamSynchronize(CUstream s)
{
    return synchronize(s, false);
}

API cuStreamSynchronize_ptsz(CUstream s)
{
    return synchronize(s, true);
}

static CUresult query(CUstream stream, bool per_thread)
{
    struct CUstream_st *s = stream_of(stream, per_thread);

    return !s ? INVALID_CONTEXT : s->head ? XS_CU_NOT_READY : 0;
}

API cuStreamQuery(CUstream s)
{
    return query(s, false);
}

API cuStreamQuery_ptsz(CUstream s)
{
    return query(s, true);
}

API cuEventCreate(CUevent *e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof(**e));
    return 0;
}

API cuEventRecord(CUevent e, CUstream stream)
{
    struct CUstream_st *s;

    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, false);
    e->capture = s->capture;
    if (!s->capture) {
        struct fake_op *op = put_locked(s, (struct fake_op){.kind = FAKE_EVENT, .event = e});

        e->done = false;
        e->seq = op->seq;
    }
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuEventQuery(CUevent e)
{
    return !e->seq || e->done ? 0 : XS_CU_NOT_READY;
}

API cuEventSynchronize(CUevent e)
{
    pthread_mutex_lock(&g_lock);
    while (e->seq && !e->done)
        pthread_cond_wait(&g_changed, &g_lock);
    pthread_mutex_unlock(&g_lock);
    return 0;
}

API cuStreamWaitEvent(CUstream stream, CUevent e, unsigned flags)
{
    struct CUstream_st *s;

    (void)flags;
    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, false);
    if (e->capture && !s->capture) {
        s->capture = e->capture;
        s->joined = true;
    } else if (e->seq && !s->capture) {
        put_locked(s, (struct fake_op){.kind = FAKE_WAIT_EVENT, .event = e, .event_seq = e->seq});
    }
    pthread_mutex_unlock(&g_lock);
    return 0;
}

/* ---- memory ---- */

/* FAKE_CUDA=no_memory_ops: a device without them, as far as the program does not use them itself;
 * FAKE_CUDA=no_register: host memory cannot be registered. */
static bool without(const char *what)
{
    const char *set = getenv("FAKE_CUDA");

    return set && strcmp(set, what) == 0;
}

API cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    *p = (CUdeviceptr)(uintptr_t)calloc(1, n);
    return 0;
}

API cuMemFree_v2(CUdeviceptr p)
{
    cuCtxSynchronize();
    free((void *)(uintptr_t)p);
    return 0;
}

API cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
    (void)p, (void)n, (void)flags;
    if (without("no_register"))
        return XS_CU_NOT_SUPPORTED;
    __atomic_fetch_add(&g_registered, 1, __ATOMIC_SEQ_CST);
    return current() ? 0 : INVALID_CONTEXT;
}

API cuMemHostUnregister(void *p)
{
    (void)p;
    __atomic_fetch_sub(&g_registered, 1, __ATOMIC_SEQ_CST);
    return 0;
}

API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags)
{
    (void)flags;
    *d = (CUdeviceptr)(uintptr_t)p;
    return 0;
}

API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s)
{
    cuMemAlloc_v2(p, n);
    return put(s, false, (struct fake_op){.kind = FAKE_WORK});
}

API cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    return put(s, false, (struct fake_op){.kind = FAKE_HOST, .fn = free, .arg = (void *)(uintptr_t)p});
}

static CUresult copy(void *to, const void *from, size_t n, CUstream s, bool per_thread)
{
    return put(s, per_thread, (struct fake_op){.kind = FAKE_COPY, .dst = to, .src = from, .bytes = n});
}

#define PTR(p) ((void *)(uintptr_t)(p))
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    return copy(PTR(d), h, n, s, false);
}

API cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
    return copy(PTR(d), h, n, s, true);
}

API cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s)
{
    return copy(h, PTR(d), n, s, false);
}

API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr from, size_t n, CUstream s)
{
    return copy(PTR(d), PTR(from), n, s, false);
}

API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr from, size_t n, CUstream s)
{
    return copy(PTR(d), PTR(from), n, s, false);
}

API cuMemcpyDtoH_v2(void *h, CUdeviceptr d, size_t n)
{
    CUresult r = copy(h, PTR(d), n, NULL, false);

    return r ? r : synchronize(NULL, false);
}

API cuMemcpyHtoD_v2(CUdeviceptr d, const void *h, size_t n)
{
    CUresult r = copy(PTR(d), h, n, NULL, false);

    return r ? r : synchronize(NULL, false);
}

API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s)
{
    return put(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = 1});
}

API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s)
{
    return put(s, false, (struct fake_op){.kind = FAKE_FILL, .dst = PTR(d), .value = v, .bytes = n, .width = 4});
}

static CUresult memory_op(enum fake_op_kind kind, CUstream s, CUdeviceptr p, uint64_t v, unsigned flags, unsigned width)
{
    if (without("no_memory_ops") && v != 0x1122334455667788ull && kind == FAKE_WRITE)
        return XS_CU_NOT_SUPPORTED;
    return put(s, false, (struct fake_op){.kind = kind, .dst = PTR(p), .value = v, .flags = flags, .width = width});
}

API cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags)
{
    return memory_op(FAKE_WRITE, s, p, v, flags, 4);
}

API cuStreamWriteValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags)
{
    return memory_op(FAKE_WRITE, s, p, v, flags, 8);
}

API cuStreamWaitValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags)
{
    return memory_op(FAKE_WAIT, s, p, v, flags, 4);
}

API cuStreamWaitValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags)
{
    return memory_op(FAKE_WAIT, s, p, v, flags, 8);
}

API cuLaunchHostFunc(CUstream s, void *fn, void *arg)
{
    struct fake_op op = {.kind = FAKE_HOST, .arg = arg};

    memcpy(&op.fn, &fn, sizeof(fn));
    return put(s, false, op);
}

/* ---- kernels ---- */

static const struct CUfunc_st g_functions[] = {{"work"}, {"nop"}};

API cuModuleLoadData(void **mod, const void *image)
{
    *mod = (void *)(uintptr_t)image;
    return 0;
}

API cuModuleGetFunction(const struct CUfunc_st **f, void *mod, const char *name)
{
    (void)mod;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(g_functions[i].name, name) == 0) {
            *f = &g_functions[i];
            return 0;
        }
    return XS_CU_NOT_FOUND;
}

static CUresult launch(const struct CUfunc_st *f, CUstream s, void **params, bool per_thread)
{
    struct fake_op op = {.kind = FAKE_WORK};

    if (!f)
        return INVALID_HANDLE;
    if (f == &g_functions[0]) {
        op.ns = *(uint64_t *)params[0];
        op.log = *(uint32_t **)params[1];
        op.tag = *(uint32_t *)params[2];
    }
    return put(s, per_thread, op);
}

#define GRID unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned shared
API cuLaunchKernel(const struct CUfunc_st *f, GRID, CUstream s, void **params, void **extra)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)shared, (void)extra;
    return launch(f, s, params, false);
}

API cuLaunchKernel_ptsz(const struct CUfunc_st *f, GRID, CUstream s, void **params, void **extra)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)shared, (void)extra;
    return launch(f, s, params, true);
}

API cuLaunchCooperativeKernel(const struct CUfunc_st *f, GRID, CUstream s, void **params)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)shared;
    return launch(f, s, params, false);
}

API cuLaunchKernelEx(const struct xs_cu_launch_config *config, const struct CUfunc_st *f, void **params, void **extra)
{
    (void)extra;
    return launch(f, config->stream, params, false);
}

/* ---- capture and graphs ---- */

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

    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, false);
    *status = s && s->capture ? 1 : 0;
    if (s && s->legacy) /* as documented: not while a blocking stream captures */
        for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
            if (o->capture && o->blocking)
                r = XS_CU_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&g_lock);
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
    pthread_mutex_lock(&g_lock);
    *ret = s->capture;
    for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
        if (o->capture == *ret)
            o->capture = NULL;
    pthread_mutex_unlock(&g_lock);
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

    pthread_mutex_lock(&g_lock);
    s = stream_of(stream, false);
    for (struct fake_op *op = g->head; s && op; op = op->next)
        put_locked(s, *op);
    pthread_mutex_unlock(&g_lock);
    return s ? 0 : INVALID_CONTEXT;
}

/* ---- entry points ---- */

extern const struct fake_row {
    const char *name;
    void *fn;
    int version, streams;
} fake_rows[];

API cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
    int want = flags & XS_CU_PROC_PER_THREAD ? 2 : 1;
    const struct fake_row *best = NULL;

    for (const struct fake_row *r = fake_rows; r->name; r++)
        if (strcmp(r->name, name) == 0 && r->version && r->version <= version &&
            (!r->streams || r->streams == want) && (!best || r->version > best->version))
            best = r;
    *fn = best ? best->fn : NULL;
    if (status)
        *status = best ? 0 : 1;
    return best ? 0 : XS_CU_NOT_FOUND;
}

API cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, fn, version, flags, NULL);
}

/* For tests: a function that no table knows. */
API cuNewerThanUs(int x)
{
    return x + 1;
}

int fake_cuda_registered(void) __attribute__((visibility("default")));
int fake_cuda_registered(void)
{
    return g_registered;
}
