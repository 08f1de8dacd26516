/* SPDX-License-Identifier: Apache-2.0 */
/* Starting an xserver for this user when none answers. */
#ifndef XS_LAUNCHER_AUTOSTART_H
#define XS_LAUNCHER_AUTOSTART_H

#include "base/xs_base.h"

/** A started server ends after so long without programs, unless the caller gives another time. */
#define XS_AUTOSTART_IDLE_S 60

/** Makes sure that a server answers. It finds one, or starts one in this user's runtime folder (or at
 *  XSCHED_SOCKET, if that has a value, and its folder is there and belongs to this user). Then it waits until
 *  the server answers and says so. It also says where another user has a server of his own, and where this
 *  user may not connect. Two callers at once start one server: a lock file in the folder. Sets XSCHED_SOCKET
 *  for the program if its agent would not look there by itself.
 *  @param start   false: only look
 *  @param idle_s  seconds without programs after which a started server ends; 0: never
 *  @return 0, or -errno after a warning; the program can run unscheduled */
int xs_autostart(bool start, unsigned idle_s);

#endif
