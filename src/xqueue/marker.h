/* SPDX-License-Identifier: Apache-2.0 */
/* Marks put into streams from outside: by threads that do nothing else. */
#ifndef XS_MARKER_H
#define XS_MARKER_H

#include <stdatomic.h>
#include <stdint.h>

struct xs_queue;
struct xs_state;

/* A thread that puts marks into streams from outside. */
#define XS_MARKERS 3
struct xs_marker {
    _Atomic uint32_t runs;                  /* 1: there is such a thread, or it is being started */
    _Atomic uint64_t since_ns;              /* inside a vendor call since then; 0: not; owner: the thread */
    struct xs_state *state;                 /* owner: who started it */
};

/** What was submitted to this queue since the last mark should get one, as soon as may be. From
 *  any thread, also the vendor's: calls no vendor function and waits for nobody. Nothing happens
 *  on platforms whose streams may be marked by the submitting thread alone. */
void xs_marker_want(struct xs_queue *q);
/** The scheduler sees this queue idle for a while, and no mark in flight will tell of its end. Where no other
 *  thread may mark it and no thread waits for it in a call, that may be its program's habit: after a few
 *  times each command gets a mark (submit/end_mark.c). Thread: the control thread. */
void xs_marker_end_missed(struct xs_queue *q);

#endif
