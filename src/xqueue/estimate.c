/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/estimate.h"

#include "base/xs_base.h"
#include "xqueue/interface.h"

struct xs_estimate xs_estimates[1u << XS_ESTIMATE_BITS]; /* kept over fork: a child may go on with the same kernels */

_Atomic uint32_t xs_estimate_code = 1;

/* Where the key is, else a free place, else any of its places. */
static struct xs_estimate *place_of(uint64_t key, uint32_t any)
{
    struct xs_estimate *e = xs_estimate_places(key), *free_one = NULL;

    for (uint32_t i = 0; i < XS_ESTIMATE_WAYS; i++) {
        uint64_t there = atomic_load_explicit(&e[i].key, memory_order_relaxed);

        if (there == key)
            return &e[i];
        if (!there && !free_one)
            free_one = &e[i];
    }
    return free_one ? free_one : &e[any % XS_ESTIMATE_WAYS];
}

void xs_estimate_learn(uint64_t key, uint64_t measured_ns)
{
    uint32_t m = (uint32_t)XS_MIN(XS_MAX(measured_ns, 1u), UINT32_MAX), old = 0;
    struct xs_estimate *e;

    if (key == 0 || xs_key_takes_no_time(key))
        return;
    e = place_of(key, m);
    if (atomic_load_explicit(&e->key, memory_order_relaxed) == key)
        old = atomic_load_explicit(&e->est_ns, memory_order_relaxed);
    if (old == 0) {
        if (atomic_load_explicit(&e->key, memory_order_relaxed) != key)
            atomic_store(&e->loaded, 0);
        atomic_store_explicit(&e->est_ns, m, memory_order_relaxed);
        atomic_store_explicit(&e->key, key, memory_order_relaxed);
        return;
    }
    /* A first run compiles and pages in, and a shared device makes everything look long: go down
     * fast, up slowly. */
    if (m < old)
        m = old - (old - m) / 2;
    else
        m = old + (m - old) / 8;
    atomic_store_explicit(&e->est_ns, m, memory_order_relaxed);
}

bool xs_estimate_is_loaded(uint64_t key)
{
    struct xs_estimate *e = xs_estimate_places(key);
    uint32_t code = atomic_load(&xs_estimate_code);

    for (uint32_t i = 0; i < XS_ESTIMATE_WAYS && key; i++)
        if (atomic_load_explicit(&e[i].key, memory_order_relaxed) == key)
            return atomic_load(&e[i].loaded) == code;
    return false;
}

void xs_estimate_note_loaded(uint64_t key, uint32_t code)
{
    struct xs_estimate *e;

    if (key == 0)
        return;
    e = place_of(key, (uint32_t)key);
    if (atomic_load_explicit(&e->key, memory_order_relaxed) != key) {
        atomic_store_explicit(&e->est_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&e->key, key, memory_order_relaxed);
    }
    atomic_store(&e->loaded, code);
}

void xsched_priv_code_gone(void)
{
    atomic_fetch_add(&xs_estimate_code, 1);
}
