/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/estimate.h"

#include "base/map.h"

#define SLOTS 4096u

static struct {
    _Atomic uint64_t key;
    _Atomic uint32_t est_ns;
} g_slots[SLOTS]; /* owner: this file; kept over fork, since a child may go on with the same kernels */

uint32_t xs_estimate_get(uint64_t key)
{
    size_t i = (size_t)xs_hash_u64(key) % SLOTS;

    if (key == 0 || atomic_load_explicit(&g_slots[i].key, memory_order_relaxed) != key)
        return 0;
    return atomic_load_explicit(&g_slots[i].est_ns, memory_order_relaxed);
}

void xs_estimate_learn(uint64_t key, uint64_t measured_ns)
{
    size_t i = (size_t)xs_hash_u64(key) % SLOTS;
    uint32_t m = (uint32_t)XS_MIN(XS_MAX(measured_ns, 1u), UINT32_MAX), old;

    if (key == 0)
        return;
    old = xs_estimate_get(key);
    if (old == 0) {
        atomic_store_explicit(&g_slots[i].est_ns, m, memory_order_relaxed);
        atomic_store_explicit(&g_slots[i].key, key, memory_order_relaxed);
        return;
    }
    /* A first run compiles and pages in, and a shared device makes everything look long: go down
     * fast, up slowly. */
    if (m < old)
        m = old - (old - m) / 2;
    else
        m = old + (m - old) / 8;
    atomic_store_explicit(&g_slots[i].est_ns, m, memory_order_relaxed);
}
