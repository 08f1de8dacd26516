/* SPDX-License-Identifier: Apache-2.0 */
/* Marks put into streams from outside: by threads that do nothing else. */
#ifndef XS_MARKER_H
#define XS_MARKER_H

#include "xqueue/state.h"

/** What was submitted to this queue since the last mark should get one, as soon as may be. From
 *  any thread, also the vendor's: calls no vendor function and waits for nobody. Nothing happens
 *  on platforms whose streams may be marked by the submitting thread alone. */
void xs_marker_want(struct xs_queue *q);
/** The scheduler sees this queue quiet for a while, and no mark in flight will tell of its end. Where no other thread may mark
 *  it and nobody waits for it in a call, that may be its program's habit: after a few times each command gets a mark
 *  (submit.c). */
void xs_marker_end_missed(struct xs_queue *q);

#endif
