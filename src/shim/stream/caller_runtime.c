/* SPDX-License-Identifier: Apache-2.0 */
/* Several real libraries in one process (XS_API_MULTI): each caller keeps the one on which it depends, as
 * without us. Streams, functions and events belong to the copy that made them, so mixing two ends in errors
 * far from the cause. The shim knows a caller by its return address, which a tail call hides. So a stream, an
 * event, a module and a function go to the library that made them, from any caller. A caller that depends on
 * none gets the copy that it opened itself. Others (an interpreter, compiled code, the caller of a function
 * that ended in a tail call) get the one that their thread used or opened last. */
#include "shim/stream/stream_table.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/map.h"
#include "hal/common/objects.h"

#include <stdlib.h>

struct xs_api_runtime xs_api_first;
_Atomic bool xs_api_many;
_Atomic(struct xs_api_calling *) xs_api_called_last;

#if XS_API_MULTI

#define RUNTIMES 8u
#define PAGE_MASK (~(uintptr_t)4095)
#define FOLLOWS   15u             /* depends on none, and opened none */
#ifndef XS_API_TRACKS
#define XS_API_TRACKS 1           /* 0 in a test, to show the errors without it */
#endif
#define OPENED    32u             /* objects whose opened library we know */

static struct xs_lock g_lock;     /* g_others; its holder calls nothing */
static _Atomic(struct xs_api_runtime *) g_others[RUNTIMES]; /* [0] stays NULL: xs_api_first; never freed */

/* Objects that called, and the index of their library. Threads add rows at the front and never change
 * them. */
static _Atomic(struct xs_api_calling *) g_objects; /* any thread, by compare and swap */
/* Pages of callers, the index in the low bits. Any thread writes any slot; a lost update costs one more
 * look-up. */
static _Atomic uintptr_t g_seen[256];
static struct xs_map g_made;      /* stream, event, module, function -> the library that made it */
static _Thread_local uint8_t t_last; /* 1 + index of the library used or opened last by this thread; 0: none yet */
static _Atomic uint8_t g_opened_last; /* index of the last opened library; for threads that have used none */

static struct {
    uintptr_t from, to;
    void *handle;
} g_opened[OPENED];               /* under g_lock, as the next two */
static unsigned g_opened_next;
static void *g_opened_handle;     /* the last */

static unsigned index_of(void *handle)
{
    struct xs_api_runtime *fresh = NULL, *known;
    unsigned i;

    if (handle == xs_api_first.handle)
        return 0;
    for (;;) {
        xs_lock_acquire(&g_lock);
        for (i = 1; i < RUNTIMES; i++) {
            known = atomic_load_explicit(&g_others[i], memory_order_relaxed);
            if (!known && fresh) /* release pairs with xs_api_runtime_by */
                atomic_store_explicit(&g_others[i], fresh, memory_order_release);
            if (!known || known->handle == handle)
                break;
        }
        xs_lock_release(&g_lock);
        if (i == RUNTIMES || known) { /* too many copies: the first */
            free(fresh);
            return i % RUNTIMES;
        }
        if (fresh)
            return i;
        fresh = calloc(1, sizeof(*fresh));
        if (!fresh)
            return 0;
        xs_api_fill(fresh, handle);
    }
}

/* @return -1: new */
static int known_object(uintptr_t caller)
{
    /* acquire pairs with the release in add_object */
    for (struct xs_api_calling *o = atomic_load_explicit(&g_objects, memory_order_acquire); o; o = o->next) {
        if (caller >= o->from && caller < o->to) {
            atomic_store_explicit(&xs_api_called_last, o, memory_order_release);
            return (int)o->index;
        }
    }
    return -1;
}

static void add_object(uintptr_t from, uintptr_t to, unsigned index)
{
    struct xs_api_calling *o = malloc(sizeof(*o));

    if (!o)
        return;
    o->from = from;
    o->to = to;
    o->index = index;
    o->next = atomic_load_explicit(&g_objects, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&g_objects, &o->next, o, memory_order_release, memory_order_relaxed))
        ;
}

/* @param index  of the library of a first call or a first open */
static void note_many(unsigned index, const char *path)
{
    if (!index || index == FOLLOWS || atomic_load_explicit(&xs_api_many, memory_order_relaxed))
        return;
    xs_api_slots_direct(false);
    /* release pairs with xs_api_runtime_of */
    if (!atomic_exchange_explicit(&xs_api_many, true, memory_order_acq_rel))
        XS_INFO(XS_API_NAME ": several copies of the runtime are in use, each by the objects that depend on it; "
                "here also %s", path);
}

/* The library that the object of this caller opened; NULL: none. */
static void *opened_by_object(const void *caller)
{
    void *handle = NULL;

    xs_lock_acquire(&g_lock);
    for (unsigned i = 0; i < OPENED; i++)
        if ((uintptr_t)caller - g_opened[i].from < g_opened[i].to - g_opened[i].from)
            handle = g_opened[i].handle;
    xs_lock_release(&g_lock);
    return handle;
}

static unsigned index_by(const void *caller)
{
    int known = known_object((uintptr_t)caller);
    struct xs_vendor_caller of;
    void *handle;
    unsigned i = FOLLOWS;

    if (known >= 0)
        return (unsigned)known;
    handle = xs_vendor_of_caller(&xs_api_vendor, caller, &of);
    if (!handle)
        handle = opened_by_object(caller);
    if (handle)
        i = index_of(handle);
    note_many(i, of.path);
    if (of.to)
        add_object(of.from, of.to, i);
    return i;
}

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    uintptr_t page = (uintptr_t)caller & PAGE_MASK, known;
    _Atomic uintptr_t *slot = &g_seen[(page >> 12) % XS_ARRAY_LEN(g_seen)];
    struct xs_api_runtime *rt;
    unsigned i;

    known = atomic_load_explicit(slot, memory_order_relaxed);
    if (XS_LIKELY(page && (known & PAGE_MASK) == page)) {
        i = (unsigned)(known & ~PAGE_MASK);
    } else {
        i = index_by(caller);
        atomic_store_explicit(slot, page | i, memory_order_relaxed);
    }
    if (i == FOLLOWS)
        i = t_last ? t_last - 1u : atomic_load_explicit(&g_opened_last, memory_order_relaxed);
    else
        t_last = (uint8_t)(i + 1);
    /* acquire pairs with the release in index_of */
    rt = i ? atomic_load_explicit(&g_others[i], memory_order_acquire) : NULL;
    return rt ? rt : &xs_api_first;
}

void xs_api_object_made(const struct xs_api_runtime *rt, const void *object)
{
    /* in place of one whose end we did not see */
    xs_map_put(&g_made, (uintptr_t)object, (void *)(uintptr_t)rt);
}

void xs_api_object_ends(const void *object)
{
    xs_map_remove(&g_made, (uintptr_t)object);
}

const struct xs_api_runtime *xs_api_runtime_made(const struct xs_api_runtime *rt, const void *object)
{
    const struct xs_api_runtime *made = XS_API_TRACKS ? xs_map_get(&g_made, (uintptr_t)object) : NULL;
    int index;

    if (made || !XS_API_TRACKS)
        return made ? made : rt;
    index = known_object((uintptr_t)object); /* a stub lies in the object that registered it */
    if (index < 0 || index == FOLLOWS)
        return rt;
    return index ? atomic_load_explicit(&g_others[index], memory_order_acquire) : &xs_api_first; /* as above */
}

void xs_api_caller_look(const void *caller)
{
    index_by(caller);
}

static void opened_note(uintptr_t from, uintptr_t to, void *handle)
{
    unsigned i;

    xs_lock_acquire(&g_lock);
    for (i = 0; i < OPENED && g_opened[i].from != from; i++)
        ;
    if (i == OPENED)
        i = g_opened_next++ % OPENED;
    g_opened[i].from = from;
    g_opened[i].to = to;
    g_opened[i].handle = handle;
    g_opened_handle = handle;
    xs_lock_release(&g_lock);
}

void xs_api_caller_opened(const void *caller, void *handle)
{
    struct xs_object *o = calloc(1, sizeof(*o)); /* paths are long and the caller's stack may be small */
    bool depends;
    unsigned i;

    if (!o)
        return;
    xs_object_of(caller, xs_api_vendor.platform->vendor, o);
    depends = o->needed != NULL;
    opened_note(o->from, o->to, handle);
    if (xs_api_mode_now() != XS_SHIM_UNBOUND && !depends) {
        i = index_of(handle);
        if (o->to)
            add_object(o->from, o->to, i);
        for (size_t n = 0; n < XS_ARRAY_LEN(g_seen); n++) /* pages of this object led elsewhere */
            atomic_store_explicit(&g_seen[n], 0, memory_order_relaxed);
        t_last = (uint8_t)(i + 1);
        atomic_store_explicit(&g_opened_last, (uint8_t)i, memory_order_relaxed);
        xs_vendor_path(&xs_api_vendor, handle, o->path, sizeof(o->path));
        note_many(i, o->path);
    }
    free(o);
}

void *xs_api_opened_by(const void *caller)
{
    void *handle = opened_by_object(caller);

    if (!handle) {
        xs_lock_acquire(&g_lock);
        handle = g_opened_handle;
        xs_lock_release(&g_lock);
    }
    return handle;
}

#else

void xs_api_object_made(const struct xs_api_runtime *rt, const void *object)
{
    (void)rt, (void)object;
}

void xs_api_object_ends(const void *object)
{
    (void)object;
}

const struct xs_api_runtime *xs_api_runtime_made(const struct xs_api_runtime *rt, const void *object)
{
    (void)object;
    return rt;
}

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    (void)caller;
    return &xs_api_first;
}

void xs_api_caller_look(const void *caller)
{
    (void)caller;
}

void xs_api_caller_opened(const void *caller, void *handle)
{
    (void)caller, (void)handle;
}

void *xs_api_opened_by(const void *caller)
{
    (void)caller;
    return NULL;
}

#endif

void *xs_api_caller_library(const void *caller)
{
    return xs_api_mode_now() == XS_SHIM_UNBOUND ? xs_api_opened_by(caller) : xs_api_runtime_of(caller)->handle;
}
