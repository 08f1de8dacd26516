/* SPDX-License-Identifier: Apache-2.0 */
/* When the shim wakes up: at the first OpenCL call of the process, or when a loader makes it a layer. */
#include "shim/opencl/opencl_table.h"

#include "base/lock.h"
#include "shim/opencl/opencl_memory.h"

#include <stdlib.h>

/* Set while this thread looks for the real library: calls inside must not look again. */
#define DEPTH_BINDING 0x8000

struct xs_ocl_side xs_ocl_preload, xs_ocl_layers[XS_OCL_LAYERS];

/* Lock 3: tables and modes of the shim. The first call to the platform holds it, and the first of another
 * loader. */
static struct xs_lock g_lock;
static bool g_wanted;             /* under g_lock: a hardware queue exists, or will */
static bool g_settled;            /* under g_lock: the environment has been read by a thread */
static bool g_several;            /* under g_lock: which loader a call goes to depends on its caller */
static unsigned g_layers;         /* under g_lock */

bool xs_ocl_is_active(void)
{
    bool active = xs_ocl_mode_of(&xs_ocl_preload) == XS_SHIM_ACTIVE;

    for (unsigned i = 0; i < XS_OCL_LAYERS && !active; i++)
        active = xs_ocl_mode_of(&xs_ocl_layers[i]) == XS_SHIM_ACTIVE;
    return active;
}

/* The mode of a side that has its functions. */
static void set_mode_locked(struct xs_ocl_side *side)
{
    int mode = XS_SHIM_QUIET;

    if (g_wanted && !xs_shim_disabled)
        mode = XS_SHIM_ACTIVE;
    else if (side == &xs_ocl_preload && g_several)
        mode = XS_OCL_QUIET_SEVERAL;
    /* release pairs with xs_ocl_mode_of */
    atomic_store_explicit(&side->mode, mode, memory_order_release);
}

static void set_modes_locked(void)
{
    for (unsigned i = 0; i <= XS_OCL_LAYERS; i++) {
        struct xs_ocl_side *side = i ? &xs_ocl_layers[i - 1] : &xs_ocl_preload;

        if (atomic_load_explicit(&side->mode, memory_order_relaxed) != XS_SHIM_UNBOUND)
            set_mode_locked(side);
    }
}

/* libhalopencl made the first hardware queue. */
static void on_first_queue(void)
{
    xs_lock_acquire(&g_lock);
    g_wanted = true;
    set_modes_locked();
    xs_lock_release(&g_lock);
}

void xs_copy_several(bool several)
{
    xs_lock_acquire(&g_lock);
    g_several = several;
    set_modes_locked();
    xs_lock_release(&g_lock);
}

/* @param library  of exported functions; NULL: a layer's table */
static void publish(struct xs_ocl_side *side, const struct xs_ocl_table *table, void *library)
{
    bool alone = !library || xs_callers_alone(library);
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
        if (library)
            xs_callers_bound(library, &side->real, alone);
        g_several |= !alone;
        set_mode_locked(side);
    }
    xs_lock_release(&g_lock);
    xsched_priv_ocl_on_first(on_first_queue);
}

void *xs_row_lacking(enum xs_row row)
{
    return xs_ocl_missing.real[row];
}

/* @param get  as for xsched_priv_ocl_bind */
static void fill(struct xs_ocl_table *table, unsigned layer, void *(*get)(void *ctx, const char *name), void *ctx)
{
    xs_rows_fill(table->real, ROW_CORE_COUNT, get, ctx);
    table->layer = layer;
    table->api = xsched_priv_ocl_bind(get, ctx);
    xs_ocl_memory_wrap(table);
}

void *xs_copy_new(void *handle)
{
    struct xs_ocl_table *table = malloc(sizeof(*table));

    if (table)
        fill(table, 0, xs_rows_symbol, handle);
    return table;
}

/* A program that opens another loader by its path has that one's own functions. */
void *xs_copy_function(void *library, void *ours, const void *caller)
{
    (void)library, (void)ours, (void)caller;
    return NULL;
}

const struct xs_ocl_table *xs_ocl_table_by(const void *caller)
{
    const struct xs_ocl_table *table = xs_callers_copy(caller);

    return table ? table : &xs_ocl_missing;
}

bool xs_ocl_start(const void *caller)
{
    struct xs_ocl_table table;
    char path[512];
    void *handle;

    if (xsched_priv_depth() & DEPTH_BINDING)
        return false; /* a constructor of the real library calls it by its public name */
    xsched_priv_depth_add(DEPTH_BINDING);
    handle = xs_callers_first(caller, path, sizeof(path));
    if (handle) {
        fill(&table, 0, xs_rows_symbol, handle);
        publish(&xs_ocl_preload, &table, handle);
        if (xs_shim_tracing)
            xs_trace_note("OpenCL: calls go to %s", path);
    }
    xsched_priv_depth_add(-DEPTH_BINDING);
    return handle != NULL;
}

unsigned xs_ocl_start_layer(void *(*get)(void *ctx, const char *name), void *ctx)
{
    struct xs_ocl_table table;
    unsigned layer;

    xs_lock_acquire(&g_lock);
    layer = g_layers < XS_OCL_LAYERS ? g_layers++ : XS_OCL_LAYERS;
    xs_lock_release(&g_lock);
    if (layer == XS_OCL_LAYERS)
        return layer;
    fill(&table, 1 + layer, get, ctx);
    publish(&xs_ocl_layers[layer], &table, NULL);
    if (xs_shim_tracing)
        xs_trace_note("OpenCL: loaded as a layer");
    return layer;
}
