/* SPDX-License-Identifier: Apache-2.0 */
/* Several real libraries in one process (XS_API_MULTI): each caller keeps the one that it depends on,
 * as without us. Streams, functions and events belong to the copy that made them, so mixing two ends
 * in errors far from the cause. A caller that depends on none gets the first. */
#include "shim/stream/table.h"

#include "base/lock.h"
#include "base/log.h"
#include "hal/common/objects.h"

#include <stdlib.h>

struct xs_api_runtime xs_api_first;
_Atomic bool xs_api_many;

#if XS_API_MULTI

#define RUNTIMES 8u
#define PAGE_MASK (~(uintptr_t)4095)

static struct xs_lock g_lock;     /* g_others; nothing is called under it */
static struct xs_api_runtime *_Atomic g_others[RUNTIMES]; /* [0]: xs_api_first; never freed */
/* Pages of callers, the index of the library in the low bits. Any thread writes any slot; a lost update
 * costs one more look-up. */
static _Atomic uintptr_t g_seen[256];

static unsigned index_of(void *handle)
{
    struct xs_api_runtime *fresh = NULL, *known;
    unsigned i;

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

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    uintptr_t page = (uintptr_t)caller & PAGE_MASK, known;
    _Atomic uintptr_t *slot = &g_seen[(page >> 12) % XS_ARRAY_LEN(g_seen)];
    struct xs_api_runtime *rt;
    char path[512];
    unsigned i = 0;
    void *handle;

    known = atomic_load_explicit(slot, memory_order_acquire);
    if (XS_LIKELY(page && (known & PAGE_MASK) == page)) {
        i = (unsigned)(known & ~PAGE_MASK);
    } else {
        if (xs_vendor_of_caller(&xs_api_vendor, caller, &handle, path, sizeof(path)) && handle != xs_api_first.handle) {
            i = index_of(handle);
            if (i)
                XS_INFO(XS_API_NAME ": calls of one more library go to %s, on which it depends", path);
        }
        atomic_store_explicit(slot, page | i, memory_order_release);
    }
    rt = i ? atomic_load_explicit(&g_others[i], memory_order_acquire) : NULL;
    return rt ? rt : &xs_api_first;
}

void xs_api_look_again(void)
{
    static _Atomic uint64_t looked_at; /* objects loaded at the last look; any thread */
    uint64_t count;

    /* also unsynchronised looks see several once they were seen */
    if (atomic_load_explicit(&xs_api_many, memory_order_relaxed))
        return;
    count = xs_object_count();
    if (atomic_exchange_explicit(&looked_at, count, memory_order_relaxed) == count && count)
        return;
    if (!xs_vendor_another(&xs_api_vendor, xs_api_first.handle))
        return;
    xs_api_slots_direct(false);
    /* release pairs with xs_api_runtime_of */
    if (!atomic_exchange_explicit(&xs_api_many, true, memory_order_acq_rel))
        XS_INFO(XS_API_NAME ": several copies of the runtime are loaded; each caller keeps the one it depends on");
}

#else

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    (void)caller;
    return &xs_api_first;
}

void xs_api_look_again(void)
{
}

#endif
