/* SPDX-License-Identifier: Apache-2.0 */
/* The second way: the loader's own functions, in programs that link with it. If the loader has our
 * drivers (proxy.c), those do everything, and the functions here only pass on. */
#include "shim/levelzero/ze_table.h"

#include "base/lock.h"
#include "hal/common/next_symbol.h"

void *xs_row_lacking(enum xs_row row)
{
    (void)row;
    return NULL;
}

static void *used(void *handle, const char *table, int slot, int since, const char *name)
{
    (void)table, (void)slot, (void)since;
    return xs_dlsym(handle, name);
}

const struct xs_ze_side *xs_ze_preloaded(const void *caller)
{
    static struct xs_ze_side side; /* written once under lock, before bound */
    /* Lock 7: the loader's functions, until they are complete. */
    static struct xs_lock lock;
    static _Atomic bool bound;
    struct xs_ze_side found;
    char path[512];
    void *handle;

    /* acquire pairs with the release below: the side is complete */
    if (XS_LIKELY(atomic_load_explicit(&bound, memory_order_acquire)))
        return &side;
    if (xs_vendor_open(&xsched_priv_ze_vendor, caller, &handle, path, sizeof(path)) < 0)
        return NULL;
    xs_rows_fill(found.real.real, ROW_COUNT, xs_rows_symbol, handle);
    xsched_priv_ze_api_fill(&found.api, used, handle);
    xs_shim_wishes_once();
    xs_lock_acquire(&lock);
    if (!atomic_load_explicit(&bound, memory_order_relaxed)) {
        side = found;
        atomic_store_explicit(&bound, true, memory_order_release);
    }
    xs_lock_release(&lock);
    if (xs_shim_tracing)
        xs_trace_note("Level Zero: calls go to %s", path);
    return &side;
}
