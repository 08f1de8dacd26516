/* SPDX-License-Identifier: Apache-2.0 */
/* When the shim wakes up: at the first call of the process to the platform. */
#include "shim/stream/prototypes.h"

#include "base/env.h"
#include "base/lock.h"
#include "hal/common/objects.h"
#include "shim/common/depth.h"
#include "shim/stream/stream_memory.h"

#include <stdlib.h>

/* Set while this thread looks for the real library: calls inside must not look again. */
#define DEPTH_BINDING 0x8000

_Atomic int xs_api_mode;

/* Lock 3: tables and mode of the shim. The first call to the platform holds it. */
static struct xs_lock g_lock;
static bool g_wanted;             /* under g_lock: a hardware queue exists, or will */

/* libhal made a hardware queue. */
static void on_first_queue(void)
{
    bool disabled;

    xs_lock_acquire(&g_lock);
    g_wanted = true;
    if (atomic_load_explicit(&xs_api_mode, memory_order_relaxed) == XS_SHIM_QUIET && !xs_shim_disabled)
        atomic_store_explicit(&xs_api_mode, XS_SHIM_ACTIVE, memory_order_release);
    disabled = xs_shim_disabled;
    xs_lock_release(&g_lock);
    if (!disabled)
        xs_api_first_queue_made();
}

/* A runtime that is itself a client of another platform. */
static void note_implementer(const struct xs_api_runtime *rt)
{
#ifdef XS_API_OVER
    struct xs_object *o = calloc(1, sizeof(*o)); /* paths are long and the caller's stack may be small */

    if (!o)
        return;
    xs_object_of(rt->real[ROW_XS_API_FREE], XS_API_OVER, o);
    if (o->found && o->needed)
        xsched_priv_implementer_add(o->from, o->to);
    free(o);
#else
    (void)rt;
#endif
}

void *xs_row_lacking(enum xs_row row)
{
    return xs_api_absent(row, false);
}

int xs_api_fill(struct xs_api_runtime *rt, void *handle)
{
    int lacking = xs_rows_fill(rt->real, ROW_COUNT, xs_rows_symbol, handle);

    rt->handle = handle;
    rt->hal = xs_api_hal_bind(handle);
    note_implementer(rt);
    xs_api_wrap(rt);
    xs_api_memory_wrap(rt, handle);
    return lacking;
}

void xs_api_slots_direct(bool direct)
{
    static void *looking[ROW_COUNT]; /* as linked; under g_lock */

    xs_lock_acquire(&g_lock);
    for (int row = 0; row < ROW_COUNT; row++) {
        if (xs_row_info[row].handled)
            continue;
        if (direct && !looking[row])
            looking[row] = xs_api_slots[row];
        /* other threads that jump through it now find either */
        if (direct || looking[row])
            __atomic_store_n(&xs_api_slots[row], direct ? xs_api_first.real[row] : looking[row], __ATOMIC_RELEASE);
    }
    xs_lock_release(&g_lock);
}

static void publish(const struct xs_api_runtime *rt, bool alone)
{
    struct xs_shim_wishes w;
    bool first = false;

    xs_shim_wishes_read(&w);
    xs_lock_acquire(&g_lock);
    if (atomic_load_explicit(&xs_api_mode, memory_order_relaxed) == XS_SHIM_UNBOUND) {
        first = true;
        g_wanted |= w.wanted;
        xs_shim_wishes_keep(&w);
        xs_api_first = *rt;
        xs_api_runtime_bound(alone);
        xs_api_answers_prepare();
        /* release pairs with xs_api_mode_now */
        atomic_store_explicit(&xs_api_mode, g_wanted && !w.disabled ? XS_SHIM_ACTIVE : XS_SHIM_QUIET,
                              memory_order_release);
    }
    xs_lock_release(&g_lock);
    if (first && alone && !w.tracing)
        xs_api_slots_direct(true);
    if (first && atomic_load(&xs_callers_matter)) /* another thread may have brought another copy meanwhile */
        xs_api_slots_direct(false);
    xs_api_on_first(on_first_queue);
}

bool xs_api_start(const void *caller)
{
    struct xs_api_runtime rt;
    char path[512];
    void *handle;
    int lacking;

    if (xsched_priv_depth() & DEPTH_BINDING)
        return false; /* a constructor of the real library calls it by its public name */
    xsched_priv_depth_add(DEPTH_BINDING);
    handle = xs_callers_first(caller, path, sizeof(path));
    if (!handle) {
        xsched_priv_depth_add(-DEPTH_BINDING);
        return false;
    }
    lacking = xs_api_fill(&rt, handle);
    publish(&rt, xs_callers_alone(handle));
    if (xs_shim_tracing)
        xs_trace_note(XS_API_NAME ": calls go to %s, which lacks %d of %d functions", path, lacking, ROW_COUNT);
    if (!xs_shim_disabled)
        xs_api_library_found(handle);
    xsched_priv_depth_add(-DEPTH_BINDING);
    return true;
}
