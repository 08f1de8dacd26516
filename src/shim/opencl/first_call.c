/* SPDX-License-Identifier: Apache-2.0 */
/* When the shim wakes up: at the first OpenCL call of the process, or when a loader asks it to be
 * a layer. */
#include "shim/opencl/opencl_table.h"

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "shim/common/filter.h"
#include "shim/opencl/opencl_memory.h"

#include <dlfcn.h>
#include <string.h>

/* Set while this thread looks for the real library: whatever runs inside must not look again. */
#define DEPTH_BINDING 0x8000

struct xs_ocl_side xs_ocl_preload, xs_ocl_layer;
bool xs_ocl_tracing;              /* written before a side becomes active, under g_lock */

static struct xs_lock g_lock;     /* tables and modes; nothing is called under it but the log */
static bool g_wanted;             /* under g_lock: a hardware queue exists, or will */
static _Atomic bool g_disabled;   /* written under g_lock, before a side is bound */
static bool g_settled;            /* under g_lock: the environment was read */
static const char *g_filter;      /* constant once a side is active */
static bool g_filter_libraries;
static bool g_filtered[ROW_COUNT];

bool xs_ocl_filtered(enum xs_ocl_row row, const void *caller)
{
    if (XS_LIKELY(!g_filter))
        return false;
    return g_filtered[row] || (g_filter_libraries && caller && xs_filter_caller(g_filter, caller));
}

bool xs_ocl_is_disabled(void)
{
    return atomic_load_explicit(&g_disabled, memory_order_relaxed);
}

bool xs_ocl_is_active(void)
{
    return xs_ocl_mode_of(&xs_ocl_preload) == XS_OCL_ACTIVE || xs_ocl_mode_of(&xs_ocl_layer) == XS_OCL_ACTIVE;
}

static void activate_locked(struct xs_ocl_side *side)
{
    int mode = atomic_load_explicit(&side->mode, memory_order_relaxed);

    if (mode == XS_OCL_QUIET && g_wanted && !g_disabled)
        /* release pairs with xs_ocl_mode_of */
        atomic_store_explicit(&side->mode, XS_OCL_ACTIVE, memory_order_release);
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

/* What the environment says; called before the lock is taken. */
struct wishes {
    bool disabled, wanted, tracing, filter_libraries;
    const char *filter;
    bool filtered[ROW_COUNT];
};

static void read_wishes(struct wishes *w)
{
    memset(w, 0, sizeof(*w));
    w->disabled = xs_env_bool(XS_ENV_XSCHED_DISABLE, false);
    if (w->disabled)
        return;
    w->tracing = xs_trace_start();
    w->wanted = w->tracing || xsched_priv_auto();
    w->filter = xs_env_get(XS_ENV_XSCHED_FILTER);
    if (!w->filter)
        return;
    w->filter_libraries = xs_filter_has_libraries(w->filter);
    for (int row = 0; row < ROW_COUNT; row++)
        w->filtered[row] = xs_filter_function(w->filter, xs_ocl_names[row]);
}

static void publish(struct xs_ocl_side *side, const struct xs_ocl_table *table)
{
    struct wishes w;

    read_wishes(&w);
    xs_lock_acquire(&g_lock);
    if (!g_settled) {
        g_settled = true;
        g_disabled = w.disabled;
        g_wanted |= w.wanted;
        xs_ocl_tracing = w.tracing;
        memcpy(g_filtered, w.filtered, sizeof(g_filtered));
        g_filter_libraries = w.filter_libraries;
        g_filter = w.filter;
    }
    if (atomic_load_explicit(&side->mode, memory_order_relaxed) == XS_OCL_UNBOUND) {
        side->real = *table;
        atomic_store_explicit(&side->mode, g_wanted && !g_disabled ? XS_OCL_ACTIVE : XS_OCL_QUIET,
                              memory_order_release);
    }
    xs_lock_release(&g_lock);
    xsched_priv_ocl_on_first(on_first_queue);
}

static void fill(struct xs_ocl_table *table, void *(*get)(void *ctx, const char *name), void *ctx)
{
    *table = xs_ocl_missing;
#define OCL(kind, name, version, slot, ret, params, args, miss, key, blocking)                    \
    do {                                                                                          \
        void *p = get(ctx, #name);                                                                \
        if (p && p != xs_ocl_preload_entry(ROW_##name)) /* not ourselves, as a dependency */      \
            memcpy(&table->name, &p, sizeof(p));                                                  \
    } while (0);
#include "shim/opencl/opencl_api.def"
#undef OCL
}

static void *get_symbol(void *ctx, const char *name)
{
    return dlsym(ctx, name);
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
        fill(&table, get_symbol, handle);
        xs_ocl_memory_wrap(&table, false);
        xsched_priv_ocl_bind(get_symbol, handle);
        publish(&xs_ocl_preload, &table);
        if (xs_ocl_tracing)
            xs_trace_note("OpenCL: calls go to %s", path);
    }
    xsched_priv_depth_add(-DEPTH_BINDING);
    return r == 0;
}

void xs_ocl_start_layer(void *(*get)(void *ctx, const char *name), void *ctx)
{
    struct xs_ocl_table table;

    fill(&table, get, ctx);
    xs_ocl_memory_wrap(&table, true);
    xsched_priv_ocl_bind(get, ctx);
    publish(&xs_ocl_layer, &table);
    if (xs_ocl_tracing)
        xs_trace_note("OpenCL: loaded as a layer");
}
