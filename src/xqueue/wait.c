/* SPDX-License-Identifier: Apache-2.0 */
/* Around calls of the program that wait for a queue. While a thread waits, the queue has at least the
 * priority of that thread (priority inheritance). */
#include "xqueue/wait.h"

#include "base/clock.h"
#include "xqueue/gates/gather_open.h"
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

static inline bool tells_waits(const struct xs_queue *q)
{
    return atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_WAITS;
}

/* Measures for how long threads wait for the queue. A scheduler that lets other queues run beside this one
 * sees by that whether the device or the program is the slower one. Of several waits at once the first one's
 * time counts; if two come and go at one moment, the time between may be missing. */
static inline bool times(struct xs_queue *q)
{
    return XS_UNLIKELY(atomic_load_explicit(&xsched_priv_beside, memory_order_relaxed) != 0) || /* a hint */
           XS_UNLIKELY(tells_waits(q));
}

/* What enters while a helper thread waits belongs to the program's next step. */
static void note_entered(struct xs_state *st)
{
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        atomic_store_explicit(&q->entered_before, atomic_load_explicit(&q->cc->entered, memory_order_relaxed),
                              memory_order_relaxed);
}

static void tell_entered(struct xs_queue *waited_for)
{
    for (struct xs_queue *q = atomic_load(&waited_for->state->pool); q; q = q->pool_next)
        if (q != waited_for) {
            uint64_t to = atomic_load_explicit(&q->entered_before, memory_order_relaxed);

            atomic_store_explicit(&q->cc->waited_to, XS_WAITED(to, 0), memory_order_relaxed);
        }
}

void xs_queue_waited(struct xs_queue *q, uint64_t since_ns)
{
    uint64_t now_ns = xs_now_ns();

    if (since_ns && now_ns >= since_ns) /* a wait always shows */
        atomic_fetch_add(&q->cc->waited_ns, XS_MAX(now_ns - since_ns, 1ull));
}

/* Where a scheduler suspends single queues, it may suspend this one a moment later if it does not know of the wait. */
static void tell_of_wait(struct xs_queue *q, uint64_t number)
{
    if (!xs_gathers_to(q))
        xs_queue_ring(q);
    else if (!xs_queue_permitted(q, number)) /* else these commands go on */
        xs_gather_open(q->state);
}

/* @param number  of the last command that the thread waits for */
static inline uint64_t wait_begin(struct xs_queue *q, uint64_t number)
{
    if (atomic_fetch_add(&q->cc->inherit, 1) == 0 && times(q)) {
        atomic_store_explicit(&q->waited_since_ns, (xs_now_ns() & ~1ull) | (number >= atomic_load(&q->cc->entered)),
                              memory_order_relaxed);
        if (tells_waits(q))
            note_entered(q->state);
    }
    inherit_at_least(q, xs_tls.priority);
    if (XS_UNLIKELY(atomic_load(&q->waits_for.queue)))
        xs_queue_inherit_on(q, xs_tls.priority);
    if (!xs_queue_permitted(q, atomic_load(&q->cc->entered) + 1) ||
        XS_UNLIKELY(atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) &&
                    xs_tls.priority > atomic_load_explicit(&q->priority, memory_order_relaxed)))
        tell_of_wait(q, number);
    return atomic_load(&q->cc->returned);
}

/* The calling thread, which may put something into the stream, waits for its end next. Calls the vendor if
 * the scheduler wants a mark. */
static inline void end_near(struct xs_queue *q)
{
    if (XS_UNLIKELY(atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE))
        xsched_priv_milestone(q);
}

void xsched_priv_end_near(struct xs_queue *q)
{
    end_near(q);
}

uint64_t xsched_priv_wait_begin(struct xs_queue *q)
{
    return wait_begin(q, atomic_load(&q->cc->entered));
}

void xsched_priv_wait_begin_for(struct xs_queue *q, uint64_t number)
{
    wait_begin(q, number);
}

uint64_t xsched_priv_wait_begin_own(struct xs_queue *q)
{
    end_near(q);
    return wait_begin(q, atomic_load(&q->cc->entered));
}

void xsched_priv_wait_end(struct xs_queue *q, uint64_t began, bool all_complete)
{
    bool timed = times(q);

    xs_queue_end_awaited(q, all_complete);
    if (timed && atomic_load(&q->cc->inherit) == 1) { /* before the ring of its end */
        uint64_t since = atomic_exchange_explicit(&q->waited_since_ns, 0, memory_order_relaxed);
        uint64_t flags = (since & XS_WAITED_LAST) | (xs_tls.polled ? 0 : XS_WAITED_HELPER);

        if (all_complete) {
            atomic_store_explicit(&q->cc->waited_to, XS_WAITED(began, flags), memory_order_relaxed);
            if (tells_waits(q))
                tell_entered(q);
        }
        xs_queue_waited(q, since & ~1ull);
    }
    if (all_complete)             /* before this wait ends: then the storage may have a new use */
        xs_queue_complete(q, began, false);
    if (timed && tells_waits(q))
        xs_queue_ring(q);
    if (atomic_fetch_sub(&q->cc->inherit, 1) == 1) {
        int32_t seen = atomic_load(&q->cc->inherit_priority);

        /* Another thread may begin to wait at this moment: then put the old priority back, which is at least
         * that thread's. */
        if (atomic_compare_exchange_strong(&q->cc->inherit_priority, &seen, INT32_MIN) &&
            atomic_load(&q->cc->inherit))
            inherit_at_least(q, seen);
        if (XS_UNLIKELY(seen > atomic_load_explicit(&q->priority, memory_order_relaxed)))
            xs_queue_ring(q);     /* it ran because of the waiter */
    }
}

/* A thread that polls so often, and for this long, and does nothing else, counts as waiting. */
#define POLLS_US 2000u

void xsched_priv_polled(struct xs_queue *q, uint64_t number)
{
    uint32_t now_us = (uint32_t)(xs_now_ns() / XS_NS_PER_US);

    xs_queue_look(q, true);
    if (!xs_queue_permitted(q, number) && xs_gathers_to(q))
        xs_gather_open(q->state);
    if (xs_tls.polled != q) {
        xs_tls.polled = q;
        xs_tls.polled_us = now_us;
    } else if (now_us - xs_tls.polled_us >= POLLS_US) {
        xs_tls.polled_us = now_us;
        xsched_priv_lend(q, number, xs_tls.priority);
    }
}
