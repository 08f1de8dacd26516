/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex of one word (free, taken, taken with sleepers). It needs no library, no
 * initialisation beyond zero, and may live in any memory of this process.
 * docs/lock-order.md names every lock and what may be taken inside it. */
#ifndef XS_LOCK_H
#define XS_LOCK_H

#include "base/futex.h"

#include <stdbool.h>

struct xs_lock {
    _Atomic uint32_t word;
};

#define XS_LOCK_INIT { 0 }

static inline void xs_lock_acquire(struct xs_lock *l)
{
    uint32_t free_word = 0;

    /* acquire pairs with the release in xs_lock_release */
    if (atomic_compare_exchange_strong_explicit(&l->word, &free_word, 1, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
        xs_futex_wait(&l->word, 2, UINT64_MAX);
}

static inline bool xs_lock_try(struct xs_lock *l)
{
    uint32_t free_word = 0;

    return atomic_compare_exchange_strong_explicit(&l->word, &free_word, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void xs_lock_release(struct xs_lock *l)
{
    if (atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2)
        xs_futex_wake(&l->word, 1);
}

#endif
