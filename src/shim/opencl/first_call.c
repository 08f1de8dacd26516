/* SPDX-License-Identifier: Apache-2.0 */
/* When the shim wakes up: at the first OpenCL call of the process, or when a loader makes it a layer. */
#include "shim/opencl/opencl_table.h"

#include "base/lock.h"
#include "shim/opencl/opencl_memory.h"

/* Set while this thread looks for the real library: calls inside must not look again. */
#define DEPTH_BINDING 0x8000

struct xs_ocl_side xs_ocl_preload, xs_ocl_layer;

static struct xs_lock g_lock;     /* tables and modes; its holder calls nothing but the log */
static bool g_wanted;             /* under g_lock: a hardware queue exists, or will */
static bool g_settled;            /* under g_lock: the environment has been read by a thread */

bool xs_ocl_is_active(void)
{
    return xs_ocl_mode_of(&xs_ocl_preload) == XS_SHIM_ACTIVE || xs_ocl_mode_of(&xs_ocl_layer) == XS_SHIM_ACTIVE;
}

static void activate_locked(struct xs_ocl_side *side)
{
    int mode = atomic_load_explicit(&side->mode, memory_order_relaxed);

    if (mode == XS_SHIM_QUIET && g_wanted && !xs_shim_disabled)
        /* release pairs with xs_ocl_mode_of */
        atomic_store_explicit(&side->mode, XS_SHIM_ACTIVE, memory_order_release);
}

/* libhalopencl made the first hardware queue. */
static void on_first_queue(void)
{
    xs_lock_acquire(&g_lock);
    g_wanted = true;
    activate_locked(&xs_ocl_preload);
    activate_locked(&xs_ocl_layer);
    xs_lock_release(&g_lock);
}

static void publish(struct xs_ocl_side *side, const struct xs_ocl_table *table)
{
    struct xs_shim_wishes w;

    xs_shim_wishes_read(&w);
    xs_lock_acquire(&g_lock);
    if (!g_settled) {
        g_settled = true;
        g_wanted |= w.wanted;
        xs_shim_wishes_keep(&w);
    }
    if (atomic_load_explicit(&side->mode, memory_order_relaxed) == XS_SHIM_UNBOUND) {
        side->real = *table;
        atomic_store_explicit(&side->mode, g_wanted && !xs_shim_disabled ? XS_SHIM_ACTIVE : XS_SHIM_QUIET,
                              memory_order_release);
    }
    xs_lock_release(&g_lock);
    xsched_priv_ocl_on_first(on_first_queue);
}

void *xs_row_lacking(enum xs_row row)
{
    return xs_ocl_missing.real[row];
}

bool xs_ocl_start(const void *caller)
{
    struct xs_ocl_table table;
    char path[512];
    void *handle;
    int r;

    if (xsched_priv_depth() & DEPTH_BINDING)
        return false; /* a constructor of the real library calls it by its public name */
    xsched_priv_depth_add(DEPTH_BINDING);
    r = xs_vendor_open(&xsched_priv_ocl_vendor, caller, &handle, path, sizeof(path));
    if (r == 0) {
        xs_rows_fill(table.real, ROW_CORE_COUNT, xs_rows_symbol, handle);
        xs_ocl_memory_wrap(&table, false);
        xsched_priv_ocl_bind(xs_rows_symbol, handle);
        publish(&xs_ocl_preload, &table);
        if (xs_shim_tracing)
            xs_trace_note("OpenCL: calls go to %s", path);
    }
    xsched_priv_depth_add(-DEPTH_BINDING);
    return r == 0;
}

void xs_ocl_start_layer(void *(*get)(void *ctx, const char *name), void *ctx)
{
    struct xs_ocl_table table;

    xs_rows_fill(table.real, ROW_CORE_COUNT, get, ctx);
    xs_ocl_memory_wrap(&table, true);
    xsched_priv_ocl_bind(get, ctx);
    publish(&xs_ocl_layer, &table);
    if (xs_shim_tracing)
        xs_trace_note("OpenCL: loaded as a layer");
}
