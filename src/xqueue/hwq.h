/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues, and the marks and gates in their streams. */
#ifndef XS_XQUEUE_HWQ_H
#define XS_XQUEUE_HWQ_H

#include "xqueue/queue.h"

struct xs_hwq {
    HwQueueHandle handle;
    const struct xs_hal_ops *ops;
    void *hw;
    uint64_t native_key;
    XDevice device;
    struct xs_queue *queue;       /* under state.lock; NULL: none */
    struct xs_queue *queues;      /* under state.lock; it and those before it whose storage has no new use */
    uint32_t refs;                /* under state.lock; API calls that use it now */
    bool gone;                    /* under state.lock; out of the maps, in gone_hwqs */
    struct xs_list link;          /* in gone_hwqs */
};

/** The key of a stream in native_to_hwq and native_to_queue. */
static inline uint64_t xs_native_key(int platform, uint64_t native)
{
    return native ^ (uint64_t)(platform + 1) << 58; /* user-space pointers have at most 57 bits */
}
/** A number that no hardware queue and no XQueue has. Under state.lock. */
HwQueueHandle xs_handle_make(struct xs_state *st);
/** A use of a hardware queue outside the lock, up to xs_hwq_done. NULL: there is none of this number. */
struct xs_hwq *xs_hwq_use(HwQueueHandle handle, struct xs_state **ret_state);
/** The end of such a use. The last use frees a hardware queue that the process has forgotten meanwhile. */
void xs_hwq_done(struct xs_state *st, struct xs_hwq *h);
/** Frees forgotten hardware queues that no thread can use. Any thread that has no lock; calls the platform. */
void xs_hwq_reap(struct xs_state *st);
/** From here on the queue is on this one. Under state.lock. */
void xs_hwq_take(struct xs_hwq *h, struct xs_queue *q);

/** Appends a mark. Calls the vendor, with no lock of ours. @return false: the stream has none, as when the
 *  program has destroyed both queues */
static inline bool xs_queue_append_mark(struct xs_queue *q, uint64_t number)
{
    struct xs_hwq *h = atomic_load(&q->hwq);

    return XS_LIKELY(h != NULL) && h->ops->mark(h->hw, q, number);
}
/** Appends a gate likewise. @return as xs_hal_ops.gate */
static inline int xs_queue_append_gate(struct xs_queue *q, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    struct xs_hwq *h = atomic_load(&q->hwq);

    return XS_LIKELY(h != NULL) ? h->ops->gate(h->hw, word, serial, number) : 0;
}

#endif
