/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/progress.h"

#include "base/clock.h"
#include "base/futex.h"
#include "xqueue/queue.h"

void xs_queue_progress(struct xs_queue *q)
{
    atomic_fetch_add(&q->completion.progress, 1);
    /* seq_cst pairs with xs_queue_sleep: waiters++, then progress is compared by the kernel */
    if (atomic_load(&q->completion.progress_waiters))
        xs_futex_wake(&q->completion.progress, INT32_MAX);
}

void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns)
{
    atomic_fetch_add(&q->completion.progress_waiters, 1);
    if (atomic_load(&q->completion.progress) == seen)
        xs_futex_wait(&q->completion.progress, seen, timeout_ns);
    atomic_fetch_sub(&q->completion.progress_waiters, 1);
}

#define LOOK_EARLY_NS (80 * XS_NS_PER_US)  /* a sleep ends about this much late */
#define LOOK_SPIN_NS  (150 * XS_NS_PER_US) /* shorter ones are not worth a sleep */
#define LOOK_MOST_NS  (300 * XS_NS_PER_US) /* the estimate may be far too long, and a device idles meanwhile */

void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns)
{
    uint64_t began_ns;

    if (timeout_ns > LOOK_SPIN_NS) {
        xs_queue_sleep(q, seen, XS_MIN(timeout_ns, LOOK_MOST_NS) - LOOK_EARLY_NS);
        return;
    }
    timeout_ns = XS_MIN(timeout_ns, 50 * XS_NS_PER_US);
    began_ns = xs_now_ns();
    /* a clock that stepped back ends it, too: the difference is large then */
    while (atomic_load(&q->completion.progress) == seen &&
           atomic_load_explicit(&q->cc->marked, memory_order_relaxed) <=
               atomic_load_explicit(&q->cc->completed, memory_order_relaxed) &&
           xs_now_ns() - began_ns < timeout_ns)
        xs_cpu_relax();
}
