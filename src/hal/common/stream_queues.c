/* SPDX-License-Identifier: Apache-2.0 */
/* Which streams have a hardware queue. The first command of a stream makes its queue: many programs make
 * dozens of streams and use two. */
#include "hal/common/stream_queues.h"

#include "base/clock.h"
#include "base/futex.h"

#include <pthread.h>
#include <stdlib.h>

void xs_streams_on_first(struct xs_streams *s, void (*fn)(void))
{
    atomic_store(&s->on_first, fn);
    /* seq_cst pairs with xs_stream_enter: sets any, then looks at on_first */
    if (atomic_load(&s->any))
        fn();
}

uint64_t xs_thread_id(void)
{
    return (uint64_t)(uintptr_t)pthread_self();
}

/* ---- default streams of threads ---- */

struct thread_stream {            /* one for each context that the thread used */
    struct xs_streams *all;
    const void *context;
    int device;
    uint64_t native;
    struct thread_stream *next;
};
static pthread_key_t g_thread_key;
static pthread_once_t g_thread_once = PTHREAD_ONCE_INIT;
static bool g_thread_key_made;

static void thread_ends(void *list)
{
    struct thread_stream *t = list;

    while (t) {
        struct thread_stream *next = t->next;

        xs_stream_forget(t->all, t->native);
        free(t);
        t = next;
    }
}

static void make_thread_key(void)
{
    g_thread_key_made = pthread_key_create(&g_thread_key, thread_ends) == 0;
}

uint64_t xs_native_of_thread(struct xs_streams *s, const void *context, int device)
{
    struct thread_stream *first, *t;

    pthread_once(&g_thread_once, make_thread_key);
    if (!g_thread_key_made)
        return 0;
    first = pthread_getspecific(g_thread_key);
    for (t = first; t; t = t->next)
        if (t->all == s && t->context == context && t->device == device)
            return t->native;
    t = malloc(sizeof(*t));
    if (!t)
        return 0;
    *t = (struct thread_stream){s, context, device, (uint64_t)(uintptr_t)t | 2, first};
    pthread_setspecific(g_thread_key, t);
    return t->native;
}

/* ---- streams ---- */

struct xs_stream *xs_stream_find(struct xs_streams *s, uint64_t native)
{
    return xs_map_get(&s->by_native, native);
}

void xs_stream_forget(struct xs_streams *s, uint64_t native)
{
    struct xs_stream *st;

    xs_lock_acquire(&s->lock);
    st = xs_map_get(&s->by_native, native);
    if (st) {
        atomic_store(&st->gone, true);
        xs_map_remove(&s->by_native, native);
    }
    xs_lock_release(&s->lock);
    if (st)
        xsched_priv_hwq_gone(s->platform, native);
}

/* The program may have destroyed the hardware queue of this stream while something still refers to its last
 * XQueue (a mark, the control thread's list). Then libpreempt has not released it yet. No call uses it any
 * more, and the stream may have another.
 * @return the stream of this number that has a hardware queue, or for which a thread makes one */
static struct xs_stream *find_living(struct xs_streams *s, uint64_t native)
{
    struct xs_stream *st = xs_stream_find(s, native);
    uint64_t entered = st ? atomic_load(&st->entered) : 0;

    if (!entered || xsched_priv_hwq_find(s->platform, native))
        return st;
    xs_lock_acquire(&s->lock);
    if (xs_map_get(&s->by_native, native) == st && atomic_load(&st->entered) == entered) { /* not used again since */
        atomic_store(&st->gone, true);
        xs_map_remove(&s->by_native, native);
    }
    st = xs_map_get(&s->by_native, native);
    xs_lock_release(&s->lock);
    return st;
}

void xs_stream_ends(struct xs_streams *s, uint64_t native)
{
    struct xs_queue *q = xsched_priv_queue_pin(s->platform, native);

    if (q) {
        xsched_priv_queue_ends(q);
        xsched_priv_queue_let_go(q);
    }
    xs_stream_forget(s, native);
}

struct xs_stream *xs_stream_new(struct xs_streams *s, uint64_t native, bool created)
{
    struct xs_stream *st;

    xs_lock_acquire(&s->lock);
    st = s->free_list;
    if (st)
        s->free_list = st->next;
    xs_lock_release(&s->lock);
    if (!st)
        st = calloc(1, s->bytes);
    if (!st)
        return NULL;
    atomic_store_explicit(&st->native, native, memory_order_relaxed);
    st->owner = created || xs_native_is_null(native) ? 0 : xs_thread_id();
    atomic_store(&st->blocking, false);
    atomic_store(&st->gone, false);
    atomic_store(&st->no_marks, false);
    atomic_store(&st->no_gates, false);
    atomic_store(&st->entered, 0);
    atomic_store(&st->mark_queue, NULL);
    st->next = NULL;
    return st;
}

void xs_stream_release(struct xs_streams *s, struct xs_stream *st)
{
    uint64_t native = xs_stream_native(st);

    if (st->group)
        xs_group_remove(st->group, st);
    xs_lock_acquire(&s->lock);
    if (xs_map_get(&s->by_native, native) == st)
        xs_map_remove(&s->by_native, native);
    st->next = s->free_list;
    s->free_list = st;
    xs_lock_release(&s->lock);
}

static bool put(struct xs_streams *s, struct xs_stream *st)
{
    uint64_t native = xs_stream_native(st);
    bool done;

    xs_lock_acquire(&s->lock);
    done = !xs_map_get(&s->by_native, native) && xs_map_put(&s->by_native, native, st) == 0;
    xs_lock_release(&s->lock);
    return done;
}

XResult xs_stream_enter(struct xs_streams *s, struct xs_stream *st, struct xs_stream_group *g,
                        const struct xs_hal_ops *ops, XDevice device, HwQueueHandle *ret)
{
    void (*fn)(void);
    XResult r = kXSchedErrorUnknown; /* no memory, or another thread makes it now */

    st->group = g;
    find_living(s, xs_stream_native(st));
    if (put(s, st)) {
        xs_group_add(g, st);
        r = xsched_priv_hwq_create(ops, xs_stream_native(st), st, device, ret, NULL);
    }
    if (r != kXSchedSuccess) {
        xs_stream_release(s, st);
        return r;
    }
    atomic_store(&st->entered, atomic_fetch_add(&s->entered, 1) + 1);
    atomic_store(&s->any, true);
    fn = atomic_load(&s->on_first);
    if (fn)
        fn();
    return kXSchedSuccess;
}

struct xs_queue *xs_stream_make_queue(struct xs_streams *s, HwQueueHandle handle, uint64_t native, int priority)
{
    /* streams made without a priority have 0 */
    if (xsched_priv_auto_queue(handle, -priority) != kXSchedSuccess)
        return NULL;
    return xsched_priv_queue_find(s->platform, native);
}

/* How long a thread waits for another one's adoption. The first adoption of a process took up to 25 ms. In a
 * program with threads, the kernel waits for all cores before it gives it a larger table of descriptors. A
 * forked child may inherit a wait that never ends. */
#define ADOPT_WAIT_NS (100 * XS_NS_PER_MS)

/* @return false: it has a hardware queue, or another thread makes one; do not call adopt_end */
static bool adopt_begin(struct xs_streams *s, uint64_t native)
{
    if (find_living(s, native))
        return false;
    atomic_store(&s->adopt_until_ns, xs_now_ns() + ADOPT_WAIT_NS);
    atomic_fetch_add(&s->adopting, 1);
    return true;
}

static void adopt_end(struct xs_streams *s)
{
    atomic_fetch_sub(&s->adopting, 1);
    atomic_fetch_add(&s->adopted, 1);
    xs_futex_wake(&s->adopted, INT32_MAX);
}

/* Another thread may make it now: waits for that. */
static struct xs_queue *await_adopted(struct xs_streams *s, uint64_t native)
{
    if (!xs_stream_find(s, native))
        return NULL;
    for (;;) {
        /* in this order: if no thread makes one any more, the look-up finds it, or there is none */
        uint32_t seen = atomic_load(&s->adopted), adopting = atomic_load(&s->adopting);
        struct xs_queue *q = xsched_priv_queue_find(s->platform, native);
        uint64_t now_ns, until_ns;

        if (q || !adopting)
            return q;
        now_ns = xs_now_ns();
        until_ns = atomic_load(&s->adopt_until_ns);
        if (now_ns >= until_ns || until_ns - now_ns > ADOPT_WAIT_NS) /* the latter: the clock went back */
            return NULL;
        xs_futex_wait(&s->adopted, seen, until_ns - now_ns);
    }
}

struct xs_queue *xs_stream_adopt(struct xs_streams *s, uint64_t native,
                                 struct xs_queue *(*make)(const void *api, void *stream, uint64_t native), const void *api,
                                 void *stream)
{
    struct xs_queue *q = NULL;

    if (!xsched_priv_auto() || !api)
        return NULL;
    if (adopt_begin(s, native)) {
        q = make(api, stream, native);
        adopt_end(s);
    }
    return q ? q : await_adopted(s, native);
}

bool xs_stream_marks_at(struct xs_stream *st, struct xs_queue *q, uint64_t at)
{
    if (!at) { /* do not try again at each command */
        atomic_store_explicit(&st->no_marks, true, memory_order_relaxed);
        return false;
    }
    xs_stream_marks_to(st, q, at);
    return true;
}

void xs_stream_marks_to(struct xs_stream *st, struct xs_queue *q, uint64_t at)
{
    st->mark_at = at;
    /* release pairs with the acquire load of the mark operation: mark_at is valid */
    atomic_store_explicit(&st->mark_queue, q, memory_order_release);
}
