/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/callers.h"

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/str.h"
#include "hal/common/objects.h"
#include "hal/common/vendor.h"
#include "shim/common/rows.h"

#include <stdlib.h>

_Atomic bool xs_callers_matter;
_Atomic(struct xs_calling *) xs_callers_last;

static _Atomic(void *) g_given;   /* the copy for which our handle stands; any thread writes the first */

bool xs_callers_give(void *library)
{
    void *given = NULL;

    if (!library)
        return true;
    return atomic_compare_exchange_strong(&g_given, &given, library) || given == library;
}

void *xs_callers_given(void)
{
    return atomic_load(&g_given);
}

/* By the name that we carry ourselves: who has our functions by that, and needs no library, means this one. */
static void *by_own_name(const void *caller)
{
    bool sure;

    if (!XS_API_OWN_NAME || xs_env_get(xs_api_vendor.platform->lib))
        return NULL;
    return xs_vendor_named(&xs_api_vendor, caller, XS_API_SONAME, false, &sure);
}

void *xs_callers_first(const void *caller, char *ret_path, size_t size)
{
    struct xs_vendor_caller of = {.absent = false};
    void *handle = NULL;

    if (!xs_env_get(xs_api_vendor.platform->lib)) {
        handle = xs_vendor_of_caller(&xs_api_vendor, caller, &of);
        if (!handle && !of.absent)
            handle = xs_callers_given();
        if (!handle && !of.absent)
            handle = by_own_name(caller);
    }
    if (handle) {
        xs_vendor_path(&xs_api_vendor, handle, ret_path, size);
        XS_INFO("%s: using %s", xs_api_vendor.platform->name, ret_path);
        return handle;
    }
    return xs_vendor_open(&xs_api_vendor, caller, &handle, ret_path, size) == 0 ? handle : NULL;
}

static void say_several(void)
{
    static _Atomic bool said;

    if (!atomic_exchange(&said, true))
        XS_INFO("%s: there are several copies of the %s in this process: each caller keeps its own",
                xs_api_vendor.platform->name, xs_api_vendor.platform->library);
}

bool xs_callers_alone(void *handle)
{
    bool alone = !XS_API_MULTI || xs_vendor_is_alone(&xs_api_vendor, handle);

    if (!alone)
        say_several();
    return alone;
}

#if XS_API_MULTI

#define PAGE_MASK (~(uintptr_t)4095)
#define COPIES    8u              /* the first one is the one that the first call found */
#define ABSENT    14u             /* needs one that is not to be found */
#define FOLLOWS   15u             /* depends on none */
#define PATIENCE  64u             /* calls after which a load that we know of has ended */

/* Lock 7: g_copies. The first call of a copy of the runtime holds it. */
static struct xs_lock g_lock;
static struct {
    void *handle;
    _Atomic(void *) table;        /* NULL: free; never freed */
} g_copies[COPIES];
/* Objects that called, and their copies. Threads add rows at the front and never change them. */
static _Atomic(struct xs_calling *) g_objects; /* any thread, by compare and swap */
/* Pages of callers, the copy in the low bits. Any thread writes any slot; a lost update costs one more
 * look-up. */
static _Atomic uintptr_t g_seen[256];
static _Thread_local uint8_t t_last; /* 1 + the copy used last by this thread; 0: none yet */
_Thread_local uint8_t xs_callers_forced;

static _Atomic bool g_several;    /* for the life of the process; any thread sets it */
static _Atomic unsigned g_loads;  /* how often a load began; any thread */
static _Atomic uint64_t g_loaded; /* objects loaded when the last one began; any thread */
static _Atomic int g_patience;    /* calls until that load has surely ended; any thread counts it down */
static _Atomic uint64_t g_unloaded; /* objects unloaded so far, as seen at a load; any thread */

static unsigned copy_of(void *handle)
{
    void *fresh = NULL, *table;
    unsigned i;

    for (;;) {
        xs_lock_acquire(&g_lock);
        for (i = 0; i < COPIES; i++) {
            table = atomic_load_explicit(&g_copies[i].table, memory_order_relaxed);
            if (table && g_copies[i].handle == handle)
                break;
            if (table)
                continue;
            if (fresh) {
                g_copies[i].handle = handle;
                /* release pairs with xs_callers_copy */
                atomic_store_explicit(&g_copies[i].table, fresh, memory_order_release);
            }
            break;
        }
        xs_lock_release(&g_lock);
        if (i == COPIES || table) { /* too many: the first */
            free(fresh);
            return i % COPIES;
        }
        if (fresh)
            return i;
        fresh = xs_copy_new(handle);
        if (!fresh)
            return 0;
    }
}

/* @return NULL: new */
static const struct xs_calling *known_object(uintptr_t caller)
{
    /* acquire pairs with the release in add_object */
    for (struct xs_calling *o = atomic_load_explicit(&g_objects, memory_order_acquire); o; o = o->next)
        if (caller >= o->from && caller < o->to)
            return o;
    return NULL;
}

static void add_object(uintptr_t from, uintptr_t to, unsigned copy)
{
    struct xs_calling *o = malloc(sizeof(*o));

    if (!o)
        return;
    o->from = from;
    o->to = to;
    o->copy = copy;
    o->next = atomic_load_explicit(&g_objects, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&g_objects, &o->next, o, memory_order_release, memory_order_relaxed))
        ;
}

static void matter(bool does)
{
    if (does)
        xs_copy_several(true);
    /* release pairs with the loads that decide whether to ask here */
    if (atomic_exchange_explicit(&xs_callers_matter, does, memory_order_acq_rel) && !does)
        xs_copy_several(false);
}

static void note_several(void)
{
    if (atomic_exchange(&g_several, true))
        return;
    matter(true);
    say_several();
}

static unsigned copy_by(const void *caller)
{
    const struct xs_calling *known = known_object((uintptr_t)caller);
    struct xs_vendor_caller of;
    unsigned copy = FOLLOWS;
    void *handle;

    if (known) {
        atomic_store_explicit(&xs_callers_last, (struct xs_calling *)(uintptr_t)known, memory_order_release);
        return known->copy;
    }
    handle = xs_vendor_of_caller(&xs_api_vendor, caller, &of);
    if (!handle && !of.absent && !xs_callers_given())
        handle = by_own_name(caller);
    if (handle)
        copy = copy_of(handle);
    else if (of.absent)
        copy = ABSENT;
    if (copy && copy != FOLLOWS)
        note_several();
    if (of.to)
        add_object(of.from, of.to, copy);
    return copy;
}

/* A load that the program began is over, or will not end in time. */
static void settle(void)
{
    unsigned loads = atomic_load(&g_loads);
    bool loaded = xs_object_count(NULL) != atomic_load_explicit(&g_loaded, memory_order_relaxed);

    if (!loaded && atomic_fetch_sub_explicit(&g_patience, 1, memory_order_relaxed) > 0)
        return;
    if (loaded && !xs_vendor_is_alone(&xs_api_vendor, g_copies[0].handle)) {
        note_several();
        return;
    }
    matter(false);
    if (atomic_load(&g_loads) != loads || atomic_load(&g_several)) /* another thread began one meanwhile */
        matter(true);
}

/* Other objects may come to the places of those that are gone. */
static void forget_objects(void)
{
    atomic_store_explicit(&g_objects, NULL, memory_order_relaxed); /* readers may have them: they are lost */
    atomic_store_explicit(&xs_callers_last, NULL, memory_order_relaxed);
    for (size_t n = 0; n < XS_ARRAY_LEN(g_seen); n++)
        atomic_store_explicit(&g_seen[n], 0, memory_order_relaxed);
}

void xs_callers_load(void)
{
    uint64_t loaded, unloaded;

    if (!atomic_load_explicit(&g_copies[0].table, memory_order_acquire))
        return;
    loaded = xs_object_count(&unloaded);
    if (atomic_exchange_explicit(&g_unloaded, unloaded, memory_order_relaxed) != unloaded)
        forget_objects();
    if (atomic_load_explicit(&g_several, memory_order_relaxed))
        return;
    atomic_fetch_add(&g_loads, 1);
    atomic_store_explicit(&g_loaded, loaded, memory_order_relaxed);
    atomic_store_explicit(&g_patience, (int)PATIENCE, memory_order_relaxed);
    if (!atomic_load_explicit(&xs_callers_matter, memory_order_relaxed))
        matter(true);
}

void xs_callers_bound(void *handle, void *table, bool alone)
{
    g_copies[0].handle = handle;
    /* release pairs with the loads that ask whether it is bound */
    atomic_store_explicit(&g_copies[0].table, table, memory_order_release);
    if (alone)
        return;
    atomic_store(&g_several, true);
    atomic_store(&xs_callers_matter, true);
}

/* Of the copy for which our handle stands. */
static unsigned given_number(void)
{
    static _Atomic unsigned number; /* 1 + it; any thread writes the same */
    unsigned known = atomic_load_explicit(&number, memory_order_relaxed);

    if (XS_UNLIKELY(!known)) {
        known = 1 + copy_of(xs_callers_given());
        atomic_store_explicit(&number, known, memory_order_relaxed);
    }
    return known - 1;
}

/* @return the number of the caller's copy, or ABSENT */
static unsigned copy_by_page(const void *caller)
{
    uintptr_t page = (uintptr_t)caller & PAGE_MASK, known;
    _Atomic uintptr_t *slot = &g_seen[(page >> 12) % XS_ARRAY_LEN(g_seen)];
    unsigned copy;

    if (XS_UNLIKELY(xs_callers_forced)) {
        copy = xs_callers_forced - 1u;
        xs_callers_forced = 0;
        t_last = (uint8_t)(copy + 1);
        return copy;
    }
    if (XS_UNLIKELY(!atomic_load_explicit(&g_several, memory_order_relaxed)))
        settle();                 /* a load may be under way */
    known = atomic_load_explicit(slot, memory_order_relaxed);
    if (XS_LIKELY(page && (known & PAGE_MASK) == page)) {
        copy = (unsigned)(known & ~PAGE_MASK);
    } else {
        copy = copy_by(caller);
        atomic_store_explicit(slot, page | copy, memory_order_relaxed);
    }
    if (copy == FOLLOWS)
        return xs_callers_given() ? given_number() : t_last ? t_last - 1u : 0;
    if (copy != ABSENT)
        t_last = (uint8_t)(copy + 1);
    return copy;
}

void *xs_callers_copy(const void *caller)
{
    unsigned copy = copy_by_page(caller);
    void *table;

    if (copy == ABSENT)
        return NULL;
    /* acquire pairs with the release in copy_of */
    table = atomic_load_explicit(&g_copies[copy].table, memory_order_acquire);
    return table ? table : atomic_load_explicit(&g_copies[0].table, memory_order_acquire);
}

void *xs_callers_library(const void *caller)
{
    unsigned copy = 0;

    if (!atomic_load_explicit(&g_copies[0].table, memory_order_acquire))
        return NULL;
    if (atomic_load_explicit(&xs_callers_matter, memory_order_acquire))
        copy = copy_by_page(caller);
    if (copy == ABSENT)
        return NULL;
    /* acquire pairs with the release in copy_of: the handle is there */
    return atomic_load_explicit(&g_copies[copy].table, memory_order_acquire) ? g_copies[copy].handle : NULL;
}

void *xs_callers_of_object(const void *address)
{
    const struct xs_calling *o = known_object((uintptr_t)address);

    return o && o->copy < COPIES ? atomic_load_explicit(&g_copies[o->copy].table, memory_order_acquire) : NULL;
}

void xs_callers_look(const void *caller)
{
    copy_by(caller);
}

unsigned xs_callers_number(void *library)
{
    unsigned copy = copy_of(library);

    note_several();
    return copy;
}

#else

static _Atomic(void *) g_library;

void xs_callers_bound(void *handle, void *table, bool alone)
{
    (void)table, (void)alone;
    atomic_store(&g_library, handle);
}

void *xs_callers_library(const void *caller)
{
    (void)caller;
    return atomic_load(&g_library);
}

#endif
