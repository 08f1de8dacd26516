/* SPDX-License-Identifier: Apache-2.0 */
/* Priority inheritance: a queue counts as urgent as the one that waits for it on the device, until it has
 * completed the commands that the other one waits for. One word of its cell has that priority and the last
 * number. No thread has to take the priority back: the scheduler compares the number with the completed
 * count. Where two queues wait at once, the priority of the more urgent one lasts until the later end. */
#include "xqueue/inherit.h"

#include "xqueue/control/interrupt.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"

/* The longest chain of streams, each waiting for the next, that inheritance follows. Beyond it a stream
 * inherits nothing. */
#define CHAIN 8

_Atomic uint32_t xsched_priv_intra, xsched_priv_beside, xsched_priv_follows;

void xs_state_update_intra(struct xs_state *st)
{
    int mode = atomic_load(&st->mode);
    uint32_t beside = 0;
    bool intra = mode == XS_MODE_LOCAL || (mode == XS_MODE_GLOBAL && st->intra);

    /* all are hints: earlier waits pass on no priority */
    atomic_store_explicit(&xsched_priv_intra, intra, memory_order_relaxed);
    atomic_store_explicit(&xsched_priv_follows, 0, memory_order_relaxed); /* the next ring tells (doorbell.c) */
    if (intra || (mode == XS_MODE_GLOBAL && st->space))
        beside = XS_BESIDE_LANES | XS_BESIDE_WAITS;
    else if (mode == XS_MODE_GLOBAL && st->asks_space && xs_interrupt_has_lanes())
        beside = XS_BESIDE_WAITS;
    atomic_store_explicit(&xsched_priv_beside, beside, memory_order_relaxed);
}

static uint64_t completed(struct xs_queue *q)
{
    return XS_MAX(atomic_load(&q->cc->completed), atomic_load(&q->cc->marked));
}

/* The queue's priority now, and those that it inherits. */
static int32_t importance(struct xs_queue *q)
{
    int32_t p = atomic_load_explicit(&q->priority, memory_order_relaxed);
    uint64_t lent = atomic_load(&q->cc->lent);

    if (atomic_load(&q->cc->inherit))
        p = XS_MAX(p, atomic_load(&q->cc->inherit_priority));
    if (XS_LENT_NUMBER(lent) > completed(q))
        p = XS_MAX(p, XS_LENT_PRIORITY(lent));
    return p;
}

/* @return whether anything changed */
static bool lend(struct xs_queue *q, uint64_t number, int32_t priority)
{
    uint64_t old = atomic_load(&q->cc->lent), new;

    if (number <= completed(q) || priority <= atomic_load_explicit(&q->priority, memory_order_relaxed))
        return false;
    do {
        uint64_t n = number;
        int32_t p = priority;

        if (XS_LENT_NUMBER(old) > completed(q)) {
            n = XS_MAX(n, XS_LENT_NUMBER(old));
            p = XS_MAX(p, XS_LENT_PRIORITY(old));
        }
        new = XS_LENT(n, p);
        if (new == old)
            return false;
    } while (!atomic_compare_exchange_weak(&q->cc->lent, &old, new));
    xs_queue_ring(q);
    return true;
}

void xs_queue_inherit_end(struct xs_queue *q, uint64_t number)
{
    uint64_t lent = atomic_load(&q->cc->lent);

    if (lent && XS_LENT_NUMBER(lent) <= number && atomic_compare_exchange_strong(&q->cc->lent, &lent, 0))
        xs_queue_ring(q);
}

void xs_queue_inherit_on(struct xs_queue *q, int32_t priority)
{
    for (int i = 0; i < CHAIN; i++) {
        struct xs_queue *to = atomic_load(&q->waits_for.queue);
        uint64_t id = atomic_load(&q->waits_for.id); /* 0: it is gone, or a thread writes it now */

        if (!to || !id || id != xsched_priv_queue_id(to) ||
            !lend(to, atomic_load(&q->waits_for.number), priority))
            return;
        q = to;
    }
}

void xsched_priv_lend(struct xs_queue *q, uint64_t number, int32_t priority)
{
    if (lend(q, number, priority))
        xs_queue_inherit_on(q, priority);
}

void xsched_priv_waits_for(struct xs_queue *waiter, struct xs_queue *q, uint64_t number)
{
    if (waiter == q || number <= completed(q))
        return;
    /* A queue keeps one such wait. Of two at once, the earlier one inherits only the priority that the waiter
     * had then. */
    atomic_store(&waiter->waits_for.id, 0);
    atomic_store(&waiter->waits_for.number, number);
    atomic_store(&waiter->waits_for.queue, q);
    atomic_store(&waiter->waits_for.id, xsched_priv_queue_id(q));
    xsched_priv_lend(q, number, importance(waiter));
}

int32_t xsched_priv_thread_priority(void)
{
    return xs_tls.priority;
}

uint64_t xsched_priv_returned(struct xs_queue *q)
{
    return atomic_load(&q->cc->returned);
}

uint64_t xsched_priv_entered(struct xs_queue *q)
{
    return atomic_load(&q->cc->entered);
}
