/* SPDX-License-Identifier: Apache-2.0 */
/* The state of libpreempt in this process, behind one pointer.
 *
 * The pointer lives in a page that the kernel wipes on fork: a forked child reads NULL and sees
 * itself as unmanaged. It makes a state of its own only if it creates queues itself. It never shares the
 * pages, the socket or a lock with its parent. */
#ifndef XS_STATE_H
#define XS_STATE_H

#include "base/job.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/map.h"
#include "sched/sched.h"
#include "transport/socket.h"
#include "wire/hints.h"
#include "wire/page.h"
#include "xqueue/interface.h"

struct xs_queue;
struct xs_retired;

enum xs_mode { XS_MODE_APP = kSchedulerAppManaged, XS_MODE_LOCAL = kSchedulerLocal, XS_MODE_GLOBAL = kSchedulerGlobal };

/* A thread that puts marks into streams from outside (marker.c). */
#define XS_MARKERS 3
struct xs_marker {
    _Atomic uint32_t runs;                  /* 1: such a thread runs, or is starting */
    _Atomic uint64_t since_ns;              /* inside a vendor call since then; 0: not; owner: the thread */
    struct xs_state *state;                 /* owner: the thread that starts it */
};

struct xs_state {
    /* Lock 2: hardware queues, XQueues, their wishes, free storage. Calls of the API hold it that create,
     * destroy or configure, and context-blocking calls as they begin. A submit does so only at level 2, where
     * its call may load code. */
    struct xs_lock lock;
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
    int client_fd;                          /* -1: private memory, the process cannot join xserver */
    int bell_fd;                            /* eventfd: the scheduler sleeps on it */
    int kick_fd;                            /* eventfd: the control thread sleeps on it */
    uint32_t cells_used;                    /* high-water mark; under lock */
    struct xs_list gone_hwqs;               /* forgotten, not yet freed; under lock */
    struct xs_list free_queues;             /* unused storage, cell included; under lock */

    _Atomic(struct xs_server_page *) server;        /* page in force; NULL: nothing closes a word */
    _Atomic(struct xs_queue *) pool;
    _Atomic(struct xs_queue *) dirty;       /* stack of queues whose wish changed */

    _Atomic(struct xs_queue *) mark_wishes; /* stack of queues that want a mark from outside */
    _Atomic uint32_t mark_calls;            /* grows with each wish; futex of the markers */
    struct xs_marker markers[XS_MARKERS];

    _Atomic int mode;                       /* enum xs_mode */
    _Atomic int local_policy;               /* XPolicyType */
    _Atomic uint32_t mode_changes;
    _Atomic bool control_runs;
    _Atomic bool joins;                     /* it joins a scheduler, though it has no queue yet */
    void (*kick)(struct xs_state *st);      /* xs_control_kick, for what the control thread itself uses; constant */
    /* 1: the process wants a scheduler, and the control thread does not know yet whether it comes. A queue
     * that a shim makes then has a bound from its first command on. Else a program that submits as fast as it
     * can would have a thousand commands in the stream before the scheduler joins, and it cannot suspend
     * those any more. */
    _Atomic uint32_t awaited;
    uint32_t engagement;                    /* control thread: counts joins and local schedulers */
    struct xs_server_page *local_page;      /* control thread; kept once made */
    struct xs_pages tables;                 /* control thread: of the local scheduler, and of retired */
    struct xs_retired *retired;             /* control thread */
    _Atomic uint32_t page_users;            /* threads that write to the page in force outside of a submit */
    _Atomic uint64_t timeslice_us;          /* hints for the scheduler as a whole; 0: unset */
    _Atomic uint32_t k;
    _Atomic uint32_t sched_hints_changes;
    _Atomic uint64_t scheduled;             /* counts of destroyed queues; the sum adds those of live ones */
    bool intra;
    uint64_t space;                         /* XSCHED_SHARE: the MPS server of this process; 0: it shares in time; constant */
    uint32_t mps_priority;                  /* then: XS_HELLO_MPS_*; constant */
    bool asks_space;                        /* XSCHED_SHARE=SPACE; constant */
    enum xs_drain drain;                    /* XSCHED_SCHEDULER_SUSPEND_*: constant */
    /* The environment at the time of the state's making: the control thread may not read it, since the
     * program may change it at any time. Constant. */
    char sockets[4][XS_SOCKET_PATH_BYTES];
    unsigned sockets_count;
    char group[64];
    char job[XS_JOB_BYTES];
    int32_t utilization;                    /* of the process; -1: unset */
    struct xs_state *made_before;           /* for leak checkers: the state that a forked child inherited */
};

/* The kernel wipes this page on fork; zeroes mean that this process has made nothing. */
struct xs_root {
    _Atomic(struct xs_state *) state;
    /* Lock 1: the making of this process's state. The thread whose call needs it first holds it. */
    struct xs_lock lock;
    int32_t pid;                            /* only where the kernel cannot wipe: compared with getpid() */
};
extern _Atomic(struct xs_root *) xs_root;   /* owner: state.c; made once, inherited by children */
extern _Atomic bool xs_root_stays;          /* the kernel cannot wipe */
/** Whether this process made it. */
bool xs_root_is_ours(const struct xs_root *r);
/** The root, made when there is none. NULL when out of memory. */
struct xs_root *xs_root_get(void);

/** The state of this process, or NULL: it has created nothing (or is a forked child). */
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
extern struct xs_server_cell xs_open_cell;  /* always open, never armed */

struct xs_tls {
    struct xs_state *state;
    uint64_t native_key;
    struct xs_queue *queue;
    const struct xs_queue *in_command;      /* the queue whose command's callback this thread runs */
    uint32_t epoch;
    int32_t priority;                       /* of the queue that this thread used last */
    int depth;
    uint32_t polled_us;                     /* wait.c: since when this thread only polls */
    const struct xs_queue *polled;          /* this queue; NULL: it has never submitted nor polled */
};
#define XS_TLS_SUBMITS ((const struct xs_queue *)(uintptr_t)1) /* polled: none since the last submit */
extern _Thread_local struct xs_tls xs_tls;

#endif
