/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process stands still, from /proc: any user may ask about any process. */
#ifndef XS_QUERY_STOPPED_H
#define XS_QUERY_STOPPED_H

#include "base/xs_base.h"

#include <sys/types.h>

/* What users read of a server that stands still; the remedy takes its process number. */
#define XS_STOPPED_BY     "is stopped (by a signal, a debugger or its control group)"
#define XS_STOPPED_REMEDY "`kill -CONT %d` continues it; what a debugger or a control group stopped, that continues."

/** By a signal, a debugger or its control group. @return false: it runs, or nothing is known of it */
bool xs_process_is_stopped(pid_t pid);
/** By its control group. */
bool xs_process_is_frozen(pid_t pid);

#endif
