/* SPDX-License-Identifier: Apache-2.0 */
/* XSCHED_TRACE=path: one line for each vendor call that came through a shim,
 *
 *   TIME_US PID/TID FUNCTION HOW QUEUE RESULT DURATION_US [SCHEDULED]
 *
 * HOW: pass (left alone), submit (a command on a scheduled queue), sync (waited for a queue),
 * hand (looked at for another reason). QUEUE: the vendor's handle or -. RESULT: the vendor's
 * code, or 0xPOINTER. SCHEDULED, in submit lines: how many commands of this process libpreempt
 * had counted by then, so the largest of a process equals the number of its submit lines.
 *
 * Several processes may write to one file. Each line is one appending write, since there is no
 * moment at which a guest could empty a buffer: the program may end in any way. */
#ifndef XS_SHIM_TRACE_H
#define XS_SHIM_TRACE_H

#include "base/xs_base.h"

enum xs_how { XS_HOW_PASS, XS_HOW_SUBMIT, XS_HOW_SYNC, XS_HOW_HAND };

/** Reads XSCHED_TRACE and opens the file. Any thread, once is enough. @return whether it is on */
bool xs_trace_start(void);

/** After the call. @param begin_ns  when it began; 0: unknown
 *  @param pointer  result is an address */
void xs_trace_call(const char *function, enum xs_how how, uint64_t queue, int64_t result, bool pointer,
                   uint64_t begin_ns);

/** A line that begins with #, for facts that are no call. */
void xs_trace_note(const char *format, ...) XS_PRINTF(1, 2);

#endif
