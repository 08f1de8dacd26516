/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/shim_presence.h"

#include "base/env.h"
#include "base/log.h"
#include "base/platforms.h"
#include "wire/shims_begun.h"
#include "xqueue/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern struct xs_shims_begun xsched_priv_shims_begun;
XS_EXPORT struct xs_shims_begun xsched_priv_shims_begun = {.version = XS_SHIMS_BEGUN_VERSION,
                                                           .bytes = sizeof(struct xs_shims_begun)};
static _Atomic bool g_by_path;                        /* likewise: the program loaded one of them by path */
static _Atomic(const struct xs_platform *) g_missing; /* owner: xs_shim_expect */
static _Atomic bool g_warned;

void xsched_priv_shim_here(int platform, bool by_path)
{
    atomic_store_explicit(&xsched_priv_shims_begun.begun[platform & 255], 1, memory_order_relaxed);
    if (by_path)
        atomic_store_explicit(&g_by_path, true, memory_order_relaxed);
}

static const struct xs_platform *row_of(int platform)
{
    for (size_t i = 0; i < XS_PLATFORM_COUNT; i++) {
        if (xs_platforms[i].number == platform && *xs_platforms[i].api)
            return &xs_platforms[i];
    }
    return NULL;
}

static void say_missing(const struct xs_platform *p, int mode)
{
    const char *preload = getenv("LD_PRELOAD");
    char shim[64];
    const char *how;

    snprintf(shim, sizeof(shim), "libshim%s.so", p->stem);
    how = preload && strstr(preload, shim) ? "LD_PRELOAD names it, and the dynamic linker ignored that"
                                           : "use LD_PRELOAD or `xsched run`";
    if (mode == XS_MODE_APP)
        XS_INFO("%s: no call of this program came through %s: XSched schedules only commands of XQueueSubmit; %s",
                p->name, shim, how);
    else if (!atomic_exchange_explicit(&g_warned, true, memory_order_relaxed))
        XS_WARN("%s: no call of this program came through %s: XSched schedules only commands of XQueueSubmit; %s",
                p->name, shim, how);
}

void xs_shim_expect(const struct xs_hal_ops *ops, int mode)
{
    const struct xs_platform *p;

    if (atomic_load_explicit(&xsched_priv_shims_begun.begun[ops->platform & 255], memory_order_relaxed))
        return;
    p = row_of(ops->platform);
    if (p && (mode != XS_MODE_APP || !atomic_load_explicit(&g_missing, memory_order_relaxed)))
        say_missing(p, mode);
    atomic_store_explicit(&g_missing, p, memory_order_relaxed);
}

void xs_scheduler_say(int mode, const char *policy)
{
    const struct xs_platform *missing = atomic_load_explicit(&g_missing, memory_order_relaxed);
    char text[96];

    if (mode == XS_MODE_LOCAL)
        snprintf(text, sizeof(text), "using local scheduler with policy %s", policy);
    else
        snprintf(text, sizeof(text), "using %s scheduler", mode == XS_MODE_GLOBAL ? "global" : "app-managed");
    if (atomic_load_explicit(&g_by_path, memory_order_relaxed) && !xs_env_get(XS_ENV_XLOG_LEVEL))
        xs_log_line(XS_LOG_INFO, "%s", text);
    else
        XS_INFO("%s", text);
    if (missing && mode != XS_MODE_APP)
        say_missing(missing, mode);
}
