/* SPDX-License-Identifier: Apache-2.0 */
/* The device: who may start, and one worker thread a device that executes. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define COUNT_NS 1000000u         /* of the kernel "count": what it counts */

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
struct CUctx_st *fake_contexts;
unsigned (*fake_speed)(int dev);
bool (*fake_paused)(int dev);     /* nothing goes on there at this moment, not even a command that runs; NULL: never */
bool fake_lost, fake_forked;
static uint64_t g_seq;
static _Thread_local char t_me;

static bool pending_before(CUcontext ctx, uint64_t seq, bool of_legacy)
{
    for (struct CUstream_st *s = ctx->streams; s; s = s->next)
        if ((of_legacy ? s->legacy : !s->legacy && s->blocking) && s->head && s->head->seq < seq)
            return true;
    return false;
}

/* Whether memory has the value that a command waits for. */
static bool reached(const struct fake_op *op)
{
    uint64_t v = op->width == 8 ? *(volatile uint64_t *)op->dst : *(volatile uint32_t *)op->dst;

    return (op->flags & 3) == 0 ? (int64_t)(v - op->value) >= 0 : v == op->value;
}

/* A kernel that runs until others have come. */
static bool met(const struct fake_op *op)
{
    return __atomic_load_n(op->meet, __ATOMIC_SEQ_CST) >= op->ranks;
}

/* A context serves its streams by a few connections (CUDA_DEVICE_MAX_CONNECTIONS, eight). On an H200 no stream stands
 * behind another while there are no more of them than connections. Beyond that, copies and fills go by any connection, so
 * one stream that waits for memory stops some of them. Kernels of other streams go on while half of the connections wait,
 * of fewer than eight one, of fewer than four none. Where all wait, everything stops.
 * @return whether the stream stands behind one that waits */
static bool behind_a_wait(const struct CUstream_st *s)
{
    static unsigned connections;
    const char *value = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    unsigned busy = 0, waiting = 0, free_of_charge;

    if (!connections)
        connections = value ? (unsigned)atoi(value) : 8;
    for (const struct CUstream_st *o = s->ctx->streams; o; o = o->next) {
        busy += o->head != NULL;
        waiting += o->head && o->head->kind == FAKE_WAIT && !reached(o->head);
    }
    if (busy <= connections)
        return false;
    free_of_charge = s->head->kind == FAKE_COPY || s->head->kind == FAKE_FILL ? 0
                     : connections < 4 ? 0 : connections < 8 ? 1 : connections / 2;
    if (waiting <= free_of_charge)
        return false;
    return waiting >= connections ||
           s->number % connections < (waiting - free_of_charge) * connections / (connections - free_of_charge);
}

static bool may_start(const struct CUstream_st *s)
{
    const struct fake_op *op = s->head;

    if (!op || s->running)
        return op && op->came && (fake_lost || met(op));
    if (fake_lost)
        return true;
    if (s->legacy && pending_before(s->ctx, op->seq, false))
        return false;
    if (!s->legacy && s->blocking && pending_before(s->ctx, op->seq, true))
        return false;
    if (op->kind == FAKE_WAIT)
        return reached(op);
    if (behind_a_wait(s))
        return false;
    if (op->kind == FAKE_WAIT_EVENT)
        return op->record->done;
    return fake_has_room(s, op);
}

static struct CUstream_st *choose(int dev)
{
    struct CUstream_st *best = NULL;

    if (fake_paused && fake_paused(dev))
        return NULL;
    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        for (struct CUstream_st *s = c->dev == dev ? c->streams : NULL; s; s = s->next)
            if (may_start(s) && (!best || s->priority < best->priority ||
                                 (s->priority == best->priority && s->head->seq < best->head->seq)))
                best = s;
    return best;
}

/* Whether a command waits for memory, which may change without anybody telling. */
static bool waits(int dev)
{
    for (struct CUctx_st *c = fake_contexts; c; c = c->next)
        for (struct CUstream_st *s = c->dev == dev ? c->streams : NULL; s; s = s->next)
            if (s->head && (s->head->kind == FAKE_WAIT || s->head->came))
                return true;
    return false;
}

static void count(struct fake_op *op)
{
    for (uint64_t ns = 0; ns < op->ns && !__atomic_load_n(op->stop, __ATOMIC_SEQ_CST); ns += COUNT_NS) {
        fake_time_take(op->ctx, COUNT_NS);
        __atomic_fetch_add(op->count, 1, __ATOMIC_SEQ_CST);
    }
}

/* What a kernel or a command touches. */
static bool touches_absent(const struct fake_op *op)
{
    size_t width = op->width ? op->width : 1;
    const struct {
        const void *at;
        size_t bytes;
    } all[] = {{op->log, 8}, {op->started, 4}, {op->sum, 8}, {op->add, 8}, {op->meet, 4}, {op->count, 8}, {op->stop, 8},
               {op->kind == FAKE_COPY || op->kind == FAKE_FILL || op->kind == FAKE_WRITE ? op->dst : NULL,
                op->kind == FAKE_WRITE ? width : op->bytes * width},
               {op->kind == FAKE_COPY ? op->src : NULL, op->bytes}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].at && all[i].bytes && fake_absent(all[i].at, all[i].bytes))
            return true;
    return false;
}

/* @param ret_locked  its memory stays until memory_left. @return false: it is not there, and the context ends */
static bool memory_entered(const struct fake_op *op, bool *ret_locked)
{
    *ret_locked = fake_absent && op->kind != FAKE_HOST;
    if (!*ret_locked)
        return true;
    pthread_mutex_lock(&fake_mappings);
    if (!touches_absent(op))
        return true;
    pthread_mutex_unlock(&fake_mappings);
    fake_lose_device();
    return false;
}

static void memory_left(bool locked)
{
    if (locked)
        pthread_mutex_unlock(&fake_mappings);
}

static void execute(struct fake_op *op)
{
    bool locked;

    if (op->started || op->count) {
        if (!memory_entered(op, &locked))
            return;
        memory_left(locked);
    }
    if (op->started)
        __atomic_store_n(op->started, op->stamp, __ATOMIC_RELEASE);
    if (op->count)
        count(op);
    else if (op->ns)
        fake_time_take(op->ctx, op->ns);
    else if (op->kind == FAKE_FILL && fake_speed)
        fake_time_slow(op->ctx, op->bytes * 3); /* about what the processor takes for it */
    if (!memory_entered(op, &locked))
        return;
    switch (op->kind) {
    case FAKE_WORK:
        if (op->log) {
            op->log[1 + op->log[0]] = op->tag;
            __atomic_fetch_add(&op->log[0], 1, __ATOMIC_RELEASE);
        }
        if (op->sum)
            *op->sum += op->grind ? op->grind : op->ns;
        if (op->meet)
            __atomic_fetch_add(op->meet, 1, __ATOMIC_SEQ_CST);
        if (op->add)
            __atomic_fetch_add(op->add, 1, __ATOMIC_RELEASE);
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
    memory_left(locked);
}

static void *worker(void *dev)
{
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        struct CUstream_st *s = choose((int)(intptr_t)dev);
        struct fake_op *op;

        if (!s) {
            fake_time_idle_locked((int)(intptr_t)dev, waits((int)(intptr_t)dev));
            continue;
        }
        if (!fake_time_turn_locked())
            continue;
        op = s->head;
        s->running = true;
        if (!fake_lost && !op->came) {
            pthread_mutex_unlock(&fake_lock);
            execute(op);
            pthread_mutex_lock(&fake_lock);
        }
        if (op->meet && !fake_lost && !met(op)) { /* it goes on, and so do other streams */
            op->came = true;
            continue;
        }
        if (op->kind == FAKE_EVENT)
            op->record->done = true;
        s->head = op->next;
        if (!s->head)
            s->tail = NULL;
        s->entries--;
        s->running = false;
        free(op);
        pthread_cond_broadcast(&fake_changed);
    }
    return NULL;
}

/* A forked child finds the lock free, and nobody waits. It has no device: what it puts into streams is refused, and
 * nothing is waited for. */
static void before_fork(void)
{
    pthread_mutex_lock(&fake_mappings);
    pthread_mutex_lock(&fake_lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&fake_lock);
    pthread_mutex_unlock(&fake_mappings);
}

static void in_child(void)
{
    fake_changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    fake_lost = fake_forked = true;
    for (struct CUctx_st *c = fake_contexts; c; c = c->next) {
        c->holder = NULL;
        for (struct CUstream_st *s = c->streams; s; s = s->next)
            s->running = false;
    }
    pthread_mutex_unlock(&fake_lock);
    pthread_mutex_unlock(&fake_mappings);
}

void fake_devices_start_locked(void)
{
    static bool started;
    const char *wide = getenv("FAKE_CUDA_WIDE"); /* kernels of several streams run side by side */

    for (intptr_t i = 0; !started && i < DEVICES * (wide ? 3 : 1); i++) {
        pthread_t t;

        pthread_create(&t, NULL, worker, (void *)(i % DEVICES));
        pthread_detach(t);
    }
    if (!started)
        pthread_atfork(before_fork, in_parent, in_child);
    started = true;
}

struct fake_op *fake_put_locked(struct CUstream_st *s, struct fake_op op)
{
    struct fake_op *p = malloc(sizeof(*p)), **tail;

    fake_channel_room_locked(s);
    s->entries += !s->capture;
    s->captured += s->capture != NULL;
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
    pthread_cond_broadcast(&fake_changed);
    return p;
}

struct CUstream_st *fake_stream_new(struct CUctx_st *c, unsigned flags, int priority)
{
    struct CUstream_st *s = calloc(1, sizeof(*s));

    s->ctx = c;
    s->flags = flags;
    s->blocking = !(flags & 1);
    s->priority = priority;
    s->maker = pthread_self();
    for (const struct CUstream_st *o = c->streams; o; o = o->next)
        s->number++;
    s->next = c->streams ? c->streams->next : NULL;
    if (c->streams)
        c->streams->next = s;
    else
        c->streams = s;
    return s;
}

struct CUstream_st *fake_stream_of(CUstream s, bool per_thread)
{
    CUcontext c = fake_current();
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
    p = fake_stream_new(c, 0, 0);
    p->thread = &t_me;
    return p;
}

CUresult fake_put(CUstream stream, bool per_thread, struct fake_op op)
{
    struct CUstream_st *s;
    CUresult r = INVALID_HANDLE;

    if ((uintptr_t)stream <= 2 && !fake_current())
        return INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    s = fake_stream_of(stream, per_thread);
    if (fake_lost) {
        r = ILLEGAL_ADDRESS;
    } else if (s && s->capture && s->capture->invalid) {
        r = CAPTURE_INVALIDATED;
    } else if (s && !s->destroyed) {
        fake_put_locked(s, op);
        r = 0;
    }
    pthread_mutex_unlock(&fake_lock);
    return r;
}

/* For tests. A kernel made an access that it may not make: nothing that is put into streams is done any more, and
 * whoever puts something there or waits is told. */
void fake_lose_device(void)
{
    pthread_mutex_lock(&fake_lock);
    fake_lost = true;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_drain(struct CUstream_st *s)
{
    uint64_t upto = g_seq;

    while (!fake_forked && s->head && s->head->seq <= upto)
        pthread_cond_wait(&fake_changed, &fake_lock);
}
