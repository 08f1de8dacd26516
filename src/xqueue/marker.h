/* SPDX-License-Identifier: Apache-2.0 */
/* Marks put into streams from outside: by threads that do nothing else. */
#ifndef XS_MARKER_H
#define XS_MARKER_H

struct xs_queue;

/** Has the commands since the last mark get one, soon. From any thread, also the vendor's: calls no vendor
 *  function and waits for no thread. Does nothing on platforms where only the submitting thread may mark a
 *  stream. */
void xs_marker_want(struct xs_queue *q);
/** The scheduler sees this queue idle for a while, and no mark in flight will tell of its end. If no other
 *  thread may mark it and no thread waits for it in a call, that may be its program's habit: the pause earns
 *  marks for the next commands (submit/end_mark.c). Thread: the control thread. */
void xs_marker_end_missed(struct xs_queue *q);

#endif
