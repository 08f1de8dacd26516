/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an XQueue, and its references. calls/queue_table.c makes, finds and forgets XQueues. */
#ifndef XS_XQUEUE_QUEUE_H
#define XS_XQUEUE_QUEUE_H

#include "base/list.h"
#include "base/lock.h"
#include "wire/hints.h"
#include "wire/page.h"
#include "xqueue/interface.h"
#include "xqueue/parts/bound.h"
#include "xqueue/parts/completion.h"
#include "xqueue/parts/ends.h"
#include "xqueue/parts/gates.h"
#include "xqueue/state.h"
#include "xqueue/submit/progress.h"

#include <stddef.h>

/* The hints and limits that the control thread announces. The queue's own are under state.lock. The control
 * thread, which takes no lock of an application thread, reads the published copy. */
struct xs_queue_wish {
    struct xs_dated_hints dated;
    int32_t level;                /* in force */
    int64_t threshold, batch;
    uint64_t config_changes;      /* counts changes of level, threshold, batch */
};
#define XS_WISH_WORDS (sizeof(struct xs_queue_wish) / 8)
_Static_assert(sizeof(struct xs_queue_wish) % 8 == 0, "published word by word");

/* The queue that this one waits for on the device, as far as known (inherit.c). Threads of the program. */
struct xs_queue_waits {
    _Atomic(struct xs_queue *) queue;
    _Atomic uint64_t id, number;            /* of that queue; id 0: it is gone, or a thread writes it now */
};

/* Wishes for a mark from outside (marker.c). Any thread. */
struct xs_queue_marker {
    _Atomic(struct xs_queue *) next;        /* in state.mark_wishes */
    _Atomic uint32_t wished;                /* 1: a thread wants a mark */
};

/* From the calls of the application to the control thread, which takes no lock of theirs. Under state.lock,
 * where a comment does not say otherwise. */
struct xs_queue_announced {
    _Atomic(struct xs_queue *) dirty_next;  /* in state.dirty; any thread */
    _Atomic uint32_t dirty;                 /* in that list; any thread */
    _Atomic uint32_t wanted;                /* 1: the scheduler should know the queue */
    _Atomic uint32_t seq;                   /* odd while a thread writes the copy */
    _Atomic uint64_t words[XS_WISH_WORDS];  /* the copy of the wish */
};

/* Only the control thread reads and writes these. */
struct xs_queue_control {
    uint32_t announced_in;                  /* the engagement that has its announcement */
    uint64_t announced_config;              /* config_changes in that announcement */
    struct xs_sched_queue *sq;              /* local scheduler's */
};

/* Commands that XQueueSubmit has not launched yet (deferred.c). */
struct xs_queue_deferred {
    /* Lock 3: the list of commands that XQueueSubmit deferred. XQueueSubmit, the worker and drop hold it. */
    struct xs_lock lock;
    struct xs_list list;                    /* under it */
    bool worker_runs;                       /* under it */
    _Atomic uint64_t submitted, done;       /* threads that append; threads that launch or drop */
};

/* xs_queue.bounded */
enum {
    XS_BOUNDED_APP = 1u,          /* the application suspends it itself, or gave a bound */
    XS_BOUNDED_JOINING = 2u,        /* a scheduler may come: see xs_state.awaited */
};

/* An XQueue. Its storage stays mapped for ever and gets a new use only when nothing refers to it. Its parts
 * are grouped by the threads that write them, each group from a cache line of its own on. */
struct xs_queue {
    /* line 0: each submit reads it; the named threads write it, rarely */
    struct xs_client_cell *cc;              /* constant */
    _Atomic(struct xs_server_cell *) sc;    /* never NULL: the open cell, or a cell of state.server; see xs_queue_repoint() */
    _Atomic uint64_t app_permitted;         /* the application's own permit (XQueueSuspend); under state.lock */
    _Atomic int64_t threshold;              /* explicit bound; 0: by estimated time; under state.lock */
    struct xs_ctx_entries *ctx_entries;     /* of hwq; NULL: it has no level 2; constant while live */
    struct xs_state *state;                 /* constant */
    _Atomic uint32_t bounded;               /* XS_BOUNDED_*: bounds commands without a scheduler, too */
    _Atomic uint32_t deferred_count;        /* commands that XQueueSubmit has not launched; as deferred */
    _Atomic int32_t priority;               /* copy of wish.dated.hints.priority; under state.lock */
    bool device_marks;                      /* of hwq: look at cc->marked; constant while live */
    bool marks_from_outside;                /* of hwq: a marker may put marks there; constant while live */
    _Atomic bool gates_on;                  /* level 2 is in force for later commands; under state.lock */
    _Atomic bool crowded;                   /* its stream may have no connection to itself (crowded.h); likewise */

    /* line 1: constant while live, where a comment does not say otherwise */
    _Alignas(XS_CACHE_LINE) XQueueHandle handle;
    uint32_t cell;                          /* constant */
    uint32_t hwq_levels, hwq_platform;      /* of hwq */
    XDevice hwq_device;                     /* of hwq */
    _Atomic(struct xs_hwq *) hwq;           /* NULL once both are gone; under state.lock to write */
    uint64_t flags;                         /* XQueueCreateFlag */
    struct xs_queue *pool_next;             /* append-only list of all storage ever made; constant */
    _Atomic int64_t batch;                  /* as threshold */

    /* calls of the application and of shims, under state.lock */
    _Alignas(XS_CACHE_LINE) struct xs_queue *hwq_next; /* in hwq's list */
    struct xs_list link;                    /* free_queues while not live */
    bool live;
    bool counted;                           /* among the queues of its ctx_entries (crowded.c) */
    struct xs_queue_wish wish;
    struct xs_queue_announced announced;

    /* threads that submit */
    _Alignas(XS_CACHE_LINE) struct xs_queue_bound bound;
    struct xs_queue_ends ends;
    _Atomic uint64_t busy_since_ns;         /* when the queue last became non-empty */
    _Atomic uint32_t blocked;               /* threads with a command that sleep without a permit (submit/permission.c) */
    _Atomic uint32_t refs;                  /* marks in flight, the dirty list, workers, calls; any thread */
    struct xs_gates gates;                  /* likewise, on lines of its own */

    /* threads that learn of completions */
    _Alignas(XS_CACHE_LINE) struct xs_progress progress;
    _Atomic uint64_t waited_since_ns;       /* the first of the threads that wait in the vendor began then; bit 0: for all that
                                               had entered (wait.c) */
    struct xs_queue_completion completion;
    struct xs_queue_marker marker;

    /* threads of the program that wait, and that defer commands */
    _Alignas(XS_CACHE_LINE) struct xs_queue_waits waits_for;
    _Atomic uint64_t awaits_to;             /* the last command with XS_KEY_AWAITS, by its number when it entered */
    _Atomic uint64_t entered_before;        /* so many commands as a thread last began to wait for one of the queues */
    _Atomic uint64_t ours;                  /* so many of `entered` are no commands of the program */
    _Atomic uint32_t trust;                 /* so many waits for the bound may end before something completes (in_flight.c) */
    _Atomic uint32_t futile;                /* so many waits for the bound in a row ended only because they gave up */
    _Atomic uint32_t unbounded;             /* so many times more no thread waits for it (submit/in_flight.c) */
    _Atomic uint64_t whole_ns;              /* from then on a kernel of medium length may leave the lane (submit/whole.c) */
    struct xs_queue_deferred deferred;

    /* the control thread */
    _Alignas(XS_CACHE_LINE) struct xs_queue_control control;
};
_Static_assert(offsetof(struct xs_queue, handle) == XS_CACHE_LINE, "what each submit reads is on one line");
_Static_assert(offsetof(struct xs_queue, gates) - offsetof(struct xs_queue, bound) == XS_CACHE_LINE,
               "what each submit writes is on one line");
_Static_assert(offsetof(struct xs_queue, completion.mark_lock) - offsetof(struct xs_queue, progress) <= XS_CACHE_LINE,
               "what others look at is on one line");

/** How many commands the program has submitted to it. */
static inline uint64_t xs_queue_submitted(struct xs_queue *q)
{
    return atomic_load(&q->cc->entered) - atomic_load(&q->ours);
}

/** A scheduler or the application may suspend this queue. Otherwise submits only count its commands. */
static inline bool xs_queue_managed(struct xs_queue *q, const struct xs_server_cell *sc)
{
    return sc != &xs_open_cell || atomic_load_explicit(&q->bounded, memory_order_relaxed);
}

/** The queue of this handle with one reference more, which keeps its storage from a new use. Any thread.
 *  @param ret_state  may be NULL
 *  @return NULL: there is none */
struct xs_queue *xs_queue_ref(XQueueHandle handle, struct xs_state **ret_state);
/** Gives a reference back. Any thread. */
void xs_queue_unref(struct xs_queue *q);
/** The highest level that the platform has, at most `wanted`.
 *  @param automatic  among those that level auto may mean */
int32_t xs_level_in_force(const struct xs_hal_ops *ops, int32_t wanted, bool automatic);
/** No thread is in a submit or a wait with it, and no mark of it is still to report. Any thread. */
bool xs_queue_unused(struct xs_queue *q);

#endif
