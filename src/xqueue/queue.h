/* SPDX-License-Identifier: Apache-2.0 */
/* XQueues: what is kept of one, making, finding, forgetting. */
#ifndef XS_XQUEUE_QUEUE_H
#define XS_XQUEUE_QUEUE_H

#include "base/list.h"
#include "base/lock.h"
#include "wire/hints.h"
#include "wire/page.h"
#include "xqueue/interface.h"
#include "xqueue/state.h"

/* A mark that was put into the stream and has not completed. Under xs_queue.mark_lock. */
struct xs_mark {
    uint64_t number;
    uint64_t span_est_ns;         /* estimated time of the commands since the mark before */
    uint64_t key;                 /* of the command that was marked */
    uint32_t key_est_ns;          /* its estimate; 0: unknown */
    uint64_t weight;              /* entries in the stream up to it */
    bool idled;                   /* its time may be too long */
};
#define XS_QUEUE_MARKS 64u

/* What the control thread announces. The queue's own is under state.lock; the control thread,
 * which takes no lock of an application thread, reads the published copy. */
struct xs_queue_wish {
    struct xs_dated_hints dated;
    int32_t level;                /* in force */
    int64_t threshold, batch;
    uint64_t config_changes;      /* counts changes of level, threshold, batch */
};
#define XS_WISH_WORDS (sizeof(struct xs_queue_wish) / 8)
_Static_assert(sizeof(struct xs_queue_wish) % 8 == 0, "published word by word");

/* What level 2 needs of a queue (gate.c). Threads that submit write it, where nothing else is said. */
struct xs_gates {
    _Alignas(XS_CACHE_LINE) _Atomic uint32_t on;    /* level 2 is in force for later commands; under state.lock */
    _Atomic uint32_t shut;                  /* the last command found the word closed and has a gate before it */
    _Atomic uint64_t since_ns;              /* estimated time of what was submitted since the last gate */
    _Atomic uint64_t last;                  /* the command behind the last gate, by its number when it entered */
    _Atomic uint64_t behind;                /* when so many are complete, one of them stood behind the last gate; from
                                               other threads as many may have gone before it */
    _Atomic uint64_t weight_in, weight_done; /* entries put into the stream, and known to be done, by all queues that had
                                               this storage; see xs_ctx_entries */
    _Atomic uint64_t weight_marked;         /* weight_in at the last mark */
    _Atomic uint32_t app_changes;           /* suspensions and resumptions by the application */
    /* under mark_lock: what account() saw last */
    uint64_t suspensions;
    uint32_t seen_app_changes;
    bool was_shut;
    bool told;                              /* under state.lock: xserver wants them at level 3, too */
};

/* xs_queue.bounded */
enum {
    XS_BOUNDED_APP = 1u,          /* the application suspends it itself, or gave a bound */
    XS_BOUNDED_JOINING = 2u,        /* a scheduler is on its way: see xs_state.awaited */
};

/* An XQueue. Storage is never unmapped and is used again only when nothing refers to it. */
struct xs_queue {
    /* read on every submit */
    struct xs_state *state;
    struct xs_client_cell *cc;
    _Atomic(struct xs_server_cell *) sc;    /* never NULL: the open cell, or a cell of state.server */
    _Atomic uint64_t app_permitted;         /* the application's own gate (XQueueSuspend) */
    _Atomic uint32_t bounded;               /* XS_BOUNDED_*: what is in flight is bounded though nobody schedules */
    _Atomic uint32_t deferred_count;        /* commands that XQueueSubmit holds */
    _Atomic int64_t threshold, batch;       /* explicit bound; threshold 0: by estimated time */
    _Atomic int32_t priority;               /* copy of wish.dated.hints.priority */
    _Atomic(struct xs_hwq *) hwq;           /* NULL only where both are destroyed; written under state.lock */
    struct xs_queue *hwq_next;              /* in hwq's list; under state.lock */
    XQueueHandle handle;
    uint32_t cell;
    bool device_marks;                      /* of hwq: cc->marked is to be looked at, nobody calls */
    bool marks_from_outside;                /* of hwq: a thread of ours may put marks there */
    struct xs_ctx_entries *ctx_entries;                   /* of hwq; NULL: it has no level 2 */
    struct xs_gates gates;

    /* waiting and progress */
    _Alignas(XS_CACHE_LINE) _Atomic uint32_t progress;  /* changes with each completion; futex */
    _Atomic uint32_t progress_waiters;
    _Atomic uint32_t blocked;               /* threads inside submit_begin that sleep at a gate */
    _Atomic uint32_t passes;                /* work in flight does not complete: so many may pass */
    _Atomic uint32_t passes_granted;        /* at the last time; doubles each time nothing completes */
    _Atomic uint64_t last_done_ns;          /* time of the last known completion */
    _Atomic uint64_t busy_since_ns;         /* when the queue last became non-empty */
    _Atomic uint64_t slack_ns;              /* what the bound in flight is widened by; submitting threads */
    _Atomic uint64_t end_mark_ns;           /* when a command was marked because its end is awaited; submitting threads */
    _Atomic uint64_t watched_ns;            /* the last submit while its end was awaited */
    _Atomic uint32_t idled;                 /* the span up to the next mark may hold time in which nothing was in flight */
    _Atomic uint32_t unwaited;              /* ends that nobody waited for, less those that somebody did: see marker.c */
    _Atomic uint64_t head_est_ns;           /* estimated time of the span before the first pending mark */
    _Atomic uint32_t marks_pending;
    _Atomic uint64_t marked_to;             /* the furthest number that a mark in flight will tell of */
    _Atomic uint32_t refs;                  /* marks in flight, the dirty list, deferred workers */

    /* what it waits for on the device, as far as known (inherit.c); threads of the program */
    _Atomic(struct xs_queue *) waits_for;
    _Atomic uint64_t waits_for_id, waits_for_number;

    /* under mark_lock (taken by try only; see account()) */
    struct xs_lock mark_lock;
    _Atomic uint32_t account_pending;       /* ACCOUNT_* of mark.c */
    bool last_done_late;                    /* last_done_ns is when it was noticed, not when it was */
    uint32_t above;                         /* so many ends in a row, found late, say that commands are longer than thought */
    uint64_t had;                           /* the last command that the device had been given then */
    _Atomic uint32_t marking, mark_again;   /* device marks: somebody puts one into the stream; another is wanted */
    _Atomic uint64_t device_issued;         /* number of the last one put there */
    uint32_t mark_first, mark_count;
    uint64_t correction_ns;                 /* sum of what measurements changed in est_entered_ns */
    uint64_t last_mark_raw_ns;
    struct xs_mark marks[XS_QUEUE_MARKS];

    _Atomic(struct xs_queue *) mark_next;   /* in state.mark_wishes */
    _Atomic uint32_t mark_wished;           /* somebody wants a mark from outside */

    /* under state.lock */
    struct xs_list link;                    /* free_queues while not live */
    bool live;
    uint64_t flags;                         /* XQueueCreateFlag */
    int32_t level_wanted;

    /* the control thread's view */
    _Atomic(struct xs_queue *) dirty_next;
    _Atomic uint32_t dirty;                 /* in the dirty list */
    struct xs_queue_wish wish;              /* under state.lock */
    _Atomic uint32_t wish_seq;              /* odd while the copy is being written */
    _Atomic uint64_t wish_words[XS_WISH_WORDS];
    _Atomic uint32_t wanted;                /* 1: should be known to the scheduler */
    uint32_t announced_in;                  /* control thread: number of the engagement it was announced in */
    XDevice hwq_device;                     /* of hwq, constant while wanted */
    uint32_t hwq_levels, hwq_platform;
    uint64_t announced_config;              /* control thread: config_changes as announced */
    struct xs_sched_queue *sq;              /* control thread: local scheduler's */

    /* deferred commands, under deferred_lock */
    struct xs_lock deferred_lock;
    struct xs_list deferred;
    bool worker_runs;
    _Atomic uint64_t deferred_submitted, deferred_done;

    struct xs_queue *pool_next;             /* append-only list of all storage ever made */
};

/** Somebody may suspend this queue. Otherwise its commands are counted and nothing else. */
static inline bool xs_queue_managed(struct xs_queue *q, const struct xs_server_cell *sc)
{
    return sc != &xs_open_cell || atomic_load_explicit(&q->bounded, memory_order_relaxed);
}

/** The queue of this handle with one reference more, which keeps its storage from being used again. Any
 *  thread.
 *  @param ret_state  may be NULL
 *  @return NULL: there is none */
struct xs_queue *xs_queue_ref(XQueueHandle handle, struct xs_state **ret_state);
/** Gives a reference back. Any thread. */
void xs_queue_unref(struct xs_queue *q);
/** The highest level that the platform has, at most `wanted`.
 *  @param automatic  among those that level auto may mean */
int32_t xs_level_in_force(const struct xs_hal_ops *ops, int32_t wanted, bool automatic);
/** No thread is in a submit or a wait with it, and no mark of it will be reported. Any thread. */
bool xs_queue_unused(struct xs_queue *q);
/** Takes it out of all tables. Opens it first, so that no thread stays asleep. Under state.lock. */
void xs_queue_unlink_locked(struct xs_state *st, struct xs_queue *q);
/** Hands the queue, whose wish changed, to the control thread. Under state.lock. */
void xs_queue_wish_publish(struct xs_queue *q);
/** Opens the queue's cell of a page, before the scheduler of that page knows the queue.
 *  @param page  NULL: nothing to do */
void xs_queue_open_cell(struct xs_queue *q, struct xs_server_page *page);
/** Points every queue's sc at the page in force. Any thread. */
void xs_queue_repoint_all(struct xs_state *st);

#endif
