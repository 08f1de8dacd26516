/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the program's own calls reach a shim, and what is logged of the scheduler. */
#ifndef XS_XQUEUE_SHIM_PRESENCE_H
#define XS_XQUEUE_SHIM_PRESENCE_H

#include "xqueue/interface.h"

/** The program made an XQueue itself. Logs once, when no call of that platform reached a shim: then only commands of
 *  XQueueSubmit are scheduled. At WARN where a scheduler decides, at INFO where the application does. Any thread.
 *  @param mode  enum xs_mode */
void xs_shim_expect(const struct xs_hal_ops *ops, int mode);

/** Logs which scheduler is used from now on. At INFO; a shim that was loaded by path shows the line without XLOG_LEVEL, too,
 *  since the original does. Any thread.
 *  @param mode    enum xs_mode
 *  @param policy  of a local scheduler */
void xs_scheduler_say(int mode, const char *policy);

#endif
