/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/wish.h"

#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/progress.h"

void xs_queue_wish_write(struct xs_queue *q)
{
    atomic_store_explicit(&q->priority, q->wish.dated.hints.priority, memory_order_relaxed);
    atomic_fetch_add(&q->announced.seq, 1);
    /* release pairs with xs_queue_wish_read(): a thread that sees a word sees the odd number */
    for (size_t i = 0; i < XS_WISH_WORDS; i++) {
        uint64_t word;

        __builtin_memcpy(&word, (const char *)&q->wish + i * sizeof(word), sizeof(word));
        atomic_store_explicit(&q->announced.words[i], word, memory_order_release);
    }
    atomic_fetch_add(&q->announced.seq, 1);
}

bool xs_queue_wish_read(struct xs_queue *q, struct xs_queue_wish *ret)
{
    uint64_t words[XS_WISH_WORDS];

    for (int tries = 0; tries < 100; tries++) {
        uint32_t seq = atomic_load(&q->announced.seq);

        for (size_t i = 0; i < XS_WISH_WORDS; i++)
            words[i] = atomic_load(&q->announced.words[i]);
        if (!(seq & 1) && atomic_load(&q->announced.seq) == seq) {
            __builtin_memcpy(ret, words, sizeof(*ret));
            return true;
        }
    }
    return false;                 /* a writer stopped half way: later */
}

void xs_queue_wish_push(struct xs_queue *q)
{
    struct xs_state *st = q->state;
    struct xs_queue *head = atomic_load(&st->dirty);

    atomic_fetch_add(&q->refs, 1); /* the list's; the control thread gives it back */
    do
        atomic_store(&q->announced.dirty_next, head);
    while (!atomic_compare_exchange_weak(&st->dirty, &head, q));
}

void xs_queue_wish_publish(struct xs_queue *q)
{
    struct xs_state *st = q->state;

    xs_queue_wish_write(q);
    if (atomic_exchange(&q->announced.dirty, 1) == 0)
        xs_queue_wish_push(q);
    else if (atomic_load(&st->control_runs))
        return; /* that thread wakes the control thread, which takes it off the list, then reads the wish */
    st->kick(st);
}

XResult xs_queue_set_launch_config(struct xs_queue *q, int64_t threshold, int64_t batch)
{
    int64_t t = threshold > 0 ? threshold : q->wish.threshold;
    int64_t b = batch > 0 ? batch : q->wish.batch;

    if (batch <= 0 && threshold > 0 && b > t)
        b = t;                    /* the caller gave only the threshold */
    if (b > t)
        return kXSchedErrorInvalidValue;
    q->wish.threshold = t;
    q->wish.batch = b;
    q->wish.config_changes++;
    xs_queue_wish_publish(q);
    atomic_store(&q->batch, b);
    if (threshold > 0) {
        atomic_store(&q->threshold, t);
        atomic_store(&q->bounded, XS_BOUNDED_APP);
    }
    xs_progress_make(&q->progress); /* a wider bound may let a waiting thread go on */
    return kXSchedSuccess;
}
