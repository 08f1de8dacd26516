/* SPDX-License-Identifier: Apache-2.0 */
/* Hints: a program's wishes to the scheduler about its queues. Any thread, any time. A value out of
 * range gives kXSchedErrorInvalidValue and changes nothing. */
#ifndef XSCHED_HINT_H
#define XSCHED_HINT_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** PRIORITY_NO_EXECUTE, or PRIORITY_MIN..PRIORITY_MAX; larger is more urgent. */
XResult XHintPriority(XQueueHandle xq, Priority prio);
/** The same, and gives the priority that was in force, whichever side had set it. For a scope that
 *  restores the priority at its end. If the priority is in force already, sends nothing to the
 *  scheduler.
 *  @param old  may be null */
XResult XHintSwapPriority(XQueueHandle xq, Priority prio, Priority *old);
/** Share of the device in percent, 0..100 (UP, PUP, SPUP). */
XResult XHintUtilization(XQueueHandle xq, Utilization util);
/** Length of a slice in microseconds, TIMESLICE_MIN..TIMESLICE_MAX or TIMESLICE_UNLIMITED; for
 *  the scheduler as a whole. */
XResult XHintTimeslice(Timeslice ts_us);
/** The queue has priority lax_prio until it has been ready for lax_us, then crit_prio. NO_LAXITY
 *  takes the hint back. */
XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio);
/** Microseconds from becoming ready, > 0, or NO_DEADLINE. */
XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us);
/** How many queues KEDF runs at a time, >= 1. */
XResult XHintKDeadline(size_t k);
/** Changes the scheduler of this process. Existing queues move over and resume.
 *  @param policy  for kSchedulerLocal; has no effect otherwise */
XResult XHintSetScheduler(XSchedulerType scheduler, XPolicyType policy);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
