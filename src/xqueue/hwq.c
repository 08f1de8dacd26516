/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/hwq.h"

#include "xqueue/interface.h"
#include "xqueue/state.h"

#include <stdlib.h>

HwQueueHandle xs_handle_make(struct xs_state *st)
{
    HwQueueHandle handle;

    /* after two million streams numbers come again; a stream keeps the number that it has */
    do /* 53 bits, so that every JSON reader keeps them exact */
        handle = st->handle_prefix << 22 | (atomic_fetch_add(&st->next_handle, 1) & 0x3fffff);
    while (xs_map_get(&st->handle_to_hwq, handle) || xs_map_get(&st->handle_to_queue, handle));
    return handle;
}

static bool queues_unused(const struct xs_hwq *h)
{
    for (struct xs_queue *q = h->queues; q; q = q->hwq_next)
        if (!xs_queue_unused(q))
            return false;
    return true;
}

static void point_queues(const struct xs_hwq *h, struct xs_hwq *to)
{
    for (struct xs_queue *q = h->queues; q; q = q->hwq_next)
        atomic_store(&q->hwq, to);
}

/* Takes its XQueues off it, unless a call uses it, or a call or mark uses one of them. Under the lock. */
static bool hwq_let_go(struct xs_hwq *h)
{
    if (h->refs || !queues_unused(h)) /* a holder of such a reference never sees NULL */
        return false;
    /* seq_cst pairs with a submit that found the queue before: counts itself, then reads hwq */
    point_queues(h, NULL);
    if (queues_unused(h))
        return true;
    point_queues(h, h);
    return false;
}

/* Frees forgotten hardware queues that no thread can use (queues out of the tables get no new references). */
void xs_hwq_reap(struct xs_state *st)
{
    struct xs_list dead;

    xs_list_init(&dead);
    xs_lock_acquire(&st->lock);
    XS_LIST_FOR_SAFE(h, &st->gone_hwqs, struct xs_hwq, link) {
        if (hwq_let_go(h)) {
            xs_list_remove(&h->link);
            xs_list_add(&dead, &h->link);
        }
    }
    xs_lock_release(&st->lock);
    XS_LIST_FOR_SAFE(h, &dead, struct xs_hwq, link) {
        if (h->ops->release)
            h->ops->release(h->hw);
        free(h);
    }
}

struct xs_hwq *xs_hwq_use(HwQueueHandle handle, struct xs_state **ret_state)
{
    struct xs_state *st = xs_state_get();
    struct xs_hwq *h;

    if (!st)
        return NULL;
    xs_lock_acquire(&st->lock);
    h = xs_map_get(&st->handle_to_hwq, handle);
    if (h)
        h->refs++;
    xs_lock_release(&st->lock);
    *ret_state = st;
    return h;
}

void xs_hwq_done(struct xs_state *st, struct xs_hwq *h)
{
    bool reap;

    xs_lock_acquire(&st->lock);
    reap = --h->refs == 0 && h->gone;
    xs_lock_release(&st->lock);
    if (reap)
        xs_hwq_reap(st);
}

void xs_hwq_take(struct xs_hwq *h, struct xs_queue *q)
{
    struct xs_hwq *old = atomic_load(&q->hwq);

    for (struct xs_queue **at = old ? &old->queues : NULL; at && *at; at = &(*at)->hwq_next) {
        if (*at == q) {
            *at = q->hwq_next;
            break;
        }
    }
    q->hwq_next = h->queues;
    h->queues = q;
    atomic_store(&q->hwq, h);
}
