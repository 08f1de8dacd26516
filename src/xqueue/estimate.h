/* SPDX-License-Identifier: Apache-2.0 */
/* How long commands take on the device, by key (kernel and size), learnt from completions. A fixed table
 * without locks: a lost or torn entry costs one more measurement. Each key has four places. If two keys that
 * take turns shared a single place, each would push the other out for ever. A command without an estimate
 * waits until nearly nothing is in flight. */
#ifndef XS_ESTIMATE_H
#define XS_ESTIMATE_H

#include "xqueue/interface.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define XS_ESTIMATE_BITS 12
#define XS_ESTIMATE_WAYS 4u

struct xs_estimate {
    _Atomic uint64_t key;
    _Atomic uint32_t est_ns;      /* 0: not measured yet */
    _Atomic uint32_t loaded;      /* xs_estimate_code when a launch of it came back last; 0: none known */
};
extern struct xs_estimate xs_estimates[1u << XS_ESTIMATE_BITS]; /* owner: estimate.c */
/** Grows whenever the program unloads code: a handle then comes back for other code, and with it the key.
 *  Owner: estimate.c. */
extern _Atomic uint32_t xs_estimate_code;

static inline bool xs_key_takes_no_time(uint64_t key)
{
    return key == XS_KEY_AWAITS || key == XS_KEY_HOST_FUNCTION;
}

/* The first of the key's places. */
static inline struct xs_estimate *xs_estimate_places(uint64_t key)
{
    return &xs_estimates[(key * 0x9e3779b97f4a7c15ull >> (64 - XS_ESTIMATE_BITS)) & ~(uint64_t)(XS_ESTIMATE_WAYS - 1)];
}

/** Nanoseconds, or 0: not measured yet. Any thread. */
#ifdef XS_MODEL /* tests/model bring their own */
uint32_t xs_estimate_get(uint64_t key);
#else
static inline uint32_t xs_estimate_get(uint64_t key)
{
    struct xs_estimate *e = xs_estimate_places(key);

    if (key == 0)
        return 0;
    for (uint32_t i = 0; i < XS_ESTIMATE_WAYS; i++) /* relaxed: of two that change at once, either is an estimate */
        if (atomic_load_explicit(&e[i].key, memory_order_relaxed) == key)
            return atomic_load_explicit(&e[i].est_ns, memory_order_relaxed);
    return 0;
}
#endif
/** A measured duration. Any thread. */
void xs_estimate_learn(uint64_t key, uint64_t measured_ns);
/** Whether a command of this key came back from the vendor since the program last unloaded code, so that the
 *  next one loads none. Any thread. */
bool xs_estimate_is_loaded(uint64_t key);
/** A launch came back. @param code  xs_estimate_code before its call */
void xs_estimate_note_loaded(uint64_t key, uint32_t code);

#endif
