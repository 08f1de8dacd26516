/* SPDX-License-Identifier: Apache-2.0 */
/* A table of hashes. If another thread forgets all while a thread's call runs, that call's mark has the
 * number of an earlier generation. The table may get the mark afterwards, but no look-up finds it. */
#include "shim/cuda/loaded.h"

#include <stdatomic.h>

#include "base/map.h"

#define SETS 1024u
#define WAYS 4u

static _Atomic uint64_t g_marks[SETS][WAYS]; /* 0: free; writers: any thread */
static _Atomic uint64_t g_generation;        /* writer: xs_loaded_forget */

uint64_t xs_loaded_mark(uint64_t handle, unsigned row, const void *context)
{
    uint64_t mark;

    if (!handle || !context)
        return 0;
    mark = xs_hash_u64(handle);
    mark = xs_hash_u64(mark ^ (uint64_t)(uintptr_t)context);
    mark = xs_hash_u64(mark ^ row ^ (atomic_load(&g_generation) << 16));
    return mark;
}

bool xs_loaded_known(uint64_t mark)
{
    const _Atomic uint64_t *set = g_marks[mark % SETS];

    for (unsigned i = 0; mark && i < WAYS; i++)
        if (atomic_load(&set[i]) == mark)
            return true;
    return false;
}

void xs_loaded_remember(uint64_t mark)
{
    _Atomic uint64_t *set = g_marks[mark % SETS];

    for (unsigned i = 0; mark && i < WAYS; i++) {
        uint64_t seen = 0;

        if (atomic_compare_exchange_strong(&set[i], &seen, mark) || seen == mark)
            return;
    }
}

void xs_loaded_forget(void)
{
    atomic_fetch_add(&g_generation, 1);
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < WAYS; k++)
            if (atomic_load(&g_marks[i][k]))
                atomic_store(&g_marks[i][k], 0);
}
