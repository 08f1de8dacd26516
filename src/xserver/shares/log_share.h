/* SPDX-License-Identifier: Apache-2.0 */
/* How many lines a user's programs may cause in the log by joining, leaving and doing wrong. A service
 * manager's log takes so many lines of a service and drops the rest, whichever user caused them. Main
 * loop's thread. */
#ifndef XS_XSERVER_SHARES_LOG_SHARE_H
#define XS_XSERVER_SHARES_LOG_SHARE_H

#include "base/xs_base.h"

#define XS_LOG_LINES     200u /* of a user ... */
#define XS_LOG_PERIOD_NS (10 * XS_NS_PER_S)

struct xs_client;

/** Whether to write a line about this program; counts it. The last one of a period says that xserver
 *  leaves the next ones out. */
bool xs_log_share(struct xs_client *c, uint64_t now_ns);

#endif
