/* SPDX-License-Identifier: Apache-2.0 */
/* Platforms whose commands go to streams: which streams have a hardware queue, and where they belong.
 *
 * Each stream has a number (`native`). A created one has its handle, the null (legacy) stream of a context or
 * device an odd number. The default stream of a thread has the address of storage of ours, with bit 1 set. */
#ifndef XS_HAL_COMMON_STREAM_QUEUES_H
#define XS_HAL_COMMON_STREAM_QUEUES_H

#include "base/lock.h"
#include "base/map.h"
#include "xqueue/interface.h"

#define XS_GROUP_ORDERED 64u      /* beyond these, blocking streams of a context depend unseen */

struct xs_stream_group;

/** One stream that has a hardware queue; first member of the platform's record of it. The storage stays and
 *  gets new uses, so a late reader finds another stream and never nothing. */
struct xs_stream {
    _Atomic uint64_t native;      /* writer: its maker; stream_group.c also reads it in unused storage */
    uint64_t owner;               /* the thread of a per-thread stream, else 0 */
    _Atomic bool blocking;        /* ordered with the null stream of its group; the null stream itself: no */
    _Atomic bool gone;            /* the program has destroyed the stream, or does so now */
    _Atomic bool no_marks;        /* the device writes none: events tell of completion, or waits only */
    _Atomic bool no_gates;        /* likewise: level 1 */
    _Atomic(struct xs_queue *) mark_queue;  /* mark_at is for this one */
    uint64_t mark_at;             /* where the device writes marks */
    struct xs_stream_group *group;
    _Atomic uint64_t entered;     /* which hardware queue of the platform this is, counted from 1; 0: none yet */
    struct xs_stream *next;       /* in the group's list, or free */
};

/** Streams that belong together: of a context or of a device. Its storage stays. */
struct xs_stream_group {
    /* Lock 7: all of a group, and writes to `ordered`. The first command of a stream, and calls that wait
     * for a context, hold it. */
    struct xs_lock lock;
    struct xs_stream *streams;
    /* The null stream and the blocking ones, in any order, with gaps, for looks without the lock. XSched does
     * not see the dependencies of streams that do not fit. */
    _Atomic(struct xs_stream *) ordered[XS_GROUP_ORDERED];
    bool more;                    /* one did not fit; stays */
    /* values that xs_group_submitted saw last, and its answer */
    uint64_t submitted, marked_number;
    bool had_submitted;
};

/** All streams of a platform. */
struct xs_streams {
    int platform;                 /* XPlatform */
    size_t bytes;                 /* of the platform's own storage of one */
    struct xs_map by_native;
    /* Lock 5: changes of by_native, and free_list. The first command of a stream holds it, and the call
     * that ends it. */
    struct xs_lock lock;
    struct xs_stream *free_list;
    _Atomic(void (*)(void)) on_first;
    _Atomic bool any;
    _Atomic uint64_t entered;     /* hardware queues ever made */
    _Atomic uint32_t adopting;    /* threads that make a stream's XQueue at this moment */
    _Atomic uint32_t adopted;     /* changes whenever one of them has ended; futex */
    _Atomic uint64_t adopt_until_ns; /* no thread waits for them longer than until then */
};

/** Calls fn with the first hardware queue, at once if there is one already. One shim. */
void xs_streams_on_first(struct xs_streams *s, void (*fn)(void));

static inline bool xs_native_is_null(uint64_t native)
{
    return native & 1;
}

static inline uint64_t xs_stream_native(const struct xs_stream *st)
{
    return atomic_load_explicit(&st->native, memory_order_relaxed); /* see .native */
}

/** The number of the calling thread's default stream in a context (or in a runtime and on a device). 0: no
 *  memory */
uint64_t xs_native_of_thread(struct xs_streams *s, const void *context, int device);

/** NULL: it has no hardware queue. Another thread may still be making the one that this returns. */
struct xs_stream *xs_stream_find(struct xs_streams *s, uint64_t native);

/** Storage for a stream, with its number and owner alone. NULL: no memory.
 *  @param created  by the program; else a default stream */
struct xs_stream *xs_stream_new(struct xs_streams *s, uint64_t native, bool created);
/** Gives a filled one its hardware queue. Frees its storage on failure. */
XResult xs_stream_enter(struct xs_streams *s, struct xs_stream *st, struct xs_stream_group *g,
                        const struct xs_hal_ops *ops, XDevice device, HwQueueHandle *ret);
/** The automatic XQueue of a hardware queue; NULL: none. @param priority  of the vendor's stream: smaller is
 *  more urgent */
struct xs_queue *xs_stream_make_queue(struct xs_streams *s, HwQueueHandle handle, uint64_t native, int priority);
/** The XQueue of a stream that had none, where streams get one by themselves.
 *  @param make  makes the hardware queue and the XQueue, in this thread; NULL: it could not
 *
 *  If another thread makes it now, this one waits for that, at most 0.1 s after the last such attempt began:
 *  else no count would have its commands.
 *  @return NULL: it has none, since the program destroyed it or XSched could make none */
struct xs_queue *xs_stream_adopt(struct xs_streams *s, uint64_t native,
                                 struct xs_queue *(*make)(const void *api, void *stream, uint64_t native), const void *api,
                                 void *stream);
/** From now on the device writes marks of this queue there.
 *  @param at  0: the device cannot register the page, so it writes none, and later calls do not try again
 *  @return whether the device writes them */
bool xs_stream_marks_at(struct xs_stream *st, struct xs_queue *q, uint64_t at);
/** Marks of this queue are in force; the device writes them at `at`, or 0 where events take their place. */
void xs_stream_marks_to(struct xs_stream *st, struct xs_queue *q, uint64_t at);
/** libpreempt releases it: no thread calls an operation on it any more. */
void xs_stream_release(struct xs_streams *s, struct xs_stream *st);
/** Takes the stream of this number out of all tables; opens its queue. */
void xs_stream_forget(struct xs_streams *s, uint64_t native);
/** The same where it exists yet: this thread destroys it next. */
void xs_stream_ends(struct xs_streams *s, uint64_t native);
/** Whether the vendor's handle names a stream that a program created; 0 to 2 name default streams. */
static inline bool xs_stream_is_created(const void *stream)
{
    return (uintptr_t)stream > 2;
}

uint64_t xs_thread_id(void);

static inline bool xs_stream_of_other_thread(const struct xs_stream *st)
{
    return st->owner && st->owner != xs_thread_id();
}

/** Whether this thread may put something into it, captures aside. */
static inline bool xs_stream_here(const struct xs_stream *st)
{
    return !atomic_load_explicit(&st->gone, memory_order_relaxed) && !xs_stream_of_other_thread(st);
}

/* ---- stream_group.c ---- */

void xs_group_add(struct xs_stream_group *g, struct xs_stream *st);
void xs_group_remove(struct xs_stream_group *g, struct xs_stream *st);
/** Calls fn for the queues of the group, 64 at most. */
void xs_group_each_queue(struct xs_streams *s, struct xs_stream_group *g, void (*fn)(struct xs_queue *q, void *arg),
                         void *arg);
/** A command in the null stream waits for the blocking streams of its group, and the other way round: tells
 *  the scheduler for which commands this queue waits. Only where xsched_priv_intra. */
void xs_group_implicit(struct xs_streams *s, uint64_t native, struct xs_queue *q);
/** Before a mark of the null stream: whether blocking streams of the group have submitted anything since the
 *  last command of the null stream; true also when unknown. Any thread.
 *  @param number  of that command */
bool xs_group_submitted(struct xs_streams *s, struct xs_stream_group *g, uint64_t number);
/** For xs_group_each_queue: this thread waits for it next. */
void xs_group_inherit(struct xs_queue *q, void *none);

/** The program destroys the context of the group next: removes its streams and resumes their queues. After
 *  the destruction, the caller calls xsched_priv_marks_void. @return false: no memory, it did nothing */
bool xs_group_take(struct xs_streams *s, struct xs_stream_group *g);

#endif
