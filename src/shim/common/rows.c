/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/common/rows.h"

#include "base/env.h"
#include "base/lock.h"
#include "hal/common/next_symbol.h"
#include "shim/common/filter.h"
#include "xqueue/interface.h"

#include <dlfcn.h>
#include <string.h>

const struct xs_row_info xs_row_info[ROW_COUNT] = {
#define XS_ROW_ANY(kind, symbol, name, version, streams)                                          \
    [ROW_##symbol] = {#symbol, #name, version, XS_STREAMS_##streams, XS_HOW(kind), XS_CODE(kind) != XS_CODE_PASS, \
                      XS_COLUMN(counted, kind)},
#include "shim/common/each_row.def"
};

bool xs_shim_tracing, xs_shim_disabled;
static const char *g_filter;      /* this and the next two: constant once the mode is not UNBOUND */
static bool g_filter_libraries;
static bool g_filtered[ROW_COUNT];

int xs_rows_fill(void **real, int count, void *(*get)(void *ctx, const char *symbol), void *ctx)
{
    int lacking = 0;

    for (int row = 0; row < count; row++) {
        real[row] = get(ctx, xs_row_info[row].symbol);
        if (real[row] && real[row] != xs_row_entries[row])
            continue;
        real[row] = xs_row_lacking((enum xs_row)row);
        lacking++;
    }
    return lacking;
}

void *xs_rows_symbol(void *handle, const char *symbol)
{
    return xs_dlsym(handle, symbol);
}

/* Whether this object is LIBDIR/libshimX.so, not LIBDIR/xsched/libshimX.so (decision 0028). A loader that takes it as a layer
 * may name it LIBDIR/xsched/./libshimX.so. */
static bool is_by_path(void)
{
    const char *path, *name, *end;
    Dl_info info;

    if (!dladdr((const void *)xs_row_info, &info) || !(path = info.dli_fname))
        return false;
    name = end = strrchr(path, '/');
    while (end && end > path && (end[-1] == '/' || (end - path >= 2 && end[-1] == '.' && end[-2] == '/')))
        end--;
    return name && !(end - path >= 7 && strncmp(end - 7, "/xsched", 7) == 0);
}

void xs_shim_wishes_read(struct xs_shim_wishes *ret)
{
    memset(ret, 0, sizeof(*ret));
    xsched_priv_shim_here(XS_API_PLATFORM, is_by_path());
    ret->disabled = xs_env_bool(XS_ENV_XSCHED_DISABLE, false);
    if (ret->disabled)
        return;
    ret->tracing = xs_trace_start();
    ret->wanted = ret->tracing || xsched_priv_auto();
    ret->filter = xs_env_get(XS_ENV_XSCHED_FILTER);
    if (!ret->filter)
        return;
    ret->filter_libraries = xs_filter_has_libraries(ret->filter);
    for (int row = 0; row < ROW_COUNT; row++)
        ret->filtered[row] = xs_filter_function(ret->filter, xs_row_info[row].symbol);
}

void xs_shim_wishes_once(void)
{
    /* Lock 7: the shim's settings. The first call holds it. */
    static struct xs_lock lock;
    static bool started;          /* under lock */
    struct xs_shim_wishes w;

    xs_shim_wishes_read(&w);
    xs_lock_acquire(&lock);
    if (!started)
        xs_shim_wishes_keep(&w);
    started = true;
    xs_lock_release(&lock);
}

void xs_shim_wishes_keep(const struct xs_shim_wishes *w)
{
    xs_shim_disabled = w->disabled;
    xs_shim_tracing = w->tracing;
    memcpy(g_filtered, w->filtered, sizeof(g_filtered));
    g_filter_libraries = w->filter_libraries;
    g_filter = w->filter;
}

bool xs_row_filtered(enum xs_row row, const void *caller)
{
    if (XS_LIKELY(!g_filter))
        return false;
    return g_filtered[row] || (g_filter_libraries && caller && xs_filter_caller(g_filter, caller));
}
