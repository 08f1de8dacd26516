/* SPDX-License-Identifier: Apache-2.0 */
/* How long commands take on the device, by key (kernel and size), learnt from completions. A
 * fixed table without locks: an entry that is lost or torn costs one more measurement. */
#ifndef XS_ESTIMATE_H
#define XS_ESTIMATE_H

#include <stdatomic.h>
#include <stdint.h>

#define XS_ESTIMATE_BITS 12

struct xs_estimate {
    _Atomic uint64_t key;
    _Atomic uint32_t est_ns;
};
extern struct xs_estimate xs_estimates[1u << XS_ESTIMATE_BITS]; /* owner: estimate.c */

static inline struct xs_estimate *xs_estimate_slot(uint64_t key)
{
    return &xs_estimates[key * 0x9e3779b97f4a7c15ull >> (64 - XS_ESTIMATE_BITS)];
}

/** Nanoseconds, or 0: never timed. Any thread. */
#ifdef XS_MODEL /* tests/model bring their own */
uint32_t xs_estimate_get(uint64_t key);
#else
static inline uint32_t xs_estimate_get(uint64_t key)
{
    struct xs_estimate *e = xs_estimate_slot(key);

    /* relaxed: of two that change at once, either is an estimate */
    if (key == 0 || atomic_load_explicit(&e->key, memory_order_relaxed) != key)
        return 0;
    return atomic_load_explicit(&e->est_ns, memory_order_relaxed);
}
#endif
/** A measured duration. Any thread. */
void xs_estimate_learn(uint64_t key, uint64_t measured_ns);

#endif
