/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the program's own calls reach a shim, and the log lines about the scheduler. */
#ifndef XS_XQUEUE_SHIM_PRESENCE_H
#define XS_XQUEUE_SHIM_PRESENCE_H

#include "xqueue/interface.h"

/** The program made an XQueue itself. Logs once, when no call of that platform reached a shim: then XSched
 *  schedules only commands of XQueueSubmit. At WARN where a scheduler decides, at INFO where the application
 *  does. Any thread.
 *  @param mode  enum xs_mode */
void xs_shim_expect(const struct xs_hal_ops *ops, int mode);

/** Logs the scheduler that decides from now on. At INFO. A shim that the program loaded by path shows the
 *  line without XLOG_LEVEL, too, since the original does. Any thread.
 *  @param mode    enum xs_mode
 *  @param policy  of a local scheduler */
void xs_scheduler_say(int mode, const char *policy);

#endif
