/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/progress.h"

#include "base/clock.h"
#include "base/futex.h"
#include "wire/page.h"

void xs_progress_make(struct xs_progress *p)
{
    atomic_fetch_add(&p->made, 1);
    /* seq_cst pairs with xs_progress_sleep: waiters++, then made is compared by the kernel */
    if (atomic_load(&p->sleepers))
        xs_futex_wake(&p->made, INT32_MAX);
}

void xs_progress_sleep(struct xs_progress *p, uint32_t seen, uint64_t timeout_ns)
{
    atomic_fetch_add(&p->sleepers, 1);
    if (atomic_load(&p->made) == seen)
        xs_futex_wait(&p->made, seen, timeout_ns);
    atomic_fetch_sub(&p->sleepers, 1);
}

#define LOOK_EARLY_NS (80 * XS_NS_PER_US)  /* a sleep ends about this much late */
#define LOOK_SPIN_NS  (150 * XS_NS_PER_US) /* shorter ones are not worth a sleep */
#define LOOK_MOST_NS  (300 * XS_NS_PER_US) /* the estimate may be far too long, and a device idles meanwhile */

void xs_progress_sleep_look(struct xs_progress *p, const struct xs_client_cell *cc, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t began_ns;

    if (timeout_ns > LOOK_SPIN_NS) {
        xs_progress_sleep(p, seen, XS_MIN(timeout_ns, LOOK_MOST_NS) - LOOK_EARLY_NS);
        return;
    }
    timeout_ns = XS_MIN(timeout_ns, 50 * XS_NS_PER_US);
    began_ns = xs_now_ns();
    /* a clock that stepped back ends it, too: the difference is large then */
    while (atomic_load(&p->made) == seen &&
           atomic_load_explicit(&cc->marked, memory_order_relaxed) <=
               atomic_load_explicit(&cc->completed, memory_order_relaxed) &&
           xs_now_ns() - began_ns < timeout_ns)
        xs_cpu_relax();
}
