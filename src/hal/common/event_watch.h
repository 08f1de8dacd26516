/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events, where a device cannot write numbers: an event behind the command, and a thread that looks
 * which events the stream has reached. The thread sleeps while there is none, calls nothing of the vendor's
 * but the query, and waits for no other thread. A callback of the vendor's would stop the stream until a
 * thread of the host has run. */
#ifndef XS_HAL_COMMON_EVENT_WATCH_H
#define XS_HAL_COMMON_EVENT_WATCH_H

#include "xqueue/interface.h"

/** Where events belong and end: a device or a context. First member of the platform's record of it, which
 *  stays. */
struct xs_watch_place {
    _Atomic int held;             /* ask for none of its events; writer: xs_watch_hold, xs_watch_go_on */
};

/** One platform's; constant. */
struct xs_watch_ops {
    const char *name;
    /** In the thread, before anything else. @param place  of the first event. May be NULL */
    void (*begin)(const struct xs_watch_place *place);
    /** Never blocks. @return 0 reached, 1 not yet, -1 lost: the event gets no new use */
    int (*ask)(const struct xs_watch_place *place, void *event);
    /** The device has reached the mark, or never will. */
    void (*done)(struct xs_queue *q, uint64_t number, bool reached);
};

/** A row for a mark; starts the thread. Any thread.
 *  @param ret_event  an event of this place to use again, or NULL: the caller makes one
 *  @return for xs_watch_set or xs_watch_give_back; -1: no row or no thread, the next call may get them */
int xs_watch_take(const struct xs_watch_ops *ops, struct xs_watch_place *place, void **ret_event);
/** The event stands in the stream: the thread will call `done`. */
void xs_watch_set(int row, void *event, struct xs_queue *q, uint64_t number);
/** It does not. @param event  NULL: there is none */
void xs_watch_give_back(int row, void *event);

/** Around a call that may end a place with all its events: from the return of the first to the second, the
 *  thread asks for none of them. Waits for a query under way, at most a second. */
void xs_watch_hold(struct xs_watch_place *place);
void xs_watch_go_on(struct xs_watch_place *place);
/** Between the two: its events are gone, and so are marks in flight there. */
void xs_watch_forget(const struct xs_watch_ops *ops, struct xs_watch_place *place);

#endif
