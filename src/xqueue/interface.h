/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libpreempt for libhal* and libshim*: symbols xsched_priv_* in the version node
 * XSCHED_PRIVATE. Not for programs.
 *
 * The way of one command through a shim:
 *
 *   q = xsched_priv_queue_find(platform, stream);      NULL: unscheduled, call the vendor
 *   xsched_priv_submit_begin(q, key, flags, &t);       looks at the permit, may sleep
 *   err = vendor call                                   in the caller's thread, without a lock
 *   xsched_priv_submit_end(&t, err == ok, self_marked); counts, adds a mark now and then
 */
#ifndef XS_XQUEUE_INTERFACE_H
#define XS_XQUEUE_INTERFACE_H

#include "base/xs_base.h"

#include "xsched/types.h"

#pragma GCC visibility push(default)

struct xs_queue;   /* an XQueue; its storage stays mapped for ever, so a stale pointer is harmless */

#define XS_HAL_ABI 1u

/** The operations of a platform on one hardware queue. libpreempt calls them in application threads, in the
 *  worker of deferred commands or in a marker (marker.h), with no lock of ours held. It never calls them in
 *  the control thread, nor from inside a call that the vendor makes to us. `hw` is the caller's argument of
 *  xsched_priv_hwq_create. */
struct xs_hal_ops {
    uint32_t abi;                 /* XS_HAL_ABI */
    uint32_t size;                /* sizeof(struct xs_hal_ops) of the writer */
    int platform;                 /* XPlatform */
    const char *name;             /* "OpenCL" */
    uint32_t levels;              /* bit l: XPreemptLevel l works; bit 1 always */
    /** Blocks until all launched commands are complete. */
    XResult (*synchronize)(void *hw);
    /** Appends a completion mark to the stream; when it completes, the platform calls
     *  xsched_priv_completed(q, number). Never blocks.
     *  @return false when it may not now (capturing, destroyed) or failed */
    bool (*mark)(void *hw, struct xs_queue *q, uint64_t number);
    /** Around the callback of a command: makes the stream's context current and puts back the
     *  old one. May be NULL. */
    XResult (*enter)(void *hw, void **ret_saved);
    void (*leave)(void *hw, void *saved);
    /** The process forgets the hardware queue. May be NULL. */
    void (*release)(void *hw);
    /** A mark is a write of `number` by the device to xsched_priv_mark_word(q), in stream order. Then nothing
     *  calls xsched_priv_completed for it, and libpreempt puts one mark at a time. */
    bool device_marks;
    /** libpreempt may call `mark` in a thread of its own, at any time, while the program uses the stream.
     *  Then
     *  `mark` keeps the vendor's object from destruction until it returns, or returns false. Without
     *  this, only threads that submit or wait put marks. */
    bool marks_from_outside;
    /** Level 2: puts "wait until *word >= number" into the stream; the device obeys it. `serial` names this
     *  use of the word's address: with another serial, other memory is at that address.
     *  @return 1 done, 0 not
     *  now (capturing, destroyed, another thread's), -1 never on this stream */
    int (*gate)(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
    /** The entries in the streams that share a way to the device with this one; NULL: no level 2. The same as
     *  long as the process lives. */
    struct xs_ctx_entries *(*ctx_entries)(void *hw);
    /** Bit l: a program that wants the highest level may get XPreemptLevel l; level 1 always. */
    uint32_t auto_levels;
};

/** Entries in the streams of one context that are not known to be complete: commands, gates and marks of
 *  queues with gates. A driver takes so many and then blocks, with a lock of the whole context held. So a
 *  thread whose entry would be one too many waits outside the driver. Any thread of the process adds. */
struct xs_ctx_entries {
    _Alignas(XS_CACHE_LINE) _Atomic int64_t out;
    /* So many streams of the context have a connection to the device to themselves (crowded.h); 0: any number. The
     * platform sets it before the first queue; constant. */
    uint32_t connections;
    uint32_t queues;              /* of these streams; under state.lock */
    bool crowded;                 /* too many, or there were until lately; likewise */
};

/** Makes a hardware queue for a vendor stream, or finds the one that it has: then *ret_created is false, and
 *  the caller keeps `hw`. @param native  the stream's handle, unique within the platform, not 0 */
XResult xsched_priv_hwq_create(const struct xs_hal_ops *ops, uint64_t native, void *hw, XDevice device,
                               HwQueueHandle *ret, bool *ret_created);
/** 0 when the stream has none. */
HwQueueHandle xsched_priv_hwq_find(int platform, uint64_t native);
/** The program destroys this stream next. Resumes its XQueue, removes it without a wait, and forgets the
 *  hardware queue. Does nothing for an unknown stream. */
void xsched_priv_hwq_gone(int platform, uint64_t native);

/** The program's calls of this platform reach a shim. Any thread, once or more.
 *  @param by_path  the program loaded the shim from LIBDIR itself, not from LIBDIR/xsched */
void xsched_priv_shim_here(int platform, bool by_path);

/** True when every stream gets an XQueue (XSCHED_AUTO_XQUEUE, XSCHED_PRIORITY). */
bool xsched_priv_auto(void);
/** Gives the hardware queue an XQueue with the values of the environment.
 *  @param priority_offset  added to the priority (vendor stream priorities) */
XResult xsched_priv_auto_queue(HwQueueHandle hwq, int32_t priority_offset);
/** Sets the hint with that number of base/settings/hints.def: for the Python package. Any thread, any time. A hint with further
 *  fields keeps those. */
XResult xsched_priv_hint(XQueueHandle xq, int32_t number, int64_t value);

/** The XQueue of a stream, or NULL. Any thread; a cached look-up, no lock. */
struct xs_queue *xsched_priv_queue_find(int platform, uint64_t native);
/** The same where another thread of the program may destroy the stream meanwhile. Keeps the queue until
 *  xsched_priv_queue_let_go, or until the end of a wait that the caller begins before that: the caller's
 *  calls on it go to this queue. */
struct xs_queue *xsched_priv_queue_pin(int platform, uint64_t native);

struct xs_ticket {
    struct xs_queue *queue;
    uint64_t returned_before;     /* the queue's count as the call began */
    uint64_t key;
    uint32_t est_ns;
    uint32_t flags;               /* XS_SUBMIT_* */
    uint64_t collective, collective_before; /* XS_SUBMIT_COLLECTIVE: its number, and of the last one before it */
    bool mark;                    /* give this command a mark: see submit_end */
    bool weighed;                 /* it is among the entries of its context */
    bool inside;                  /* xsched_priv_inside_begin ran for it */
    bool padding;                 /* so that one store clears the four */
    uint32_t code;                /* with `inside`: of estimate.h, before the call */
    uint32_t lane;                /* XS_LANE_* of wire/page.h: where the scheduler wants a kernel to run */
};

enum {
    XS_SUBMIT_PASS = 1u,          /* count it, never sleep (in a capture, a vendor's callback, a group) */
    XS_SUBMIT_NO_MARK = 2u,       /* the caller may not append to the stream now */
    XS_SUBMIT_COLLECTIVE = 4u,    /* a kernel that waits for others like it, in other queues or processes */
    XS_SUBMIT_WHOLE = 16u,        /* kernels that cannot run on a lane */
    XS_SUBMIT_OUTSIDE = 8u,       /* its call may wait for the device: it waits before it, at no gate */
    XS_SUBMIT_LOADED = 32u,       /* its call loads no code, with any key */
    XS_SUBMIT_GRAPH = 128u,       /* a graph of many kernels */
    XS_SUBMIT_OURS = 64u,         /* no command of the program: a wait that counts as a command of its own */
};

/* Keys of commands that take no time of the device, however long they last; other keys are odd. */
enum {
    XS_KEY_HOST_FUNCTION = 2u,    /* the host runs a function */
    XS_KEY_AWAITS = 4u,           /* a wait for the host, or for another process; perhaps for this very thread */
};

/** Before the vendor call. Sleeps while the queue is suspended or too much is in flight (a raw futex with a
 *  time limit). @param key  commands with the same key take about the same device time (kernel and size); 0:
 *  unknown; XS_KEY_HOST_FUNCTION, XS_KEY_AWAITS: with XS_SUBMIT_PASS */
void xsched_priv_submit_begin(struct xs_queue *q, uint64_t key, uint32_t flags, struct xs_ticket *t);

/** After the vendor call.
 *  @param ok           false: the vendor refused the command and launched nothing
 *  @param self_marked  the shim watches this command's own completion and will report *ret_number with
 *  xsched_priv_completed; else, if t->mark, this function calls the platform's mark operation
 *  @return the number for that report; valid with self_marked; the queue's storage stays until the report */
uint64_t xsched_priv_submit_end(struct xs_ticket *t, bool ok, bool self_marked);

/** The command of this ticket stands in the stream with so many entries more than its own (level 2 counts
 *  them). Between xsched_priv_submit_begin and _end. */
void xsched_priv_submit_weighs(struct xs_ticket *t, uint32_t entries);
/** For a ticket whose kernel cannot run on the lane that the scheduler wants. Sleeps until the kernel may
 *  leave the lane (submit/whole.c), or until the queue has the whole device. While the queue has a lane, no
 *  other queue may wait for this kernel. Between xsched_priv_submit_begin and _end. */
void xsched_priv_submit_whole(struct xs_ticket *t);
/** The lanes of a queue, as xs_client_cell.lanes has them: a scheduler may use them from now on. Any
 *  thread.
 *  @param multiprocessors  of the whole device */
void xsched_priv_queue_lanes(struct xs_queue *q, uint32_t lanes, uint32_t multiprocessors);

/** The first `number` returned commands are complete. Any thread, also the vendor's; wakes
 *  sleepers, never blocks. */
void xsched_priv_completed(struct xs_queue *q, uint64_t number);
/** Where the device writes the numbers of marks (ops.device_marks): 8 bytes of the client page, at one place
 *  as long as the queue lives. Meanwhile only marks write there. */
_Atomic uint64_t *xsched_priv_mark_word(struct xs_queue *q);
/** hold takes a reference to the queue's storage, which then gets no new use. let_go drops that one, or the one of
 *  xsched_priv_queue_pin. Any thread. */
void xsched_priv_queue_hold(struct xs_queue *q);
void xsched_priv_queue_let_go(struct xs_queue *q);
/** Names this use of the queue's storage. 0: the queue is gone. */
uint64_t xsched_priv_queue_id(struct xs_queue *q);
/** This thread destroys the queue's stream next, and may still put something into it. If a gate there has no
 *  mark behind it, puts one: the storage gets a new use only when the last gate is known to be complete. */
void xsched_priv_queue_ends(struct xs_queue *q);
/** This context is gone, and its device writes no further mark there. That is also true of forgotten queues,
 *  such as those of streams that the program had destroyed before. Until this call, or until the last mark
 *  arrives, the storage of such a queue gets no new use. */
void xsched_priv_marks_void(const struct xs_ctx_entries *context);
/** The same for a mark that will never complete (its command failed, the context died). */
void xsched_priv_mark_lost(struct xs_queue *q, uint64_t number);

/** Around a vendor call that waits for the queue: meanwhile no scheduler suspends it for something less
 *  important than the waiter. On success all commands that the program submitted before are complete, and
 *  _end counts them. */
uint64_t xsched_priv_wait_begin(struct xs_queue *q);
/** The same for a caller that may put something into the queue's stream: as xsched_priv_end_near. */
uint64_t xsched_priv_wait_begin_own(struct xs_queue *q);
/** The same for a caller that waits for the first `number` commands alone, at an event. */
void xsched_priv_wait_begin_for(struct xs_queue *q, uint64_t number);
void xsched_priv_wait_end(struct xs_queue *q, uint64_t began, bool all_complete);
/** The caller may put something into the queue's stream. It waits for the stream's end next, or records an
 *  event there, or found it busy. Puts a mark there if the scheduler needs one and no mark in flight will
 *  tell of the end; may call the vendor. Do not call it before a query: the mark would make an idle stream
 *  busy. */
void xsched_priv_end_near(struct xs_queue *q);

/** Around a vendor call that may wait for all work of a context, while every other call on that context waits
 *  for this one (freeing memory, loading code). When it begins, all commands behind gates in streams of this
 *  process go on, suspended or not. Until it ends, no thread puts a further gate there, and commands of
 *  suspended queues wait outside. Any thread; nests.  @return whether to call _end afterwards */
bool xsched_priv_inside_begin(void);
void xsched_priv_inside_end(void);

/** The device has no command of this process: those that count as in flight wait in their calls, and begin now at the
 *  earliest. So the time until now is not theirs. Any thread. */
void xsched_priv_work_begins(void);

/** For gates that the host opens (ops.gate), in a thread that does nothing else. Sleeps until the command may
 *  start, the storage belongs to another queue, or the time is over. @param id  xsched_priv_queue_id
 *  @return whether its gate may open */
bool xsched_priv_gate_wait(struct xs_queue *q, uint64_t id, uint64_t number, uint64_t timeout_ns);
/** Whether all begun commands may run, and so many more. Any thread. */
bool xsched_priv_may_run(struct xs_queue *q, uint64_t more);
/** Sleeps until the next command of the queue is permitted, at most for timeout_ns or a little longer: for
 *  callers that must not sleep longer. Before xsched_priv_submit_begin. @return whether it is permitted */
bool xsched_priv_permit_wait(struct xs_queue *q, uint64_t timeout_ns);

/** The program unloads code, or ends a context, next. Later launches may have to load their code, also under
 *  handles, and so keys, that we knew before. Any thread. */
void xsched_priv_code_gone(void);

/** Whether a scheduler decides about single queues of this process, so that it may suspend one while another
 *  runs. If not, the calls below change nothing. A hint; owner: inherit.c. */
extern _Atomic uint32_t xsched_priv_intra;
/** Whether queues of this process may run beside more important ones of it, or of other processes: XS_BESIDE_*. A
 *  hint likewise. */
extern _Atomic uint32_t xsched_priv_beside;
enum {
    XS_BESIDE_LANES = 1u,         /* on lanes, which the platform makes */
    XS_BESIDE_WAITS = 2u,         /* the scheduler wants to know for how long threads wait */
};
/** Whether a scheduler follows the waits of this process (XS_ARMED_WAITS). A hint likewise. */
extern _Atomic uint32_t xsched_priv_follows;
/** How many commands of the queue have come back from the vendor. */
uint64_t xsched_priv_returned(struct xs_queue *q);
/** How many commands of the queue have begun. */
uint64_t xsched_priv_entered(struct xs_queue *q);
/** The same, and puts a mark that will tell when they are complete. From a thread that may put something into
 *  the stream. */
uint64_t xsched_priv_milestone(struct xs_queue *q);
/** An entry of the waiter's stream waits on the device until the first `number` commands of q are complete.
 *  Until then no scheduler suspends q for anything less important than the waiter. No call has to take this
 *  back. Any thread, no lock, no vendor call. */
void xsched_priv_waits_for(struct xs_queue *waiter, struct xs_queue *q, uint64_t number);
/** The same for a waiter of this priority that is no queue, such as a thread inside a context-blocking call
 *  (xsched_priv_thread_priority: the priority of the queue that it used last). */
void xsched_priv_lend(struct xs_queue *q, uint64_t number, int32_t priority);
int32_t xsched_priv_thread_priority(void);
/** An entry of the waiter's stream that does not count as a command waits for another stream next. That time is
 *  not the waiter's own. Any thread. */
void xsched_priv_waits_elsewhere(struct xs_queue *waiter);
/** The same of a command that may wait for this very thread, where a wait of its own would hold others: some of the
 *  commands after it pass the bound until something completes. Before xsched_priv_submit_begin. */
void xsched_priv_waits_for_host(struct xs_queue *waiter);
/** The program lets something go on for which commands of its queues on the platform may wait, in a way that the shim does
 *  not see. So what they took up to now is an upper limit alone, and the next threads do not wait for the bound. Before the
 *  vendor call. Any thread. */
void xsched_priv_host_lets_go(int platform);
/** Whether one of the first `number` commands of the queue has XS_KEY_AWAITS and is not known to be complete: an
 *  entry of another stream that waits for them waits for the host, too. Submit it as a command with that key, and
 *  with XS_SUBMIT_OURS. */
bool xsched_priv_awaits(struct xs_queue *q, uint64_t number);
/** Whether the program has submitted a command with that key, so that the answer can be yes. A hint; owner:
 *  submit.c. */
extern _Atomic uint32_t xsched_priv_awaiting;
/** The thread asked whether the first `number` commands are complete, and they are not. If it does nothing
 *  else for some milliseconds, it waits. */
void xsched_priv_polled(struct xs_queue *q, uint64_t number);

/** The program has kernels that wait for others like them (XS_SUBMIT_COLLECTIVE) and will launch some. Tells
 *  the scheduler before the first one. Any thread, once or more. */
void xsched_priv_collectives_ahead(void);
/** The program opened memory of another process: any of its kernels may wait for kernels there. Any thread,
 *  once for each opening. */
void xsched_priv_peer_memory(void);

/** The device memory that the program has, and may have, over all devices; xserver shows it. It stores and
 *  takes no lock: one caller at a time. */
void xsched_priv_memory(uint64_t used_bytes, uint64_t limit_bytes);
/** Of it, what a scheduler can have moved to host memory (xs_interrupt_ops). Likewise. */
void xsched_priv_memory_movable(uint64_t bytes);

/** The program got a function that no table of ours has. Lists it for `xsched doctor`. Any thread, no lock.
 *  @param version  of the function, as the program requested it; 0: it has none
 *  @param works    it submits work or begins a capture */
void xsched_priv_unseen(const char *function, int version, bool works);
/** All queues of the platform are at level 1 from now on. The caller has taken the other levels out of its
 *  xs_hal_ops.levels, so that none gets them again. Any thread; takes state.lock. */
void xsched_priv_level1_only(int platform);

/** Counts of this process, for traces and tests: commands that took the scheduled path. */
uint64_t xsched_priv_scheduled_count(void);

union xs_msg;   /* wire/wire.h */
/** Descriptors and handles by which a scheduler outside may interrupt this process (level 3). The control
 *  thread sends them over the socket at each change. It calls these functions: no vendor call, no allocation,
 *  no wait for a lock. */
struct xs_interrupt_ops {
    uint32_t abi;                 /* XS_HAL_ABI */
    uint32_t size;                /* sizeof(struct xs_interrupt_ops) of the writer */
    /** Changes whenever the messages of packet() change. */
    uint32_t (*generation)(void);
    /** The index-th of all messages, and the descriptors that go with it.
     *  @return how many descriptors (at most 2), -ENOENT (no more), -EAGAIN (later, from the start) */
    int (*packet)(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2]);
    /** The scheduler is gone: undoes its interrupts. @return false: call again soon */
    bool (*restore)(void);
    /** The protocol minor of a server that knows these messages. */
    uint32_t server_minor;
    /* Where the process itself carries out the scheduler's decisions, else NULL: */
    /** The server says this. Other messages come too. */
    void (*told)(const union xs_msg *m, uint64_t now_ns);
    /** Carries out the messages; after each one and when it is time. May take as long as the kernel's driver
     *  does.
     *  @return when to call again at the latest, UINT64_MAX: no need */
    uint64_t (*due)(uint64_t now_ns);
    /** The report about it for the server. @return false: nothing to report */
    bool (*report)(union xs_msg *ret, int *ret_id);
    /* Where the process itself can confine its queues on a device to a part of it, else NULL: */
    /** @param ret_multiprocessors  those of the device
     *  @return the lanes of the queues there, as xs_client_cell.lanes; 0: not known, or another platform's device */
    uint32_t (*lanes)(XDevice device, uint32_t *ret_multiprocessors);
    /** A confined queue completed nothing for a second: its kernel may need the whole device. */
    void (*unfit)(void);
};
/** Once for each platform; ops stays valid. */
void xsched_priv_interrupt_ops(const struct xs_interrupt_ops *ops);
/** The process joins its scheduler, though it has no queue yet. Any thread; waits for nothing. */
void xsched_priv_join(void);
/** Something changed: wakes the control thread, if there is one. Any thread. */
void xsched_priv_interrupt_changed(void);

/** Level 3 of a kernel driver that serves several platforms. The shim that sees the driver's channel groups
 *  lends them to other platforms' queues. Any thread calls these functions; they may call the driver. */
struct xs_interrupt_lender {
    uint32_t abi;                 /* XS_HAL_ABI */
    uint32_t size;                /* sizeof(struct xs_interrupt_lender) of the writer */
    /** Whether the process has channel groups on this device that obey. */
    bool (*has)(XDevice device);
    /** A queue uses them: offers them to the scheduler outside. */
    void (*use)(void);
};
/** Once or more; the last one counts, and stays valid. Any thread, no lock. */
void xsched_priv_interrupt_lend(const struct xs_interrupt_lender *lender);
/** For a platform without a level 3 of its own, with a queue's device. @return whether its queue may have
 *  level 3 */
bool xsched_priv_interrupt_borrow(XDevice device);

/* The shims' share of one thread-local word: the depth of nested calls into shims. So a layer under a preload
 * shim, or one platform that another implements, acts once. */
int xsched_priv_depth(void);
void xsched_priv_depth_add(int delta);

/** An object that implements a platform over another one, such as a HIP runtime that is a client of OpenCL.
 *  The calls of its code, in any thread, belong to a command that a shim handles already. For good; any
 *  thread. */
void xsched_priv_implementer_add(uintptr_t from, uintptr_t to);
/** How many there are. A hint; owner: implementer.c. */
extern _Atomic uint32_t xsched_priv_implementers;
/** @param code  NULL: an unknown caller, which counts as one */
bool xsched_priv_is_implementer(const void *code);

#pragma GCC visibility pop

#endif
