/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the host may signal what a command waits for. The program may submit such commands before its first signal. So
 * the first waits count as ones for the host, and after these only those of a program that has signalled something. */
#ifndef XS_SHIM_COMMON_HOST_SIGNALS_H
#define XS_SHIM_COMMON_HOST_SIGNALS_H

#include "base/xs_base.h"

#include <stdatomic.h>
#include <stdbool.h>

#define XS_HOST_SIGNALS_TRIED 64u /* each costs two completion marks */

struct xs_host_signals {
    _Atomic uint32_t waits_left;  /* that count without a signal; XS_HOST_SIGNALS_SEEN: there was one */
};
#define XS_HOST_SIGNALS_SEEN UINT32_MAX
#define XS_HOST_SIGNALS_INIT {XS_HOST_SIGNALS_TRIED}

/** Any thread. */
static inline bool xs_host_may_signal(struct xs_host_signals *h)
{
    return atomic_load_explicit(&h->waits_left, memory_order_relaxed) != 0; /* a hint */
}

/** A command waits for something that nothing has signalled yet. Any thread. */
static inline void xs_host_signal_awaited(struct xs_host_signals *h)
{
    uint32_t left = atomic_load_explicit(&h->waits_left, memory_order_relaxed); /* a hint */

    while (left && left != XS_HOST_SIGNALS_SEEN && !atomic_compare_exchange_weak(&h->waits_left, &left, left - 1))
        ;
}

/** The program signals something. Any thread. */
static inline void xs_host_signals_now(struct xs_host_signals *h)
{
    if (atomic_load_explicit(&h->waits_left, memory_order_relaxed) != XS_HOST_SIGNALS_SEEN) /* a hint */
        atomic_store(&h->waits_left, XS_HOST_SIGNALS_SEEN);
}

#endif
