/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue knows of its gates. gates/gate.c writes it; others read it by these functions. */
#ifndef XS_XQUEUE_GATES_H
#define XS_XQUEUE_GATES_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Level 2's part of a queue (gates/gate.c alone). Threads that submit write it, where a comment does not name others. */
struct xs_gates {
    _Alignas(XS_CACHE_LINE) _Atomic uint32_t shut;  /* the last command found the word closed and has a gate before it */
    _Atomic uint64_t since_ns;              /* estimated time of the commands since the last gate */
    _Atomic uint64_t last;                  /* the command behind the last gate, by its number when it entered */
    _Atomic uint64_t behind;                /* when so many are complete, one was behind the last gate;
                                               as many from other threads may have come before it */
    _Atomic uint64_t weight_in, weight_done; /* entries put into the stream, and known to be complete, of all
                                               queues that had this storage; see xs_ctx_entries */
    _Atomic uint64_t weight_marked;         /* weight_in at the last mark */
    _Atomic uint32_t app_changes;           /* suspensions and resumptions by the application */
    _Atomic uint32_t host_waiters;          /* threads that sleep until they may open a gate */
    /* under mark_lock: values at the last call of account() */
    uint64_t suspensions;
    uint32_t seen_app_changes;
    bool was_shut;
    bool told;                              /* under state.lock: xserver wants them at level 3, too */
};

/** Entries put into the stream, of all queues that had this storage. */
static inline uint64_t xs_gates_weight(const struct xs_gates *g)
{
    return atomic_load(&g->weight_in);
}
/** When so many commands are complete, one was behind the last gate. */
static inline uint64_t xs_gates_behind(const struct xs_gates *g)
{
    return atomic_load(&g->behind);
}
/** The context is gone: no gate of it is in flight. */
static inline void xs_gates_void(struct xs_gates *g)
{
    atomic_store(&g->last, 0);
    atomic_store(&g->behind, 0);
}
/** Around a sleep of a thread that opens a gate afterwards. seq_cst pairs with xs_gates_open_locked: opens, then reads it. */
static inline void xs_gates_host_waits(struct xs_gates *g)
{
    atomic_fetch_add(&g->host_waiters, 1);
}
static inline void xs_gates_host_waited(struct xs_gates *g)
{
    atomic_fetch_sub(&g->host_waiters, 1);
}

#endif
