/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: the driver is asked, and where its answer is the function of one of our rows,
 * ours is given. Usually the address tells; else name, version and kind of default stream do. What
 * we do not know passes through. */
#include "shim/stream/stream_memory.h"
#include "shim/stream/stream_table.h"

#include "base/map.h"

#include <string.h>

#define BUCKETS 2048u

static uint16_t g_by_address[BUCKETS];   /* row + 1; written before the mode says bound */
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

/* A function of a newer driver: it passes through, and is named. */
static void unknown(const char *name, int version)
{
    static _Atomic bool begins_captures;

    if (xs_shim_tracing)
        xs_trace_note(XS_API_NAME ": %s (%d) is not known here and passes through", name, version);
    /* One that begins captures is not counted; then the driver is asked about each command. */
    if (strncmp(name, XS_API_CAPTURERS, sizeof(XS_API_CAPTURERS) - 1) == 0 && !atomic_exchange(&begins_captures, true))
        atomic_fetch_add_explicit(&xs_api_captures, 1, memory_order_relaxed);
}

/* @return true when this row is the function by its name as well */
static bool same_function(const struct xs_api_runtime *rt, int row, const char *name, void *real, int *ret_same)
{
    if (rt->real[row] != real)
        return false;
    *ret_same = row;
    return strcmp(xs_row_info[row].name, name) == 0;
}

void *xs_api_answer(const struct xs_api_runtime *rt, const char *name, int version, uint64_t flags, void *real)
{
    int best = -1, same = -1;

    /* Some addresses have several names: then the one that was asked for. */
    for (uint32_t i = hash_address(real); rt == &xs_api_first && g_by_address[i]; i = (i + 1) % BUCKETS)
        if (same_function(rt, g_by_address[i] - 1, name, real, &same))
            return xs_row_entries[same];
    for (int row = 0; rt != &xs_api_first && row < ROW_COUNT; row++) /* rare: not worth a table */
        if (same_function(rt, row, name, real, &same))
            return xs_row_entries[same];
    if (same < 0)
        same = xs_api_memory_row(rt, real); /* its place in `real` has the limit's function */
    if (same >= 0)
        return xs_row_entries[same];
    for (uint32_t i = hash_name(name); g_by_name[i]; i = (i + 1) % BUCKETS) {
        int row = g_by_name[i] - 1;
        const struct xs_row_info *info = &xs_row_info[row];

        if (strcmp(info->name, name) == 0 && info->version && info->version <= version && fits(info, flags) &&
            (best < 0 || info->version > xs_row_info[best].version))
            best = row;
    }
    /* a PASS row would only lead to another function of this name */
    if (best < 0 || !xs_row_info[best].handled) {
        unknown(name, version);
        return real;
    }
    if (rt->real[best] == xs_api_absent((enum xs_row)best, false)) /* there, but not among the exported symbols */
        __atomic_store_n(&((struct xs_api_runtime *)(uintptr_t)rt)->real[best], real, __ATOMIC_RELEASE);
    return xs_row_entries[best];
}
