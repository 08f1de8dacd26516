/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels may run on a lane.
 *
 * A kernel whose blocks all fit the device at once may rely on that: each block may spin until others of its
 * grid arrive (a software grid barrier). On a lane that is too small for its blocks, such a kernel would
 * never end. So a kernel that fits the device runs on the lane only if it fits the lane, together with the
 * largest such kernels of the process's other queues with lanes: it may spin for those as well. A kernel that
 * does not fit the device cannot rely on it anywhere.
 *
 * We ask the driver once for each function and block size how many blocks fit. We ask when we see a kernel
 * for the second time: the first launch may have to load it, and goes to the program's own stream. */
#include "hal/cuda/lanes/lanes.h"

#include "base/clock.h"
#include "base/futex.h"

#include <string.h>

#define SETS        1024u
#define WAYS        4u
#define CAP_BITS    20u
#define CAP_MOST    ((1u << CAP_BITS) - 1)
#define OTHERS_NS   (50 * XS_NS_PER_MS)
#define LOOK_NS     (50 * XS_NS_PER_US)
#define UNKNOWN_NS  XS_NS_PER_S

/* A kernel's row: the blocks that fit. It names the kernel of that answer once more, since the row may be
 * another's by now. */
struct fit_row {
    _Atomic uint64_t key;          /* 0: free */
    _Atomic uint64_t fits;         /* 0: seen once */
};
struct fits {
    uint32_t device;               /* blocks that fit the device at once, at most */
    uint32_t lanes[XS_LANE_WIDTHS]; /* ... each lane, at least */
};

static struct fit_row g_rows[SETS][WAYS];           /* any thread */
static _Atomic uint64_t g_generation;           /* changes when the program unloads functions; any thread */

/* Libraries set the same attribute of a function before each launch; only another value changes anything. Two
 * functions that share a word change more often than they must. Any thread. */
#define SETTINGS 4096u
static _Atomic uint64_t g_settings[SETTINGS];   /* the last value, by function and attribute */
static _Atomic uint64_t g_versions[SETTINGS];   /* changes with a function's attributes */

static _Atomic uint64_t *version_of(const void *f)
{
    return &g_versions[xs_hash_u64((uint64_t)(uintptr_t)f) % SETTINGS];
}

XS_EXPORT void xsched_priv_cuda_lane_function_set(const void *f, int attribute, int value)
{
    uint64_t hash = xs_hash_u64(xs_hash_u64((uint64_t)(uintptr_t)f) ^ (uint64_t)(unsigned)attribute);
    uint64_t setting = xs_hash_u64(hash ^ (uint64_t)(unsigned)value << 32);

    if (attribute != XS_CU_FUNC_SHARED_MOST && atomic_exchange(&g_settings[hash % SETTINGS], setting) != setting)
        atomic_fetch_add(version_of(f), 1);
}

XS_EXPORT void xsched_priv_cuda_lane_forget(void)
{
    atomic_fetch_add(&g_generation, 1);
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned w = 0; w < WAYS; w++)
            if (atomic_load(&g_rows[i][w].key))
                atomic_store(&g_rows[i][w].key, 0);
}

static uint64_t key_of(const struct xs_cuda_context *c, const struct xs_cuda_kernel *k)
{
    uint64_t key = xs_hash_u64((uint64_t)(uintptr_t)k->f ^ xs_hash_u64((uint64_t)k->threads << 32 | k->shared_bytes));

    key = xs_hash_u64(key ^ xs_hash_u64(atomic_load(&g_generation) << 16 ^ k->cluster));
    key = xs_hash_u64(key ^ xs_hash_u64(atomic_load_explicit(version_of(k->f), memory_order_relaxed)));
    return xs_hash_u64(key ^ c->id ^ (uint64_t)(uintptr_t)c) | 1;
}

/* @return NULL: it was not there; it is now, unless the table is full */
static struct fit_row *find(uint64_t key)
{
    struct fit_row *set = g_rows[key / WAYS % SETS];

    for (unsigned w = 0; w < WAYS; w++)
        if (atomic_load(&set[w].key) == key)
            return &set[w];
    for (unsigned w = 0; w < WAYS; w++) {
        uint64_t none = 0;

        if (atomic_compare_exchange_strong(&set[w].key, &none, key)) {
            atomic_store(&set[w].fits, 0);
            return NULL;
        }
    }
    atomic_store(&set[key >> 60 & (WAYS - 1)].key, 0); /* frees a place for the next time */
    return NULL;
}

static uint64_t pack(uint64_t key, const struct fits *f)
{
    return (uint64_t)f->device << 44 | (uint64_t)f->lanes[0] << 24 | (uint64_t)f->lanes[1] << 4 | (key >> 8 & 15);
}

static bool unpack(uint64_t key, uint64_t word, struct fits *ret)
{
    if (!word || (word & 15) != (key >> 8 & 15))
        return false;
    ret->device = (uint32_t)(word >> 44);
    ret->lanes[0] = (uint32_t)(word >> 24) & CAP_MOST;
    ret->lanes[1] = (uint32_t)(word >> 4) & CAP_MOST;
    return true;
}

static unsigned own_cluster(const struct xs_cuda_api *api, CUfunction f)
{
    static const int attributes[] = {XS_CU_FUNC_CLUSTER_WIDTH, XS_CU_FUNC_CLUSTER_HEIGHT, XS_CU_FUNC_CLUSTER_DEPTH};
    unsigned n = 1;

    for (size_t i = 0; i < XS_ARRAY_LEN(attributes); i++) {
        int v = 0;

        if (api->cuFuncGetAttribute(&v, attributes[i], f) == XS_CU_SUCCESS && v > 1)
            n *= (unsigned)v;
    }
    return n;
}

/* Clusters need multiprocessors that lie together, so that fewer fit than their blocks say. */
static uint32_t clusters(const struct xs_cuda_api *api, CUstream stream, const struct xs_cuda_kernel *k, unsigned cluster)
{
    struct xs_cu_launch_attribute attr = {.id = XS_CU_LAUNCH_CLUSTER, .value = {cluster, 1, 1}};
    struct xs_cu_launch_config config = {
        .grid = {cluster, 1, 1}, .block = {k->threads, 1, 1}, .shared_bytes = k->shared_bytes, .stream = stream,
        .attrs = &attr, .attrs_count = 1,
    };
    int n = 0;

    if (!api->cuOccupancyMaxActiveClusters || api->cuOccupancyMaxActiveClusters(&n, k->f, &config) != XS_CU_SUCCESS || n < 0)
        return 0;
    return (uint32_t)n * cluster;
}

/* @return false: the driver does not say */
static bool ask(const struct xs_cuda_context *c, const struct xs_lanes *l, const struct xs_cuda_kernel *k, struct fits *ret)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    unsigned cluster = k->cluster ? k->cluster : own_cluster(api, k->f);
    int each = 0;

    if (api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, k->f, (int)k->threads, k->shared_bytes) != XS_CU_SUCCESS ||
        each <= 0)
        return false;
    ret->device = XS_MIN((uint32_t)each * c->greens.total, CAP_MOST);
    for (unsigned i = 0; i < XS_LANE_WIDTHS; i++) {
        uint32_t fit = (uint32_t)each * c->greens.multiprocessors[i];

        if (cluster > 1)
            fit = XS_MIN(fit, clusters(api, l->streams[i], k, cluster));
        ret->lanes[i] = XS_MIN(fit, CAP_MOST);
    }
    return true;
}

static bool known(struct xs_cuda_context *c, const struct xs_lanes *l, const struct xs_cuda_kernel *k, struct fits *ret)
{
    uint64_t key = key_of(c, k);
    struct fit_row *row = find(key);

    if (!row)
        return false;
    if (unpack(key, atomic_load(&row->fits), ret))
        return true;
    if (!ask(c, l, k, ret))
        return false;
    atomic_store(&row->fits, pack(key, ret));
    return true;
}

static bool is_idle(const struct xs_cuda_api *api, struct xs_lanes *l)
{
    for (unsigned i = 0; i < XS_LANE_WIDTHS; i++)
        if (api->cuStreamQuery(l->streams[i]) == XS_CU_NOT_READY)
            return false;
    atomic_store(&l->busy, false);
    return true;
}

/* A kernel on another queue's lane may have to start beside this one, and its own check did not count this
 * one. So this launch waits until the other lanes are empty. It does so once for each kernel that needs more
 * than any before. It does not wait long, since a kernel on those lanes may spin for this one. */
static void wait_for_others(const struct xs_cuda_context *c, const struct xs_lanes *own)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    uint64_t until_ns = 0;

    for (struct xs_lanes *l = atomic_load(&xs_lanes_all); l; l = l->next) {
        if (l == own)
            continue;
        atomic_fetch_add(&l->users, 1); /* seq_cst pairs with take() of lanes.c */
        while (atomic_load(&l->context) == c && atomic_load(&l->busy) && !is_idle(api, l)) {
            uint64_t now_ns = xs_now_ns();

            until_ns = until_ns ? until_ns : now_ns + OTHERS_NS;
            if (now_ns >= until_ns)
                break;
            xs_futex_pause(LOOK_NS);
        }
        atomic_fetch_sub(&l->users, 1);
    }
}

/* An unknown kernel may need the whole device for as long as it runs. */
static void unknown(const struct xs_cuda_context *c, struct xs_lanes *l)
{
    atomic_store(&l->unknown_until_ns, xs_now_ns() + UNKNOWN_NS);
    wait_for_others(c, l);
}

static void grow(const struct xs_cuda_context *c, struct xs_lanes *l, uint32_t need)
{
    uint32_t peak = atomic_load(&l->peak);

    if (XS_LIKELY(need <= peak))
        return;
    while (need > peak && !atomic_compare_exchange_weak(&l->peak, &peak, need))
        ;
    wait_for_others(c, l);
}

static uint32_t peaks_of_others(const struct xs_cuda_context *c, const struct xs_lanes *own)
{
    uint32_t sum = 0;

    for (struct xs_lanes *l = atomic_load(&xs_lanes_all); l; l = l->next) {
        uint64_t until_ns;

        if (l == own || atomic_load_explicit(&l->context, memory_order_relaxed) != c)
            continue;
        until_ns = atomic_load(&l->unknown_until_ns);
        sum += until_ns && xs_now_ns() < until_ns ? c->greens.total : atomic_load(&l->peak);
    }
    return sum;
}

enum xs_lane_outcome xs_lane_fits(struct xs_cuda_context *c, struct xs_lanes *l, unsigned width, const struct xs_cuda_kernel *k)
{
    struct fits fits;
    uint64_t need;
    unsigned lane;

    if (!known(c, l, k, &fits)) {
        unknown(c, l);
        return XS_LANE_UNKNOWN;
    }
    if (k->blocks > fits.device || !(XS_LANE_RULES & XS_LANE_RULE_GRID))
        return XS_LANE_FITS;
    if (k->blocks > fits.lanes[width]) {
        grow(c, l, c->greens.total);
        return XS_LANE_TOO_SMALL;
    }
    lane = c->greens.multiprocessors[width];
    need = (k->blocks * lane + fits.lanes[width] - 1) / fits.lanes[width];
    grow(c, l, (uint32_t)need);
    return !(XS_LANE_RULES & XS_LANE_RULE_OTHERS) || need + peaks_of_others(c, l) <= lane ? XS_LANE_FITS : XS_LANE_SHARED;
}
