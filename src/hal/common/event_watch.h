/* SPDX-License-Identifier: Apache-2.0 */
/* Marks by events, where a device cannot write numbers: an event behind the command, and a thread that looks which
 * events are reached. It sleeps while there is none, calls nothing of the vendor's but the question, and waits
 * for nobody; a callback of the vendor's would stop the stream until a thread of the host has run. */
#ifndef XS_HAL_COMMON_EVENT_WATCH_H
#define XS_HAL_COMMON_EVENT_WATCH_H

#include "xqueue/interface.h"

/** Where events belong and end: a device or a context. First member of what the platform keeps of it; that stays. */
struct xs_watch_place {
    _Atomic int held;             /* its events are not asked for; writer: xs_watch_hold, xs_watch_go_on */
};

/** One platform's; constant. */
struct xs_watch_ops {
    const char *name;
    /** In the thread, first of all. @param place  of the first event. May be NULL */
    void (*begin)(const struct xs_watch_place *place);
    /** Never blocks. @return 0 reached, 1 not yet, -1 lost: the event is not used again */
    int (*ask)(const struct xs_watch_place *place, void *event);
    /** The mark is reached, or will never be. */
    void (*done)(struct xs_queue *q, uint64_t number, bool reached);
};

/** A row for a mark; starts the thread. Any thread.
 *  @param ret_event  one of this place's to be used again, or NULL: the caller makes one
 *  @return for xs_watch_set or xs_watch_give_back; -1: no row or no thread, the next one may have them */
int xs_watch_take(const struct xs_watch_ops *ops, struct xs_watch_place *place, void **ret_event);
/** The event stands in the stream: `done` will be called. */
void xs_watch_set(int row, void *event, struct xs_queue *q, uint64_t number);
/** It does not. @param event  NULL: there is none */
void xs_watch_give_back(int row, void *event);

/** Around what may end a place with all its events: none of them is asked for from the return of the first to the
 *  second. Waits for a question that is being asked, at most a second. */
void xs_watch_hold(struct xs_watch_place *place);
void xs_watch_go_on(struct xs_watch_place *place);
/** Between the two: its events are gone, marks in flight there are lost. */
void xs_watch_forget(const struct xs_watch_ops *ops, struct xs_watch_place *place);

#endif
