/* SPDX-License-Identifier: Apache-2.0 */
/* When the shim wakes up: at the first CUDA call of the process. */
#include "shim/cuda/prototypes.h"

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "hal/cuda/rm/rm.h"
#include "shim/common/depth.h"
#include "shim/common/filter.h"

#include <dlfcn.h>
#include <string.h>

/* Set while this thread looks for the real library: whatever runs inside must not look again. */
#define DEPTH_BINDING 0x8000

_Atomic int xs_cuda_mode;
bool xs_cuda_tracing;
void *xs_cuda_real[ROW_COUNT];

static struct xs_lock g_lock;     /* the tables; nothing is called under it but the log */
static bool g_wanted;             /* under g_lock: a hardware queue exists, or will */
static bool g_disabled;           /* under g_lock */
static const char *g_filter;      /* constant once bound */
static bool g_filter_libraries;
static bool g_filtered[ROW_COUNT];

const struct xs_cuda_info xs_cuda_info[ROW_COUNT] = {
#define CU(kind, symbol, name, version, streams, params, args, stream, key)                       \
    [ROW_##symbol] = {#symbol, #name, version, XS_STREAMS_##streams, false},
#define CU_PASS(symbol, name, version, streams)                                                   \
    [ROW_##symbol] = {#symbol, #name, version, XS_STREAMS_##streams, true},
#include "shim/cuda/cuda_api.def"
};

CUresult xs_cuda_missing(void)
{
    return XS_CU_NOT_SUPPORTED;
}

bool xs_cuda_filtered(enum xs_cuda_row row, const void *caller)
{
    if (XS_LIKELY(!g_filter))
        return false;
    return g_filtered[row] || (g_filter_libraries && caller && xs_filter_caller(g_filter, caller));
}

/* Level 3 works from outside: whoever schedules is given the channel groups, which exist by now. */
static void offer_interrupt(void)
{
    bool works = xs_rm_level() == 3;

    if (works)
        xs_rm_publish();
    xsched_priv_cuda_level(1u << kPreemptLevelInterrupt, works);
}

/* libhalcuda made a hardware queue. */
static void on_first_queue(void)
{
    bool disabled;

    xs_lock_acquire(&g_lock);
    g_wanted = true;
    if (atomic_load_explicit(&xs_cuda_mode, memory_order_relaxed) == XS_CUDA_QUIET && !g_disabled)
        atomic_store_explicit(&xs_cuda_mode, XS_CUDA_ACTIVE, memory_order_release);
    disabled = g_disabled;
    xs_lock_release(&g_lock);
    if (!disabled)
        offer_interrupt();
}

static void publish(void *const *real)
{
    bool disabled = xs_env_bool(XS_ENV_XSCHED_DISABLE, false);
    bool tracing = !disabled && xs_trace_start();
    bool wanted = !disabled && (tracing || xsched_priv_auto());
    const char *filter = disabled ? NULL : xs_env_get(XS_ENV_XSCHED_FILTER);

    xs_lock_acquire(&g_lock);
    if (atomic_load_explicit(&xs_cuda_mode, memory_order_relaxed) == XS_CUDA_UNBOUND) {
        g_disabled = disabled;
        g_wanted |= wanted;
        xs_cuda_tracing = tracing;
        for (int row = 0; filter && row < ROW_COUNT; row++)
            g_filtered[row] = xs_filter_function(filter, xs_cuda_info[row].symbol);
        g_filter_libraries = filter && xs_filter_has_libraries(filter);
        g_filter = filter;
        memcpy(xs_cuda_real, real, sizeof(xs_cuda_real));
        xs_cuda_answers_prepare();
        /* release pairs with xs_cuda_mode_now */
        atomic_store_explicit(&xs_cuda_mode, g_wanted && !disabled ? XS_CUDA_ACTIVE : XS_CUDA_QUIET,
                              memory_order_release);
        for (int row = 0; !tracing && row < ROW_COUNT; row++)
            if (xs_cuda_info[row].pass) /* threads that jump through it meanwhile find either */
                __atomic_store_n(&xs_cuda_slots[row], xs_cuda_real[row], __ATOMIC_RELEASE);
    }
    xs_lock_release(&g_lock);
    xsched_priv_cuda_on_first(on_first_queue);
}

bool xs_cuda_start(const void *caller)
{
    void *real[ROW_COUNT], *handle;
    char path[512];
    int lacking = 0;

    if (xsched_priv_depth() & DEPTH_BINDING)
        return false; /* a constructor of the real library calls it by its public name */
    xsched_priv_depth_add(DEPTH_BINDING);
    if (xs_vendor_open(&xsched_priv_cuda_vendor, caller, &handle, path, sizeof(path)) < 0) {
        xsched_priv_depth_add(-DEPTH_BINDING);
        return false;
    }
    for (int row = 0; row < ROW_COUNT; row++) {
        real[row] = dlsym(handle, xs_cuda_info[row].symbol);
        if (!real[row]) {
            real[row] = (void *)xs_cuda_missing;
            lacking++;
        }
    }
    xsched_priv_cuda_bind(handle);
    publish(real);
    if (xs_cuda_tracing)
        xs_trace_note("CUDA: calls go to %s, which lacks %d of %d functions", path, lacking, ROW_COUNT);
    xsched_priv_depth_add(-DEPTH_BINDING);
    return true;
}
