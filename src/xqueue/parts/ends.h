/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue knows of the ends of its work, where the device has nothing to do. submit/end_mark.c writes it, with the
 * threads that submit; others by these functions. All of it is a hint. */
#ifndef XS_XQUEUE_ENDS_H
#define XS_XQUEUE_ENDS_H

#include "xqueue/parts/completion.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct xs_queue_ends {
    _Atomic uint64_t end_mark_ns;           /* the last mark because a thread waits for an end */
    _Atomic uint64_t watched_ns;            /* the last submit while a thread waited for its end */
    _Atomic uint32_t earned_marks;          /* so many commands get a mark each */
    _Atomic uint32_t burst_from;            /* the last command before the last pause, modulo 2^32 */
    _Atomic bool end_missed;                /* the scheduler saw an end of which no mark tells (marker.c) */
    _Atomic uint8_t idled;                  /* XS_MARK_IDLED or 0: of the span up to the next mark */
};

static inline void xs_ends_reset(struct xs_queue_ends *e)
{
    atomic_store(&e->end_mark_ns, 0);
    atomic_store(&e->watched_ns, 0);
    atomic_store(&e->earned_marks, 0);
    atomic_store(&e->burst_from, 0);
    atomic_store(&e->end_missed, false);
    atomic_store(&e->idled, 0);
}
/** The device has nothing to do, in the span up to the next mark. */
static inline void xs_ends_idled(struct xs_queue_ends *e)
{
    atomic_store_explicit(&e->idled, XS_MARK_IDLED, memory_order_relaxed);
}
/** A mark comes next. @return XS_MARK_IDLED or 0: of the span that ends there */
static inline uint32_t xs_ends_take_idled(struct xs_queue_ends *e)
{
    return atomic_exchange_explicit(&e->idled, 0, memory_order_relaxed);
}
/** The scheduler saw an end of which no mark tells. */
static inline void xs_ends_missed(struct xs_queue_ends *e)
{
    atomic_store_explicit(&e->end_missed, true, memory_order_relaxed);
}
/** The last submit while a thread waited for the queue's end; 0: none did. */
static inline uint64_t xs_ends_watched_ns(const struct xs_queue_ends *e)
{
    return atomic_load_explicit(&e->watched_ns, memory_order_relaxed);
}

#endif
