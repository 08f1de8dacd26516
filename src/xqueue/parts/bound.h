/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue knows of its bound in flight. submit/in_flight.c writes it, with the threads that submit. */
#ifndef XS_XQUEUE_BOUND_H
#define XS_XQUEUE_BOUND_H

#include "base/xs_base.h"

#include <stdatomic.h>
#include <stdint.h>

struct xs_queue_bound {
    _Atomic uint64_t slack_ns;              /* the bound in flight is wider by this */
    _Atomic uint32_t passes;                /* work in flight does not complete: so many may pass */
    _Atomic uint32_t passes_granted;        /* at the last time; doubles each time; a completion clears both */
};

static inline void xs_bound_reset(struct xs_queue_bound *b)
{
    atomic_store(&b->slack_ns, 0);
    atomic_store(&b->passes, 0);
    atomic_store(&b->passes_granted, 0);
}
/** The bound in flight is wider by this. */
static inline uint64_t xs_bound_slack_ns(const struct xs_queue_bound *b)
{
    return atomic_load_explicit(&b->slack_ns, memory_order_relaxed); /* a value by itself */
}
/** So many commands may pass the bound. */
static inline uint32_t xs_bound_passes(const struct xs_queue_bound *b)
{
    return atomic_load(&b->passes);
}
/** Something completed: none passes any more. */
static inline void xs_bound_completed(struct xs_queue_bound *b)
{
    if (XS_UNLIKELY(atomic_load(&b->passes) || atomic_load(&b->passes_granted))) {
        atomic_store(&b->passes, 0);
        atomic_store(&b->passes_granted, 0);
    }
}

#endif
