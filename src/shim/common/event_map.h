/* SPDX-License-Identifier: Apache-2.0 */
/* On which queue the program recorded an event, and how far that queue was, for threads and streams that wait
 * for the event. A table of fixed size without locks that may forget. XSched does not see the dependency on a
 * forgotten event (ARCHITECTURE.md, invariant 10). */
#ifndef XS_SHIM_COMMON_EVENT_MAP_H
#define XS_SHIM_COMMON_EVENT_MAP_H

#include "xqueue/interface.h"

struct xs_event_mark {
    struct xs_queue *queue;
    uint64_t number;              /* complete once that many commands of the queue are */
};

/** The program recorded the event on q when `number` commands had come back. Any thread. */
void xs_event_recorded(const void *event, struct xs_queue *q, uint64_t number);
/** Another process records the event. */
void xs_event_foreign(const void *event);
bool xs_event_is_foreign(const void *event);
/** The program destroyed it, or recorded it where no queue is. */
void xs_event_forget(const void *event);
/** @return false: unknown, or the queue is gone */
bool xs_event_find(const void *event, struct xs_event_mark *ret);

#endif
