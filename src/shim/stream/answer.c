/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: asks the driver, and if the answer is the function of one of our rows, gives ours.
 * Usually the address tells. Else name, version and kind of default stream do, if the library says that this
 * is the row's very version. Functions that we do not know pass through (decision 0027). */
#include "shim/stream/stream_memory.h"
#include "shim/stream/stream_table.h"

#include "base/log.h"
#include "base/map.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 2048u

static uint16_t g_by_address[BUCKETS];   /* row + 1; written before the mode leaves UNBOUND */
static uint16_t g_by_name[BUCKETS];

_Static_assert(ROW_COUNT < BUCKETS / 2, "half empty");

static uint32_t hash_name(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h % BUCKETS;
}

static uint32_t hash_address(const void *p)
{
    return (uint32_t)xs_hash_u64((uint64_t)(uintptr_t)p) % BUCKETS;
}

void xs_api_answers_prepare(void)
{
    for (int row = ROW_COUNT - 1; row >= 0; row--) {
        uint32_t i = hash_address(xs_api_first.real[row]);

        while (g_by_address[i])
            i = (i + 1) % BUCKETS;
        if (xs_api_first.real[row] != xs_api_absent((enum xs_row)row, false))
            g_by_address[i] = (uint16_t)(row + 1);
        i = hash_name(xs_row_info[row].name);
        while (g_by_name[i])
            i = (i + 1) % BUCKETS;
        g_by_name[i] = (uint16_t)(row + 1);
    }
}

static bool fits(const struct xs_row_info *info, uint64_t flags)
{
    if (info->streams == XS_STREAMS_ANY)
        return true;
    return info->streams == (flags & XS_API_PROC_PER_THREAD ? XS_STREAMS_PTDS : XS_STREAMS_LEGACY);
}

/* Calls that submit work pass unseen: libpreempt does not count all of it. */
static void works_unseen(const char *name, int version)
{
    static _Atomic bool said;
    char of[32] = "";

    if (atomic_exchange(&said, true))
        return;
    if (XS_API_VERSIONS)
        snprintf(of, sizeof(of), " of version %d", version);
    XS_LOG_AT(xsched_priv_auto() || xs_api_mode_now() == XS_SHIM_ACTIVE ? XS_LOG_WARN : XS_LOG_INFO,
              XS_API_NAME ": %s%s is newer than XSched, and its calls pass unseen: this process works at level 1 "
              "from now on", name, of);
    xs_api_level1_only();
}

/* A function that is newer than the table passes through; logs its name.
 * @param counted  other versions of it are commands */
static void unknown(const char *name, int version, bool counted)
{
    bool begins_captures = strncmp(name, XS_API_CAPTURERS, sizeof(XS_API_CAPTURERS) - 1) == 0;
    bool works = counted || begins_captures || strcmp(name, XS_API_GIVES) == 0;

    if (xs_shim_tracing)
        xs_trace_note(XS_API_NAME ": XSched does not know %s (%d): it passes through", name, version);
    if (xs_shim_disabled)
        return;
    xsched_priv_unseen(name, XS_API_VERSIONS ? version : 0, works);
    if (begins_captures)          /* relaxed: the program gets the function after this */
        atomic_store_explicit(&xs_api_captures_unseen, true, memory_order_relaxed);
    if (works)
        works_unseen(name, version);
}

/* @return true when this row is the function by its name as well */
static bool same_function(const struct xs_api_runtime *rt, int row, const char *name, void *real, int *ret_same)
{
    if (rt->real[row] != real)
        return false;
    *ret_same = row;
    return strcmp(xs_row_info[row].name, name) == 0;
}

/* The newest row of this name that is no newer than the requested version; *ret_counted: some row of it is a
 * command.
 * @return -1: none */
static int row_by_name(const char *name, int version, uint64_t flags, bool *ret_counted)
{
    int best = -1;

    *ret_counted = false;
    for (uint32_t i = hash_name(name); g_by_name[i]; i = (i + 1) % BUCKETS) {
        int row = g_by_name[i] - 1;
        const struct xs_row_info *info = &xs_row_info[row];

        if (strcmp(info->name, name) != 0)
            continue;
        *ret_counted |= info->counted;
        if (info->version && info->version <= version && fits(info, flags) &&
            (best < 0 || info->version > xs_row_info[best].version))
            best = row;
    }
    return best;
}

/* AMD's runtime opens itself and asks dlsym, which is ours: then its answer is an entry of ours already. */
static bool is_entry(const void *fn)
{
    for (int row = 0; row < ROW_COUNT; row++)
        if (xs_row_entries[row] == fn)
            return true;
    return false;
}

/* The row's entry, for a program that asked this copy of the library. */
static void *entry_of(const struct xs_api_runtime *rt, int row)
{
    /* relaxed: as for any call, where another thread has just brought a second copy */
    bool several = XS_API_MULTI && atomic_load_explicit(&xs_callers_matter, memory_order_relaxed);
    void *entry = several ? xs_api_copy_entry(rt->handle, (enum xs_row)row) : NULL;

    return entry ? entry : xs_row_entries[row];
}

void *xs_api_answer(const struct xs_api_runtime *rt, const char *name, int version, uint64_t flags, void *real)
{
    int best, same = -1;
    bool counted;

    /* Some addresses have several names: then prefers the requested one. */
    for (uint32_t i = hash_address(real); rt == &xs_api_first && g_by_address[i]; i = (i + 1) % BUCKETS)
        if (same_function(rt, g_by_address[i] - 1, name, real, &same))
            return entry_of(rt, same);
    for (int row = 0; rt != &xs_api_first && row < ROW_COUNT; row++) /* rare: not worth a table */
        if (same_function(rt, row, name, real, &same))
            return entry_of(rt, same);
    if (same < 0)
        same = xs_api_memory_row(rt, real); /* its place in `real` has the limit's function */
    if (same < 0)
        same = xs_api_wrapped_row(rt, real, name);
    if (same >= 0)
        return entry_of(rt, same);
    if (is_entry(real))
        return real;
    best = row_by_name(name, version, flags, &counted);
    /* An address that no row has: the row's function at another address, or one with other parameters. */
    if (best < 0 || !xs_api_is_version(rt, (enum xs_row)best, flags, real)) {
        unknown(name, version, counted);
        return real;
    }
    if (!xs_row_info[best].handled) /* its jump leads to the symbol's own address */
        return real;
    if (rt->real[best] == xs_api_absent((enum xs_row)best, false)) /* there, but not among the exported symbols */
        __atomic_store_n(&((struct xs_api_runtime *)(uintptr_t)rt)->real[best], real, __ATOMIC_RELEASE);
    return entry_of(rt, best);
}
