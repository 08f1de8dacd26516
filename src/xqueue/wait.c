/* SPDX-License-Identifier: Apache-2.0 */
/* Around calls of the program that wait for a queue. While a thread waits, the queue has at least the
 * priority of that thread (priority inheritance). */
#include "xqueue/inherit.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"
#include "xqueue/submit/end_mark.h"
#include "xqueue/submit/permission.h"

static void inherit_at_least(struct xs_queue *q, int32_t priority)
{
    int32_t seen = atomic_load(&q->cc->inherit_priority);

    while (priority > seen && !atomic_compare_exchange_weak(&q->cc->inherit_priority, &seen, priority))
        ;
}

static inline uint64_t wait_begin(struct xs_queue *q)
{
    atomic_fetch_add(&q->cc->inherit, 1);
    inherit_at_least(q, xs_tls.priority);
    if (XS_UNLIKELY(atomic_load(&q->waits_for.queue)))
        xs_queue_inherit_on(q, xs_tls.priority);
    /* Where single queues are held it may be closed the moment after, by who has not heard of this. */
    if (!xs_queue_permitted(q, atomic_load(&q->cc->entered) + 1) ||
        XS_UNLIKELY(atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) &&
                    xs_tls.priority > atomic_load_explicit(&q->priority, memory_order_relaxed)))
        xs_queue_ring(q);
    return atomic_load(&q->cc->returned);
}

uint64_t xsched_priv_wait_begin(struct xs_queue *q)
{
    return wait_begin(q);
}

uint64_t xsched_priv_wait_begin_own(struct xs_queue *q)
{
    xs_queue_end_near(q);
    return wait_begin(q);
}

void xsched_priv_wait_end(struct xs_queue *q, uint64_t began, bool all_complete)
{
    uint32_t unwaited = atomic_load_explicit(&q->submit.unwaited, memory_order_relaxed); /* a habit, and no more */

    if (XS_UNLIKELY(unwaited != 0) && all_complete)
        atomic_store_explicit(&q->submit.unwaited, unwaited - 1, memory_order_relaxed);
    if (all_complete)             /* before this wait is over: then the queue may be another one */
        xs_queue_complete(q, began, false);
    if (atomic_fetch_sub(&q->cc->inherit, 1) == 1) {
        int32_t seen = atomic_load(&q->cc->inherit_priority);

        /* Somebody may begin to wait at this moment: then what was there is put back, which is at
         * least what he asked for. */
        if (atomic_compare_exchange_strong(&q->cc->inherit_priority, &seen, INT32_MIN) &&
            atomic_load(&q->cc->inherit))
            inherit_at_least(q, seen);
        if (XS_UNLIKELY(seen > atomic_load_explicit(&q->priority, memory_order_relaxed)))
            xs_queue_ring(q);     /* it ran for the waiter's sake */
    }
}
