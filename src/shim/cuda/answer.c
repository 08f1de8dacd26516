/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: the driver is asked, and where its answer is the function of one of our rows,
 * ours is given. Usually the address tells; else name, version and kind of default stream do. What
 * we do not know passes through. */
#include "shim/cuda/table.h"

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

void xs_cuda_answers_prepare(void)
{
    for (int row = ROW_COUNT - 1; row >= 0; row--) {
        uint32_t i = hash_address(xs_cuda_real[row]);

        while (g_by_address[i])
            i = (i + 1) % BUCKETS;
        if (xs_cuda_real[row] != (void *)xs_cuda_missing)
            g_by_address[i] = (uint16_t)(row + 1);
        i = hash_name(xs_cuda_info[row].name);
        while (g_by_name[i])
            i = (i + 1) % BUCKETS;
        g_by_name[i] = (uint16_t)(row + 1);
    }
}

static bool fits(const struct xs_cuda_info *info, uint64_t flags)
{
    if (info->streams == XS_STREAMS_ANY)
        return true;
    return info->streams == (flags & XS_CU_PROC_PER_THREAD ? XS_STREAMS_PTDS : XS_STREAMS_LEGACY);
}

/* A function of a newer driver: it passes through, and is named. */
static void unknown(const char *name, int version)
{
    static _Atomic bool begins_captures;

    if (xs_cuda_tracing)
        xs_trace_note("CUDA: %s (%d) is not known here and passes through", name, version);
    /* One that begins captures is not counted; then the driver is asked about each command. */
    if (strncmp(name, "cuStreamBegin", 13) == 0 && !atomic_exchange(&begins_captures, true))
        atomic_fetch_add_explicit(&xsched_priv_cuda_captures, 1, memory_order_relaxed);
}

void *xs_cuda_answer(const char *name, int version, uint64_t flags, void *real)
{
    int best = -1, same = -1;

    /* Some addresses have several names: then the one that was asked for. */
    for (uint32_t i = hash_address(real); g_by_address[i]; i = (i + 1) % BUCKETS) {
        int row = g_by_address[i] - 1;

        if (xs_cuda_real[row] != real)
            continue;
        if (strcmp(xs_cuda_info[row].name, name) == 0)
            return xs_cuda_entries[row];
        same = row;
    }
    if (same >= 0)
        return xs_cuda_entries[same];
    for (uint32_t i = hash_name(name); g_by_name[i]; i = (i + 1) % BUCKETS) {
        int row = g_by_name[i] - 1;
        const struct xs_cuda_info *info = &xs_cuda_info[row];

        if (strcmp(info->name, name) == 0 && info->version && info->version <= version && fits(info, flags) &&
            (best < 0 || info->version > xs_cuda_info[best].version))
            best = row;
    }
    /* a PASS row would only lead to another function of this name */
    if (best < 0 || xs_cuda_info[best].pass) {
        unknown(name, version);
        return real;
    }
    if (xs_cuda_real[best] == (void *)xs_cuda_missing) /* there, but not among the exported symbols */
        __atomic_store_n(&xs_cuda_real[best], real, __ATOMIC_RELEASE);
    return xs_cuda_entries[best];
}
