/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue knows of its completed commands, and of marks in flight. mark.c writes it; others read it by these functions. */
#ifndef XS_XQUEUE_COMPLETION_H
#define XS_XQUEUE_COMPLETION_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A mark that is in the stream and has not completed. Under mark_lock. */
struct xs_mark {
    uint64_t number;
    uint64_t span_est_ns;         /* estimated time of the commands since the mark before */
    uint64_t key;                 /* of the command before the mark */
    uint32_t key_est_ns;          /* its estimate; 0: unknown */
    uint64_t weight;              /* entries in the stream up to it */
    uint32_t doubts;              /* XS_MARK_*: its time may be too long */
};
enum {
    XS_MARK_IDLED = 1u,           /* the device had nothing to do meanwhile */
    XS_MARK_WAITED = 2u,          /* a thread of the program waited because of us meanwhile */
    XS_MARK_SHUT = 4u,            /* a closed gate was before it for some of the time */
};
#define XS_QUEUE_MARKS 64u

/* The stream stands at a wait for the host, or for another process. */
#define XS_HEAD_AWAITS UINT64_MAX

/* Threads that learn of a completion write these (mark.c alone): of the program, of the vendor, or of ours. */
struct xs_queue_completion {
    _Atomic uint64_t last_done_ns;          /* time of the last known completion */
    _Atomic uint64_t head_est_ns;           /* estimated time of the span before the first pending mark, or XS_HEAD_AWAITS */
    _Atomic uint64_t marked_to;             /* the furthest number of which a mark in flight will tell */
    _Atomic uint64_t device_issued;         /* device marks: number of the last one put into the stream */
    _Atomic uint32_t marking, mark_again;   /* device marks: a thread puts one; a second wants one */
    _Atomic uint32_t marks_pending;         /* mark_count, for all */
    _Atomic uint32_t account_pending;       /* ACCOUNT_* of mark.c */

    /* Lock 4: the marks in flight and the estimates that they correct. A thread that completes or puts a
     * mark holds it. All take it by try, so nobody waits. */
    struct xs_lock mark_lock;
    /* under it */
    bool last_done_late;                    /* last_done_ns is when we noticed it, which was later */
    uint32_t above;                         /* so many late ends in a row exceed the estimate */
    uint32_t mark_first, mark_count;
    uint64_t had;                           /* the last command that the device had then */
    uint64_t correction_ns;                 /* sum of the changes that measurements made to est_entered_ns */
    uint64_t last_mark_raw_ns;
    struct xs_mark marks[XS_QUEUE_MARKS];
};

/** For a new use of the queue's storage, which no thread has. */
static inline void xs_completion_reset(struct xs_queue_completion *c)
{
    atomic_store(&c->last_done_ns, 0);
    atomic_store(&c->head_est_ns, 0);
    atomic_store(&c->marked_to, 0);
    atomic_store(&c->device_issued, 0);
    atomic_store(&c->marking, 0);
    atomic_store(&c->mark_again, 0);
    atomic_store(&c->marks_pending, 0);
    xs_lock_acquire(&c->mark_lock);
    c->last_done_late = false;
    c->mark_first = c->mark_count = 0;
    c->correction_ns = c->last_mark_raw_ns = 0;
    c->had = c->above = 0;
    xs_lock_release(&c->mark_lock);
}
/** The furthest number of which a mark in flight will tell. */
static inline uint64_t xs_completion_marked_to(const struct xs_queue_completion *c)
{
    return atomic_load(&c->marked_to);
}
/** Device marks: the number of the last one put into the stream. */
static inline uint64_t xs_completion_device_issued(const struct xs_queue_completion *c)
{
    return atomic_load(&c->device_issued);
}
/** How many marks are in flight. */
static inline uint32_t xs_completion_pending(const struct xs_queue_completion *c)
{
    return atomic_load(&c->marks_pending);
}
/* relaxed: values by themselves */
static inline uint64_t xs_completion_last_done_ns(const struct xs_queue_completion *c)
{
    return atomic_load_explicit(&c->last_done_ns, memory_order_relaxed);
}
/** Estimated time of the span before the first pending mark, or XS_HEAD_AWAITS. */
static inline uint64_t xs_completion_head_est_ns(const struct xs_queue_completion *c)
{
    return atomic_load_explicit(&c->head_est_ns, memory_order_relaxed);
}

#endif
