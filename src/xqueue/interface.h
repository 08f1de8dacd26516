/* SPDX-License-Identifier: Apache-2.0 */
/* What libhal* and libshim* need of libpreempt: symbols xsched_priv_* in the version node
 * XSCHED_PRIVATE. Not for programs.
 *
 * The way of one command through a shim:
 *
 *   q = xsched_priv_queue_find(platform, stream);      NULL: unscheduled, call the vendor
 *   xsched_priv_submit_begin(q, key, flags, &t);       looks at the gate, may sleep
 *   err = vendor call                                   in the caller's thread, nothing held
 *   xsched_priv_submit_end(&t, err == ok, self_marked); counts, asks for a mark now and then
 */
#ifndef XS_XQUEUE_INTERFACE_H
#define XS_XQUEUE_INTERFACE_H

#include "base/xs_base.h"

#include "xsched/types.h"

#pragma GCC visibility push(default)

struct xs_queue;   /* an XQueue; storage is never unmapped, so a stale pointer is harmless */

#define XS_HAL_ABI 1u

/** What a platform can do with one hardware queue. Called in application threads, in the worker of
 *  deferred commands or in a marker (marker.h), never in the control thread, nor from inside a
 *  call that the vendor makes to us, and with no lock of ours held. `hw` is what
 *  xsched_priv_hwq_create was given. */
struct xs_hal_ops {
    uint32_t abi;                 /* XS_HAL_ABI */
    uint32_t size;                /* sizeof(struct xs_hal_ops) of the writer */
    int platform;                 /* XPlatform */
    const char *name;             /* "OpenCL" */
    uint32_t levels;              /* bit l: XPreemptLevel l works; bit 1 always */
    /** Blocks until everything launched is complete. */
    XResult (*synchronize)(void *hw);
    /** Appends a completion mark to the stream; when it completes,
     *  xsched_priv_completed(q, number) is called. Never blocks.
     *  @return false when it may not now (capturing, destroyed) or failed */
    bool (*mark)(void *hw, struct xs_queue *q, uint64_t number);
    /** Around the callback of a command: makes the stream's context current and puts back the
     *  old one. May be NULL. */
    XResult (*enter)(void *hw, void **ret_saved);
    void (*leave)(void *hw, void *saved);
    /** The hardware queue is forgotten. May be NULL. */
    void (*release)(void *hw);
    /** A mark is a write of `number` by the device to xsched_priv_mark_word(q), in stream order;
     *  nobody calls xsched_priv_completed for it, and marks are asked for one at a time. */
    bool device_marks;
    /** `mark` may be called in a thread of libpreempt's own, at any time, while the program uses the
     *  stream: it keeps the vendor's object from being destroyed until it returns, or returns
     *  false. Otherwise marks come from threads that submit or wait only. */
    bool marks_from_outside;
    /** Level 2: puts "wait until *word >= number" into the stream, for the device to obey. `serial`
     *  names this use of the word's address: with another one the memory there is another.
     *  @return 1 done, 0 not now (capturing, destroyed, another thread's), -1 never on this stream */
    int (*gate)(void *hw, _Atomic uint64_t *word, uint64_t serial, uint64_t number);
    /** What stands in the streams that share a way to the device with this one; NULL: no level 2.
     *  The same as long as the process lives. */
    struct xs_ctx_entries *(*ctx_entries)(void *hw);
    /** Bit l: who asks for the highest level may be given XPreemptLevel l; level 1 always. */
    uint32_t auto_levels;
};

/** Entries that stand in the streams of one context and are not known to be done: commands, gates
 *  and marks of queues with gates. A driver takes so many and then blocks, with a lock of the whole
 *  context held, so who would be one too many waits outside. Any thread of the process adds. */
struct xs_ctx_entries {
    _Alignas(XS_CACHE_LINE) _Atomic int64_t out;
};

/** Makes a hardware queue for a vendor stream, or finds the one that it has (*ret_created tells;
 *  then `hw` was not taken over). @param native  the stream's handle, unique within the platform, not 0 */
XResult xsched_priv_hwq_create(const struct xs_hal_ops *ops, uint64_t native, void *hw, XDevice device,
                               HwQueueHandle *ret, bool *ret_created);
/** 0 when the stream has none. */
HwQueueHandle xsched_priv_hwq_find(int platform, uint64_t native);
/** The stream is about to be destroyed by the program: its XQueue opens, is removed without
 *  waiting, and the hardware queue is forgotten. Unknown: nothing happens. */
void xsched_priv_hwq_gone(int platform, uint64_t native);

/** The program's calls of this platform reach a shim. Any thread, once or more.
 *  @param by_path  it was loaded from LIBDIR itself, not from LIBDIR/xsched */
void xsched_priv_shim_here(int platform, bool by_path);

/** True when every stream is to get an XQueue (XSCHED_AUTO_XQUEUE, XSCHED_PRIORITY). */
bool xsched_priv_auto(void);
/** Gives the hardware queue an XQueue with the values of the environment.
 *  @param priority_offset  added to the priority (vendor stream priorities) */
XResult xsched_priv_auto_queue(HwQueueHandle hwq, int32_t priority_offset);

/** The XQueue of a stream, or NULL. Any thread; a cached look-up, no lock. */
struct xs_queue *xsched_priv_queue_find(int platform, uint64_t native);
/** The same where another thread of the program may destroy the stream meanwhile: what the caller does with the queue until
 *  xsched_priv_queue_let_go, or until the end of a wait that it begins before that, is done to this one. */
struct xs_queue *xsched_priv_queue_pin(int platform, uint64_t native);

struct xs_ticket {
    struct xs_queue *queue;
    uint64_t returned_before;     /* the queue's count as the call began */
    uint64_t key;
    uint32_t est_ns;
    uint32_t flags;               /* XS_SUBMIT_* */
    uint64_t collective, collective_before; /* XS_SUBMIT_COLLECTIVE: its number, and of the last one before it */
    bool mark;                    /* this command should be marked: see submit_end */
    bool weighed;                 /* it counts in the room of its context */
    bool inside;                  /* xsched_priv_inside_begin was called for it */
    bool padding;                 /* so that one store clears the four */
    uint32_t code;                /* with `inside`: of estimate.h, before the call */
    uint32_t lane;                /* XS_LANE_* of wire/page.h: where the scheduler wants a kernel to run */
};

enum {
    XS_SUBMIT_PASS = 1u,          /* count it, never sleep (inside a capture, a callback of the vendor, a group) */
    XS_SUBMIT_NO_MARK = 2u,       /* nothing may be appended to the stream now */
    XS_SUBMIT_COLLECTIVE = 4u,    /* a kernel that waits for others like it, in other queues or processes */
    XS_SUBMIT_WHOLE = 16u,        /* kernels that cannot be confined to a lane */
    XS_SUBMIT_OUTSIDE = 8u,       /* its call may wait for the device: it has its turn before the vendor, at no gate */
    XS_SUBMIT_LOADED = 32u,       /* its call loads no code, whatever its key */
};

/** Before the vendor call. Sleeps while the queue is held or too much is in flight (a raw futex
 *  with a time limit). @param key  commands with the same key take about the same device time
 *  (kernel and size); 0: unknown */
void xsched_priv_submit_begin(struct xs_queue *q, uint64_t key, uint32_t flags, struct xs_ticket *t);

/** After the vendor call.
 *  @param ok           false: the vendor refused it, nothing was launched
 *  @param self_marked  the shim watches this command's own completion and will report
 *                      *ret_number with xsched_priv_completed; else, if t->mark, the platform's
 *                      mark operation is called from here
 *  @return the number to report; valid with self_marked; the queue is held alive until it is reported */
uint64_t xsched_priv_submit_end(struct xs_ticket *t, bool ok, bool self_marked);

/** The command of this ticket stands in the stream with so many entries more than its own (level 2 counts them). Between
 *  xsched_priv_submit_begin and _end. */
void xsched_priv_submit_weighs(struct xs_ticket *t, uint32_t entries);
/** For a ticket whose kernel cannot run on the lane that the scheduler wants. Sleeps until the kernel may leave
 *  the lane (submit/whole.c), or until the queue has the whole device. While the queue has a lane, no other
 *  queue may wait for this kernel. Between xsched_priv_submit_begin and _end. */
void xsched_priv_submit_whole(struct xs_ticket *t);
/** The lanes of a queue, as xs_client_cell.lanes has them: a scheduler may use them from now on. Any thread. */
void xsched_priv_queue_lanes(struct xs_queue *q, uint32_t lanes);

/** The first `number` returned commands are complete. Any thread, also the vendor's; wakes
 *  sleepers, never blocks. */
void xsched_priv_completed(struct xs_queue *q, uint64_t number);
/** Where the device writes the numbers of marks (ops.device_marks): 8 bytes of the client page, at
 *  one place as long as the queue lives. Nothing else is written there while it does. */
_Atomic uint64_t *xsched_priv_mark_word(struct xs_queue *q);
/** Until the second, called as often as the first, the queue's storage is not used again: for marks that another thread
 *  writes there in the device's place. Any thread. */
void xsched_priv_queue_hold(struct xs_queue *q);
void xsched_priv_queue_let_go(struct xs_queue *q);
/** Names this use of the queue's storage. 0: the queue is gone. */
uint64_t xsched_priv_queue_id(struct xs_queue *q);
/** Its stream is about to be destroyed by this thread, which may put something into it yet: a gate that no mark tells of
 *  gets one, since the storage is not used again before the last one is known to be passed. */
void xsched_priv_queue_ends(struct xs_queue *q);
/** This context is gone, and its device writes no further mark there: that goes for its forgotten queues, also for those
 *  of streams that the program had destroyed before. Until then, or until the last mark is seen, the storage of such a
 *  queue is not used again. */
void xsched_priv_marks_void(const struct xs_ctx_entries *context);
/** The same for a mark that will never complete (its command failed, the context died). */
void xsched_priv_mark_lost(struct xs_queue *q, uint64_t number);

/** Around a vendor call that waits for the queue: it must not be held for something less
 *  important than the waiter meanwhile; on success (all that was submitted before is complete)
 *  that is counted. */
uint64_t xsched_priv_wait_begin(struct xs_queue *q);
/** The same of a caller who may put something into the queue's stream: as xsched_priv_end_near. */
uint64_t xsched_priv_wait_begin_own(struct xs_queue *q);
void xsched_priv_wait_end(struct xs_queue *q, uint64_t began, bool all_complete);
/** The caller, who may put something into the queue's stream, is about to wait for its end or to record what tells of it, or
 *  found it busy. Puts a mark there if the scheduler wants to know and none in flight will tell; may call the vendor. Not
 *  before a question: a stream that was idle would not be. */
void xsched_priv_end_near(struct xs_queue *q);

/** Around a vendor call that may wait for all that the device has of a context while every other call on that
 *  context waits for this one (freeing memory, loading code): whatever stands behind gates in streams of this process
 *  when it begins goes on, held or not, and until it ends no further gate is put there; who is held waits outside.
 *  Any thread; nests.  @return whether to call _end afterwards */
bool xsched_priv_inside_begin(void);
void xsched_priv_inside_end(void);

/** For gates that the host opens (ops.gate), in a thread that does nothing else: sleeps until the command may start, the queue
 *  is another one by now, or the time is over. @param id  xsched_priv_queue_id
 *  @return whether its gate may be opened */
bool xsched_priv_gate_wait(struct xs_queue *q, uint64_t id, uint64_t number, uint64_t timeout_ns);
/** Whether all that was begun may run, and so many commands more. Any thread. */
bool xsched_priv_may_run(struct xs_queue *q, uint64_t more);
/** Sleeps until the next command of the queue is permitted, for so long at most or a little longer: for who may not be suspended
 *  for longer. Before xsched_priv_submit_begin. @return whether it is */
bool xsched_priv_permit_wait(struct xs_queue *q, uint64_t timeout_ns);

/** Code is about to be unloaded, or a context is about to end: what launches come next may have to load theirs, also under
 *  handles, and so keys, that were known before. Any thread. */
void xsched_priv_code_gone(void);

/** Whether a scheduler decides about single queues of this process, so that one of them may be held while another
 *  runs; else nothing of what follows is needed. A hint; owner: inherit.c. */
extern _Atomic uint32_t xsched_priv_intra;
/** Whether queues of this process may run beside more important ones of it, or of other processes. A hint likewise. */
extern _Atomic uint32_t xsched_priv_beside;
/** How many commands of the queue have come back from the vendor. */
uint64_t xsched_priv_returned(struct xs_queue *q);
/** How many were begun. */
uint64_t xsched_priv_entered(struct xs_queue *q);
/** The same, and a mark that will tell when they are complete. From a thread that may put something into the stream. */
uint64_t xsched_priv_milestone(struct xs_queue *q);
/** Something put into the waiter's stream waits on the device until the first `number` commands of q are complete:
 *  until then q is not held for anything less important than the waiter. Nothing is to be taken back. Any thread,
 *  no lock, no vendor call. */
void xsched_priv_waits_for(struct xs_queue *waiter, struct xs_queue *q, uint64_t number);
/** The same for something of this importance that is no queue, such as a thread (xsched_priv_thread_priority: that
 *  of the queue it used last) inside a call that waits for a whole context. */
void xsched_priv_lend(struct xs_queue *q, uint64_t number, int32_t priority);
int32_t xsched_priv_thread_priority(void);
/** The thread asked whether the first `number` commands are complete, and they are not. If it does nothing else for
 *  some milliseconds, it waits. */
void xsched_priv_polled(struct xs_queue *q, uint64_t number);

/** The program has kernels that wait for others like them (XS_SUBMIT_COLLECTIVE) and will launch some: whoever
 *  schedules knows it before the first. Any thread, once or more. */
void xsched_priv_collectives_ahead(void);
/** The program opened memory of another process: any of its kernels may wait for kernels there. Any thread, once for each
 *  opening. */
void xsched_priv_peer_memory(void);

/** The device memory that the program has, and may have, over all devices; shown by xserver. It stores and takes no lock: one
 *  caller at a time. */
void xsched_priv_memory(uint64_t used_bytes, uint64_t limit_bytes);

/** The program was given a function that no table of ours knows: it is listed for `xsched doctor`. Any thread, no lock.
 *  @param version  of the function, as the program asked for it; 0: it has none
 *  @param works    it hands over work or begins a capture */
void xsched_priv_unseen(const char *function, int version, bool works);
/** All queues of the platform are at level 1 from now on. The caller has taken the other levels out of its
 *  xs_hal_ops.levels, so that none gets them again. Any thread; takes state.lock. */
void xsched_priv_level1_only(int platform);

/** Counts of this process, for traces and tests: commands that took the scheduled path. */
uint64_t xsched_priv_scheduled_count(void);

union xs_msg;   /* wire/wire.h */
/** What a scheduler outside may be given to interrupt this process with (level 3): descriptors
 *  and handles, told over the socket at each change. Called in the control thread: no vendor
 *  function, no allocation, no waiting for a lock. */
struct xs_interrupt_ops {
    uint32_t abi;                 /* XS_HAL_ABI */
    uint32_t size;                /* sizeof(struct xs_interrupt_ops) of the writer */
    /** Changes whenever what packet() says does. */
    uint32_t (*generation)(void);
    /** The index-th message of all that there is to tell, and the descriptors that go with it.
     *  @return how many descriptors (at most 2), -ENOENT (no more), -EAGAIN (later, from the start) */
    int (*packet)(uint32_t index, union xs_msg *ret, int *ret_id, int ret_fds[2]);
    /** The scheduler is gone: whatever it did is undone. @return false: call again soon */
    bool (*restore)(void);
    /** The protocol minor of a server that knows these messages. */
    uint32_t server_minor;
    /* Where the process itself must do what the scheduler decides, else NULL: */
    /** The server says this. Other messages come too. */
    void (*told)(const union xs_msg *m, uint64_t now_ns);
    /** Does what was said; after each message and when it is time. May take as long as the kernel's driver does.
     *  @return when to call again at the latest, UINT64_MAX: no need */
    uint64_t (*due)(uint64_t now_ns);
    /** What to tell the server of it. @return false: nothing */
    bool (*report)(union xs_msg *ret, int *ret_id);
};
/** Once for each platform; ops stays. */
void xsched_priv_interrupt_ops(const struct xs_interrupt_ops *ops);
/** Something changed: wakes the control thread, if there is one. Any thread. */
void xsched_priv_interrupt_changed(void);

/* The shims' share of one thread-local word: depth of calls that are already being handled, so
 * that a layer under a preload shim, or one platform implemented over another, acts once. */
int xsched_priv_depth(void);
void xsched_priv_depth_add(int delta);

/** An object that implements a platform over another one, such as a HIP runtime that is a client of OpenCL: what its
 *  code calls, in whatever thread, is part of a command that is handled already. For good; any thread. */
void xsched_priv_implementer_add(uintptr_t from, uintptr_t to);
/** How many there are. A hint; owner: implementer.c. */
extern _Atomic uint32_t xsched_priv_implementers;
/** @param code  NULL: a caller that cannot be told, which then is one */
bool xsched_priv_is_implementer(const void *code);

#pragma GCC visibility pop

#endif
