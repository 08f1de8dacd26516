/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that sleep until a queue makes progress. */
#ifndef XS_XQUEUE_PROGRESS_H
#define XS_XQUEUE_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

struct xs_client_cell;

/* A part of a queue; progress.c alone writes it. */
struct xs_progress {
    _Atomic uint32_t made;                  /* changes with each completion; futex */
    _Atomic uint32_t sleepers;              /* threads that sleep on it */
};

/** What a thread reads before it looks at its condition, and then sleeps. */
static inline uint32_t xs_progress_seen(const struct xs_progress *p)
{
    return atomic_load(&p->made);
}
/** How many threads sleep. */
static inline uint32_t xs_progress_sleepers(const struct xs_progress *p)
{
    return atomic_load(&p->sleepers);
}
/** The queue made progress: wakes all threads that sleep for it. Any thread, also the vendor's. */
void xs_progress_make(struct xs_progress *p);
/** Sleeps until the queue makes progress, at most timeout_ns. @param seen  xs_progress_seen() */
void xs_progress_sleep(struct xs_progress *p, uint32_t seen, uint64_t timeout_ns);
/** The same where a device's mark may come, which wakes no thread: sleeps most of the time, then looks.
 *  Returns early when the device has marked something in the queue's cell. */
void xs_progress_sleep_look(struct xs_progress *p, const struct xs_client_cell *cc, uint32_t seen, uint64_t timeout_ns);

#endif
