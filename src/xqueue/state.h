/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that libpreempt knows in one process, behind one pointer.
 *
 * The pointer lives in a page that the kernel wipes on fork: a forked child reads NULL, sees
 * itself as unmanaged, and makes a state of its own only if it creates queues itself. It never
 * shares the pages, the socket or a lock with its parent. */
#ifndef XS_STATE_H
#define XS_STATE_H

#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "sched/sched.h"
#include "transport/socket.h"
#include "wire/hints.h"
#include "wire/page.h"
#include "xqueue/interface.h"

struct xs_hwq {
    HwQueueHandle handle;
    const struct xs_hal_ops *ops;
    void *hw;
    uint64_t native_key;
    XDevice device;
    struct xs_queue *queue;       /* under state.lock; NULL: none */
    struct xs_queue *queues;      /* under state.lock; it and those before it whose storage was not used again */
    uint32_t refs;                /* under state.lock; API calls that are using it */
    bool gone;                    /* under state.lock; out of the maps, in gone_hwqs */
    struct xs_list link;          /* in gone_hwqs */
};

struct xs_command;

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

/* A server page of a past session, until no thread can be at one of its words. */
struct xs_retired {
    struct xs_retired *next;
    struct xs_server_page *page;
    uint32_t cells;                         /* queues that existed when it was retired */
    uint64_t busy[];                        /* bit: not yet seen quiet since */
};

/* A thread that puts marks into streams from outside: marker.c. */
#define XS_MARKERS 3
struct xs_marker {
    _Atomic uint32_t runs;                  /* 1: there is such a thread, or it is being started */
    _Atomic uint64_t since_ns;              /* inside a vendor call since then; 0: not; owner: the thread */
    struct xs_state *state;                 /* owner: who started it */
};

enum xs_mode { XS_MODE_APP = kSchedulerAppManaged, XS_MODE_LOCAL = kSchedulerLocal, XS_MODE_GLOBAL = kSchedulerGlobal };

struct xs_state {
    struct xs_lock lock;                    /* docs/lock-order.md: outermost */
    struct xs_map native_to_queue;          /* look-ups without the lock */
    struct xs_map native_to_hwq, handle_to_hwq, handle_to_queue, handle_to_command;
    _Atomic uint64_t page_serial;           /* grows before a page comes into force: names a use of its address */
    _Atomic(_Atomic uint64_t *) app_words;  /* copies of app_permitted that devices see, by cell; under lock.
                                               NULL: no queue with gates yet */
    _Atomic uint32_t gates_told;            /* queues with gates.told */
    _Atomic int32_t inside;                 /* threads inside calls on which whole contexts wait (context_blocking.c) */
    _Atomic uint32_t gates_watched;         /* 1: gates may be in flight, and the control thread looks at the lease */
    _Atomic uint32_t epoch;                 /* changes whenever a cached look-up may be stale */
    _Atomic uint64_t next_handle, next_command;
    uint64_t handle_prefix;                 /* 31 random bits, not 0 */

    struct xs_client_page *client;
    int client_fd;                          /* -1: private memory, xserver cannot be joined */
    int bell_fd;                            /* eventfd: the scheduler sleeps on it */
    int kick_fd;                            /* eventfd: the control thread sleeps on it */
    uint32_t cells_used;                    /* high-water mark; under lock */
    struct xs_list gone_hwqs;               /* forgotten, not yet freed; under lock */
    struct xs_list free_queues;             /* storage out of use, cell included; under lock */

    _Atomic(struct xs_server_page *) server;        /* page in force; NULL: nothing is ever closed */
    _Atomic(struct xs_queue *) pool;
    _Atomic(struct xs_queue *) dirty;       /* stack of queues whose wish changed */

    _Atomic(struct xs_queue *) mark_wishes; /* stack of queues that want a mark from outside */
    _Atomic uint32_t mark_calls;            /* grows with each wish; futex of the markers */
    struct xs_marker markers[XS_MARKERS];

    _Atomic int mode;                       /* enum xs_mode */
    _Atomic int local_policy;               /* XPolicyType */
    _Atomic uint32_t mode_changes;
    _Atomic bool control_runs;
    /* 1: a scheduler was asked for, and the control thread does not know yet whether it comes. A queue that a shim
     * makes then is bounded from its first command on: who submits as fast as it can has a thousand commands in the
     * stream in the time that joining takes, and nobody can hold those any more. */
    _Atomic uint32_t awaited;
    uint32_t engagement;                    /* control thread: counts joins and local schedulers */
    struct xs_server_page *local_page;      /* control thread; kept once made */
    struct xs_pages tables;                 /* control thread: of the local scheduler, and what is retired */
    struct xs_retired *retired;             /* control thread */
    _Atomic uint32_t page_users;            /* threads that write to the page in force outside of a submit */
    _Atomic uint64_t timeslice_us;          /* hints for the scheduler as a whole; 0: none given */
    _Atomic uint32_t k;
    _Atomic uint32_t sched_hints_changes;
    _Atomic uint64_t scheduled;             /* counts of destroyed queues; live ones are added */
    bool intra;
    enum xs_drain drain;                    /* XSCHED_SCHEDULER_SUSPEND_*: constant */
    /* From the environment as it was when the state was made: the control thread may not read it,
     * since the program changes it when it likes. Constant. */
    char sockets[4][XS_SOCKET_PATH_BYTES];
    unsigned sockets_count;
    char group[64];
    int32_t utilization;                    /* of the process; -1: not given */
    struct xs_state *made_before;           /* for leak checkers: what a forked child inherited */
};

/* The page that is wiped on fork; reading zeroes means: nothing was made in this process. */
struct xs_root {
    _Atomic(struct xs_state *) state;
    struct xs_lock lock;
    int32_t pid;                            /* only where the kernel cannot wipe: compared instead */
};
extern _Atomic(struct xs_root *) xs_root;   /* owner: state.c; made once, inherited by children */
extern _Atomic bool xs_root_stays;          /* the kernel cannot wipe */
/** Whether this process made it. */
bool xs_root_is_ours(const struct xs_root *r);

/** The state of this process, or NULL: nothing was created (or this is a forked child). */
#ifdef XS_MODEL /* tests/model bring their own */
struct xs_state *xs_state_get(void);
#else
static inline struct xs_state *xs_state_get(void)
{
    struct xs_root *r = atomic_load_explicit(&xs_root, memory_order_acquire); /* pairs with its making */

    if (XS_UNLIKELY(!r))
        return NULL;
    if (XS_UNLIKELY(atomic_load_explicit(&xs_root_stays, memory_order_relaxed)) && !xs_root_is_ours(r))
        return NULL;
    return atomic_load_explicit(&r->state, memory_order_acquire); /* pairs with its making */
}
#endif
/** Makes it when there is none. NULL when out of memory. */
struct xs_state *xs_state_get_or_make(void);
/** The mode was set: sets awaited, or lets go who is bounded for that. Not in the control thread. */
void xs_state_await(struct xs_state *st);
/** announce_collectives.c: whoever schedules is told if there will be collectives, as far as that is known yet. */
void xs_collectives_tell(struct xs_state *st);

extern struct xs_server_cell xs_open_cell;  /* always open, never armed */

/** Somebody may want to hold this queue; otherwise commands are counted and nothing else. */
static inline bool xs_queue_managed(struct xs_queue *q, const struct xs_server_cell *sc)
{
    return sc != &xs_open_cell || atomic_load_explicit(&q->bounded, memory_order_relaxed);
}

struct xs_tls {
    struct xs_state *state;
    uint64_t native_key;
    struct xs_queue *queue;
    const struct xs_queue *in_command;      /* the queue whose command's callback this thread runs */
    uint32_t epoch;
    int32_t priority;                       /* of the queue that this thread used last */
    int depth;
    uint32_t polled_us;                     /* inherit.c: when this thread began to ask for nothing but */
    const struct xs_queue *polled;          /* this queue */
};
extern _Thread_local struct xs_tls xs_tls;

/* queue.c */
struct xs_queue *xs_queue_ref(XQueueHandle handle, struct xs_state **ret_state);
void xs_queue_unref(struct xs_queue *q);
void xs_queue_wake(struct xs_queue *q);
/** The highest level that the platform has, at most wanted. */
int32_t xs_level_in_force(const struct xs_hal_ops *ops, int32_t wanted, bool automatic);
/** Nobody is in a submit or a wait with it, and nobody will report a mark. */
bool xs_queue_unused(struct xs_queue *q);
/** Takes it out of all tables; opens it first, so nobody keeps sleeping. Under state.lock. */
void xs_queue_unlink_locked(struct xs_state *st, struct xs_queue *q);
/** Hands the queue, whose wish changed, to the control thread. Under state.lock. */
void xs_queue_wish_publish(struct xs_queue *q);
/** Threshold and batch size, checked; <= 0 keeps the present value. Under state.lock. */
XResult xs_queue_set_launch_config(struct xs_queue *q, int64_t threshold, int64_t batch);
/** Opens the queue's cell of a page before anybody is told of the queue. */
void xs_queue_open_cell(struct xs_queue *q, struct xs_server_page *page);
/** Points every queue's sc at the page in force. Any thread. */
void xs_queue_repoint_all(struct xs_state *st);

/** A mark behind what was submitted. @return false: none there, also when a submit comes from before the end of it all */
static inline bool xs_queue_append_mark(struct xs_queue *q, uint64_t number)
{
    struct xs_hwq *h = atomic_load(&q->hwq);

    return XS_LIKELY(h != NULL) && h->ops->mark(h->hw, q, number);
}
/** Likewise a gate. @return as the operation */
static inline int xs_queue_append_gate(struct xs_queue *q, _Atomic uint64_t *word, uint64_t serial, uint64_t number)
{
    struct xs_hwq *h = atomic_load(&q->hwq);

    return XS_LIKELY(h != NULL) ? h->ops->gate(h->hw, word, serial, number) : 0;
}

/* hwq.c */
/** What a stream is known by in native_to_hwq and native_to_queue. */
static inline uint64_t xs_native_key(int platform, uint64_t native)
{
    return native ^ (uint64_t)(platform + 1) << 58; /* user-space pointers have at most 57 bits */
}
/** A number that no hardware queue and no XQueue has. Under state.lock. */
HwQueueHandle xs_handle_make(struct xs_state *st);
/** A use of a hardware queue outside the lock, up to xs_hwq_done. NULL: there is none of this number. */
struct xs_hwq *xs_hwq_use(HwQueueHandle handle, struct xs_state **ret_state);
void xs_hwq_done(struct xs_state *st, struct xs_hwq *h);
/** From here on the queue is on this one. Under state.lock. */
void xs_hwq_take(struct xs_hwq *h, struct xs_queue *q);

/* submit.c / mark.c */
/** Flag of xsched_priv_submit_begin: from the deferred list itself, so it does not wait for it. */
#define XS_SUBMIT_FROM_LIST 0x10000u
/** Flag inside submit.c: it may not wait behind a gate in the stream. */
#define XS_SUBMIT_OUTSIDE   0x20000u
/** The scheduler is told to look at this queue. */
void xs_queue_ring(struct xs_queue *q);
/** Waits while the queue is held, at most timeout_ns or so. @return whether it may run */
bool xs_queue_permit_wait(struct xs_queue *q, uint64_t timeout_ns);
/** Whether a submit now would have to sleep. */
bool xs_queue_would_wait(struct xs_queue *q);
/** Waits until completed >= number: by a mark where the platform can, else by synchronising. */
XResult xs_queue_finish(struct xs_queue *q, uint64_t number);
void xs_queue_complete(struct xs_queue *q, uint64_t number, bool consume_ref);
void xs_queue_push_mark(struct xs_queue *q, uint64_t number, uint64_t key, uint32_t key_est_ns);
/** A mark is in the stream: tells the scheduler how far marks reach. */
void xs_queue_tell_marked(struct xs_queue *q);
/** Puts a mark into the stream from this thread (never the control thread). */
bool xs_queue_mark_now(struct xs_queue *q);
/** While a queue's end is awaited a command in so long gets a mark. As long as the linger: who is idle for less is not let go
 *  anyway. */
uint64_t xs_queue_end_mark_each_ns(void);
/** From so many on each command gets a mark while the queue's end is awaited; what one such end counts, and at most. */
#define XS_UNWAITED_MANY 16u
#define XS_UNWAITED_EACH 8u
#define XS_UNWAITED_MOST 64u
/** A mark of the command with this key, by the device; from the submitting thread. */
bool xs_queue_mark_device(struct xs_queue *q, uint64_t key, uint32_t key_est_ns);
/** Takes notice of what the device marked. @param late  it may have been done for a while */
void xs_queue_look_slow(struct xs_queue *q, bool late);
static inline void xs_queue_look(struct xs_queue *q, bool late)
{
    if (q->device_marks && atomic_load_explicit(&q->cc->marked, memory_order_acquire) >
                               atomic_load_explicit(&q->cc->completed, memory_order_relaxed))
        xs_queue_look_slow(q, late);
}
/** Waits until completed >= number or the time limit. @return false on the limit */
bool xs_queue_wait_number(struct xs_queue *q, uint64_t number, uint64_t timeout_ns);
/** Sleeps until something of the queue progresses, at most timeout_ns. seen: progress as read
 *  before the condition was looked at. */
void xs_queue_sleep(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
/** The same where a device's mark may come, which wakes nobody: sleeps most of the time, then
 *  looks; returns early when something is marked. */
void xs_queue_sleep_look(struct xs_queue *q, uint32_t seen, uint64_t timeout_ns);
void xs_queue_progress(struct xs_queue *q);

/* inherit.c */
/** The mode of the state changed, or it was made. */
void xs_state_update_intra(struct xs_state *st);
/** So many are complete: what was lent until then ends, and the scheduler is told. */
void xs_queue_inherit_end(struct xs_queue *q, uint64_t number);
/** The queue is worth this much now: so is what it waits for on the device. */
void xs_queue_inherit_on(struct xs_queue *q, int32_t priority);
/* gate.c: level 2 */
static inline bool xs_queue_gated(struct xs_queue *q)
{
    /* relaxed: a change of level is for later commands. As at level 1 while nobody is there who could close a gate. */
    return q->ctx_entries && atomic_load_explicit(&q->gates.on, memory_order_relaxed) &&
           !(atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_JOINING);
}
/** The copy of the application's gate that devices see; NULL: there is none. */
_Atomic uint64_t *xs_gates_app_word(struct xs_queue *q);
/** The level in force is now `level`. Under state.lock. */
void xs_gates_set_level(struct xs_queue *q, int32_t level);
/** What xserver says of gates at level 3 (XS_GATES_*). Under state.lock. */
void xs_gates_tell(struct xs_queue *q, uint32_t gates);
/** A session begins, whose server has said nothing yet. Control thread. @return false: the lock is taken, try again */
bool xs_gates_untell(struct xs_state *st);
/** The storage is used anew / the queue is out of the tables: what it has in the stream counts no more. */
void xs_gates_reset(struct xs_queue *q);
void xs_gates_forget(struct xs_queue *q);
/** May be in flight, estimated, where gates stand in between. */
uint64_t xs_gates_bound_ns(uint64_t told_ns, uint64_t est_ns);
/** Too many entries stand in the streams of the context. @param shut  the queue is held: less is too many */
bool xs_gates_full(struct xs_queue *q, bool shut);
/** The same after having looked at what the other queues of the context completed. */
bool xs_gates_full_still(struct xs_queue *q, bool shut);
/** Counts command n, and puts a gate before it if it is time for one. Calls the vendor.
 *  @param known  it was timed before  @return false: it must not go before its permission (no gate could be put) */
bool xs_gates_enter(struct xs_queue *q, uint64_t n, uint64_t est_ns, bool known, uint64_t told_ns, uint32_t flags);
/** The vendor refused the command. */
void xs_gates_take_back(struct xs_queue *q);
/** A mark is about to be put into the stream. */
void xs_gates_mark(struct xs_queue *q);
/** It is time for a mark, by entries. */
bool xs_gates_mark_due(struct xs_queue *q);
/** All entries up to this are done. */
void xs_gates_done(struct xs_queue *q, uint64_t weight);
/** Whether the queue was held since this was asked last; then times measured tell nothing. Under mark_lock. */
bool xs_gates_held_since(struct xs_queue *q);
/* context_blocking.c */
/** What entered the queue goes on on the device, whoever holds the queue. Under state.lock. */
void xs_gates_open_locked(struct xs_queue *q);

/** The application's own gate. */
void xs_queue_app_set(struct xs_queue *q, uint64_t permitted);
void xs_queue_app_set_locked(struct xs_queue *q, uint64_t permitted);
/** No gate of the queue is in flight, as far as is known. Any thread. */
bool xs_gates_passed(struct xs_queue *q);
/** Looks after gates in flight: true while there may be some. Control thread. */
bool xs_gates_watch(struct xs_state *st);

/* deferred.c */
/** Forgets what XQueueSubmit still holds. @return how many */
size_t xs_deferred_drop(struct xs_queue *q);

/* control_thread.c */
/** Starts the control thread when the mode needs one, and wakes it. */
void xs_control_kick(struct xs_state *st);
/** Whether a scheduler comes is decided: it is in force, or none answers. Any thread; no lock. */
void xs_control_decided(struct xs_state *st);
/** The scheduler that owns this page is not believed any more: everything opens. Any thread that
 *  may sleep for a moment; nothing happens when the page is not in force. */
void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page);
#endif
