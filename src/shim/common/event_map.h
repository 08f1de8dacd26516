/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue an event was recorded on, and how far that queue was: for who waits for the event. A table of
 * fixed size without locks that may forget: what it does not know is a dependency that nobody sees
 * (ARCHITECTURE.md, invariant 10). */
#ifndef XS_SHIM_COMMON_EVENT_MAP_H
#define XS_SHIM_COMMON_EVENT_MAP_H

#include "xqueue/interface.h"

struct xs_event_mark {
    struct xs_queue *queue;
    uint64_t number;              /* complete once that many commands of the queue are */
};

/** The event was recorded on q when `number` commands had come back. Any thread. */
void xs_event_recorded(const void *event, struct xs_queue *q, uint64_t number);
/** It was destroyed, or recorded where no queue is. */
void xs_event_forget(const void *event);
/** @return false: not known, or the queue is gone */
bool xs_event_find(const void *event, struct xs_event_mark *ret);

#endif
