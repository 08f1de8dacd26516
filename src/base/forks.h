/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a forked child from its parent at the cost of two loads. */
#ifndef XS_FORKS_H
#define XS_FORKS_H

#include "base/xs_base.h"

#include <stdatomic.h>
#include <stdint.h>

/** Private: a word in a page that the kernel wipes in a child; before the first call, one that is
 *  always 0. */
extern __attribute__((visibility("hidden"))) _Atomic(_Atomic uint32_t *) xs_forks_word;
uint32_t xs_forks_begin(void);

/** A number that this process has and its parent has not, if the parent asked before: a multiple of four, never 0. Before
 *  Linux 4.14 it is the parent's. */
static inline uint32_t xs_forks(void)
{
    _Atomic uint32_t *word = atomic_load_explicit(&xs_forks_word, memory_order_acquire); /* pairs with xs_forks_begin */
    uint32_t number = atomic_load_explicit(word, memory_order_relaxed);

    return XS_LIKELY(number) ? number : xs_forks_begin();
}

#endif
