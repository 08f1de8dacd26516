/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex of one word (free, or taken, or taken with sleepers; and by which process). It needs no
 * library, no initialisation beyond zero, and may live in any memory of this process. A forked child
 * may take a lock that another thread of its parent had at that moment: that thread does not exist in
 * the child. See docs/lock-order.md for every lock, and for the locks inside which another one may
 * come. */
#ifndef XS_LOCK_H
#define XS_LOCK_H

#include "base/forks.h"
#include "base/futex.h"

#include <stdbool.h>

struct xs_lock {
    _Atomic uint32_t word;        /* 0, or xs_forks() with one of these */
};

#define XS_LOCK_TAKEN    1u
#define XS_LOCK_SLEEPERS 2u

/* No thread of this process has a lock with this word. */
static inline bool xs_lock_is_free(uint32_t word, uint32_t forks)
{
    return (word & ~(XS_LOCK_TAKEN | XS_LOCK_SLEEPERS)) != forks;
}

static inline void xs_lock_acquire(struct xs_lock *l)
{
    uint32_t free_word = 0, forks = xs_forks();

    /* acquire pairs with the release in xs_lock_release */
    if (atomic_compare_exchange_strong_explicit(&l->word, &free_word, forks | XS_LOCK_TAKEN, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (!xs_lock_is_free(atomic_exchange_explicit(&l->word, forks | XS_LOCK_SLEEPERS, memory_order_acquire), forks))
        xs_futex_wait(&l->word, forks | XS_LOCK_SLEEPERS, UINT64_MAX);
}

static inline bool xs_lock_try(struct xs_lock *l)
{
    uint32_t word = 0, forks = xs_forks();

    do {
        if (atomic_compare_exchange_strong_explicit(&l->word, &word, forks | XS_LOCK_TAKEN, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
    } while (xs_lock_is_free(word, forks));
    return false;
}

static inline void xs_lock_release(struct xs_lock *l)
{
    if (atomic_exchange_explicit(&l->word, 0, memory_order_release) & XS_LOCK_SLEEPERS)
        xs_futex_wake(&l->word, 1);
}

#endif
