/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/collective_names.h"

#include "base/map.h"
#include "shim/stream/collective_patterns.h"
#include "xqueue/interface.h"

#define SLOTS 4096u               /* a library of collectives has some hundreds of kernels */
#define GONE  1u                  /* a handle that names something else now */

_Atomic uint32_t xs_collective_functions, xs_collective_graphs;
/* Handles, open addressing; 0: free. A full table forgets none that it has. Written by compare and
 * exchange. */
static _Atomic uint64_t g_slots[SLOTS];

static _Atomic uint64_t *slot_of(uint64_t handle)
{
    uint64_t at = xs_hash_u64(handle);

    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t seen = atomic_load(&g_slots[(at + i) % SLOTS]);

        if (seen == handle)
            return &g_slots[(at + i) % SLOTS];
        if (seen == 0)
            break;
    }
    return NULL;
}

bool xs_collective_find(const void *function)
{
    return slot_of((uint64_t)(uintptr_t)function) != NULL;
}

static void add(uint64_t handle)
{
    uint64_t at = xs_hash_u64(handle);

    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t seen = 0;

        if (atomic_compare_exchange_strong(&g_slots[(at + i) % SLOTS], &seen, handle) || seen == handle)
            break;
    }
    atomic_fetch_add(&xs_collective_functions, 1);
}

void xs_collective_named(const void *function, const char *name)
{
    uint64_t handle = (uint64_t)(uintptr_t)function;
    _Atomic uint64_t *slot;

    if (!function || !name)
        return;
    if (xs_collective_is_name(name)) {
        add(handle);
        xsched_priv_collectives_ahead();
        return;
    }
    /* the handle of an unloaded module may come back as another function's */
    slot = atomic_load(&xs_collective_functions) ? slot_of(handle) : NULL;
    if (slot)
        atomic_store(slot, GONE);
}

void xs_collective_same(const void *function, const void *known)
{
    if (function && atomic_load(&xs_collective_functions) && xs_collective_find(known))
        add((uint64_t)(uintptr_t)function);
}
