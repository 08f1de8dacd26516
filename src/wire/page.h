/* SPDX-License-Identifier: Apache-2.0 */
/* The two shared pages between a process and its scheduler.
 *
 * The process makes the client page, once for its life; xserver maps it read only. xserver makes the
 * server page, one for each session. The process maps it writable, because it may open a gate at any
 * time. Each word has one writer, named below; a 64-byte line has one writing side. Cell i of both
 * pages belongs to the same queue. A reader on the other side copies a word once and judges the copy:
 * it must not trust any word here.
 *
 * The same structures in private memory serve a process without xserver. */
#ifndef XS_PAGE_H
#define XS_PAGE_H

#include "base/xs_base.h"

#define XS_PAGE_MAGIC   0x3130656761505358ull /* "XSPage01" */
#define XS_PAGE_VERSION 1u
#define XS_PAGE_QUEUES  16384u                /* cells; the kernel gives memory only where something uses
                                                 it */

/** permitted: nothing may start / everything may start. */
#define XS_PERMIT_CLOSED 0ull
#define XS_PERMIT_OPEN   ((uint64_t)INT64_MAX)

/** xs_server_cell.armed: the event for which the scheduler wants a doorbell. */
#define XS_ARMED_SUBMIT 1u   /* the next submit */
#define XS_ARMED_IDLE   2u   /* the completion of everything entered; marks come more often meanwhile */
#define XS_ARMED_WAITS  4u   /* the end of a call that waited for this queue; waited_ns counts meanwhile */

struct xs_client_header {
    /* line 0: constant after creation */
    uint64_t magic;
    uint32_t version;
    uint32_t queues;                        /* XS_PAGE_QUEUES */
    uint32_t cell_bytes;                    /* sizeof(struct xs_client_cell) */
    uint32_t reserved0;
    int64_t clock_offset_ns;                /* xs_clock_offset_ns as it joined; 0 on every page of an older process */
    uint32_t reserved00[8];
    /* line 1: the control thread. A robust futex: its thread id (in its own PID namespace) with
     * FUTEX_WAITERS (0x80000000) while it lives. As the first step of its death the kernel sets
     * FUTEX_OWNER_DIED (0x40000000). It wakes xserver only if the word has FUTEX_WAITERS. xserver cannot set
     * it, since it maps this page read only. */
    _Atomic uint32_t owner_tid;
    uint32_t reserved1[15];
    /* line 2: the doorbell. Any thread of the process rings. */
    _Atomic uint64_t bell_count;            /* grows with each ring; the scheduler compares */
    /* Collectives that began, ever, and 1 more if the program expected some before the first; 0: none,
     * as on every page of an older process. Any thread. */
    _Atomic uint64_t collectives;
    _Atomic uint64_t peer_memory;           /* times that it opened memory of another process; any thread;
                                               0 likewise */
    /* Device memory that the program has allocated, and may, over all devices; limit 0: it has none,
     * and the shim does not count. The shim, under its lock; for users. 0 likewise. */
    _Atomic uint64_t memory_used;
    _Atomic uint64_t memory_limit;
    /* Device memory that can move to host memory and back, whether it is out or not; the shim, likewise. 0 likewise. */
    _Atomic uint64_t memory_movable;
    uint64_t reserved2[2];
    /* The last rings; new ones overwrite the oldest: ring k is at [k % XS_BELL_SLOTS] as (k + 1) << 16
     * | cell index. If a scheduler finds another ring there (overwritten, or not written yet), it
     * looks at all queues of this process instead. The process stored the news of a ring before
     * bell_count grew. */
#define XS_BELL_SLOTS 512u
    _Atomic uint64_t bell[XS_BELL_SLOTS];
};

struct xs_client_cell {
    /* line 0: threads of the process */
    _Atomic uint64_t entered;               /* submits begun; read-modify-write, seq_cst */
    _Atomic uint64_t returned;              /* submits whose vendor call came back */
    _Atomic uint64_t completed;             /* the first this many returned ones are complete; grows */
    _Atomic uint64_t est_entered_ns;        /* estimated device time of the entered commands */
    _Atomic uint64_t est_completed_ns;      /* measured or estimated device time of the completed ones */
    _Atomic uint64_t held_ns;               /* time that callers waited for a permit */
    _Atomic uint32_t waiters;               /* threads that wait at the gate, on the server cell's word */
    _Atomic uint32_t inherit;               /* threads that wait for this queue: the scheduler must not
                                               suspend it for a less important one */
    _Atomic int32_t inherit_priority;       /* highest priority of those */
    /* The low half of the furthest number that a mark in flight will report. 0: not known, as on every
     * page of an older process. While it covers all entered commands, the scheduler does not infer
     * that the queue is idle. */
    _Atomic uint32_t marked_to;
    /* line 1: the device (platforms that write completion marks from the device) */
    _Atomic uint64_t marked;                /* as completed; readers take the larger */
    /* Threads of the process, before the vendor call: XS_GRAPHS(number, count), the last command that was a graph, and how
     * many there were. 0: none, as on every page of an older process. */
    _Atomic uint64_t graphs;
    /* Threads of the process, before waited_ns of the queue that was waited for: XS_WAITED(number, XS_WAITED_*). So many
     * commands the last wait that ended was for; in the other queues of the process so many had entered as it began. */
    _Atomic uint64_t waited_to;
    /* The waiting threads of the process: for how long threads waited for this queue's work, or for
     * place in flight. They count only where a scheduler schedules queues of one process against each
     * other, where the process shares in space, or while XS_ARMED_WAITS asks for them. 0 on every page of an older
     * process. */
    _Atomic uint64_t waited_ns;
    /* The thread that makes lanes (hal/cuda/lanes/lanes.c), on AMD the control thread: XS_LANES(wide, narrow), or XS_LANES_NONE
     * where there will be none. 0: there are none yet, as on every page of an older process. */
    _Atomic uint32_t lanes;
    _Atomic uint32_t multiprocessors;       /* likewise, before `lanes`: those of the whole device; for people */
    /* Threads of the process; rarely. Until that many are complete, a kernel may be under way that
     * waits for others like it, in other queues or processes. Stored before its vendor call. */
    _Atomic uint64_t collective;
    /* Threads of the process; rarely; grows. So many of the first commands go on though the queue is
     * suspended. A thread is inside a call on which its whole context waits, and the call itself waits
     * for those commands on the device (level 2). The scheduler stores no smaller number than this in
     * `permitted`. */
    _Atomic uint64_t let_through;
    /* Threads of the process; rarely. XS_LENT(number, priority): until that many are complete, a more
     * important queue of this process waits on the device for this one. */
    _Atomic uint64_t lent;
};

/* xs_server_header.collectives */
enum {
    XS_COLLECTIVES_AWAITED = 1u, /* a member of its collective group is suspended */
    XS_COLLECTIVES_KNOWN = 2u,   /* the scheduler knows that this process does collectives */
};

struct xs_server_header {
    /* line 0: constant after creation */
    uint64_t magic;
    uint32_t version;
    uint32_t queues;
    uint32_t cell_bytes;                    /* sizeof(struct xs_server_cell) */
    uint32_t reserved0[3];
    uint64_t session;                       /* number of this session, unique for the server's life */
    uint64_t reserved00[3];
    /* line 1: the scheduler */
    _Atomic uint64_t lease_until_ns;        /* closed words are void after this (CLOCK_MONOTONIC, the process's) */
    _Atomic uint32_t asleep;                /* 1: a ring must also signal the eventfd */
    _Atomic uint32_t collectives;           /* XS_COLLECTIVES_*; anything but KNOWN alone: ring when a collective begins */
    uint32_t reserved1[12];
};

/* Estimated device time in flight on a queue that shares its device, unless the scheduler stores
 * another. An urgent program waits mainly for this at level 1. A change of the device (0.17 ms on an
 * H200), the end of a wait and a kernel that is longer than its estimate come on top: a millisecond
 * and two kernels in all. */
#define XS_INFLIGHT_SHARED_US 850u

/* Lanes: when a queue runs beside a more important one, a lane confines its kernels to some multiprocessors
 * of the device. A queue has two lanes: the wide one leaves a few multiprocessors to others, the narrow one
 * about half. */
#define XS_LANES(wide, narrow)  ((uint32_t)(wide) | (uint32_t)(narrow) << 16)
#define XS_LANES_WIDE(lanes)    ((lanes) & 0xffffu)
#define XS_LANES_NARROW(lanes)  ((lanes) >> 16)
#define XS_LANES_NONE           1u
/* Of `all` multiprocessors, those of a lane, before the vendor's rounding. */
#define XS_LANES_WIDE_LEAVES    11u   /* the wide lane leaves one in so many */
#define XS_LANES_NARROW_LEAVES  2u
#define XS_LANES_PART(all, leaves) ((all) - XS_MAX((all) / (leaves), 1u))

/* xs_server_cell.lane; else the multiprocessors to which kernels are confined, one of the two of
 * xs_client_cell.lanes */
#define XS_LANE_OFF             0u    /* kernels run on the whole device */
#define XS_LANE_MAKE            1u    /* likewise; the process should make lanes, since they will be of use */
#define XS_LANE_ONLY            0x10000u /* beside the number: kernels that a lane cannot take wait until they need none */
#define XS_LANE_WIDTH(lane)     ((lane) & 0xffffu)

struct xs_server_cell {
    /* one line: the scheduler; the process may only open `permitted` */
    _Atomic uint64_t permitted;             /* number of the last command that may start */
    _Atomic uint32_t armed;                 /* XS_ARMED_* */
    _Atomic uint32_t inflight_us;           /* bound in force; 0: XS_INFLIGHT_SHARED_US */
    _Atomic uint64_t suspensions;           /* how often xserver closed permitted; for users */
    _Atomic uint32_t lane;                  /* for kernels launched from now on */
    uint32_t reserved0;
    /* Not 0: the queue gathers its commands, and the program opens `permitted` itself: at this command, where a thread
     * waits, or where the stream takes no more. It rings then. */
    _Atomic uint64_t gathers_to;
    _Atomic uint64_t rings_at;              /* then it rings at this command, too */
    uint64_t reserved[2];
};

_Static_assert(sizeof(struct xs_client_cell) == 2 * XS_CACHE_LINE, "two lines");
_Static_assert(sizeof(struct xs_server_cell) == XS_CACHE_LINE, "one line");
_Static_assert(sizeof(struct xs_server_header) == 2 * XS_CACHE_LINE, "two lines");
_Static_assert(offsetof(struct xs_client_header, owner_tid) == XS_CACHE_LINE, "a line of its own");
_Static_assert(offsetof(struct xs_client_header, bell_count) == 2 * XS_CACHE_LINE, "a line of its own");
_Static_assert(sizeof(struct xs_client_header) == 3 * XS_CACHE_LINE + 8 * XS_BELL_SLOTS, "no holes");

struct xs_client_page {
    struct xs_client_header h;
    struct xs_client_cell cells[XS_PAGE_QUEUES];
};

struct xs_server_page {
    struct xs_server_header h;
    struct xs_server_cell cells[XS_PAGE_QUEUES];
};

#define XS_WAITED(number, flags) ((uint64_t)(number) << 2 | (flags))
#define XS_WAITED_NUMBER(word)   ((uint64_t)(word) >> 2)
#define XS_WAITED_LAST   1ull    /* no other commands had entered as it began */
#define XS_WAITED_HELPER 2ull    /* by a thread that submits none */

#define XS_GRAPHS(number, count) ((uint64_t)(number) << 16 | (uint16_t)(count))
#define XS_GRAPHS_NUMBER(word)   ((uint64_t)(word) >> 16)
#define XS_GRAPHS_COUNT(word)    ((uint16_t)(word))

#define XS_LENT(number, priority) ((uint64_t)(number) << 16 | (uint16_t)(int16_t)(priority))
#define XS_LENT_NUMBER(word)      ((uint64_t)(word) >> 16)
#define XS_LENT_PRIORITY(word)    ((int32_t)(int16_t)(uint16_t)(word))

/** Lease: a closed word is void when the scheduler has not renewed the lease for this long; it
 *  renews every XS_LEASE_TICK_NS while any word of that page is closed. A waiter looks at the
 *  lease at least every XS_LEASE_TICK_NS. */
#define XS_LEASE_NS      (500ull * 1000000ull)
#define XS_LEASE_TICK_NS (100ull * 1000000ull)

/** Rings for cell `index`: any thread of the process. The caller signals the eventfd when this
 *  returns true. */
static inline bool xs_page_ring(struct xs_client_page *cp, struct xs_server_page *sp, uint32_t index)
{
    uint64_t k = atomic_fetch_add_explicit(&cp->h.bell_count, 1, memory_order_seq_cst);

    atomic_store_explicit(&cp->h.bell[k % XS_BELL_SLOTS], (k + 1) << 16 | index, memory_order_seq_cst);
    /* seq_cst pairs with the scheduler's: asleep = 1; then looks at bell_count again */
    return atomic_load_explicit(&sp->h.asleep, memory_order_seq_cst) != 0;
}

#endif
