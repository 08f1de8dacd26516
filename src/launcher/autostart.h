/* SPDX-License-Identifier: Apache-2.0 */
/* Starting an xserver for this user when none answers. */
#ifndef XS_LAUNCHER_AUTOSTART_H
#define XS_LAUNCHER_AUTOSTART_H

#include "base/xs_base.h"

/** A started server ends when it has been without programs for this long, unless told otherwise. */
#define XS_AUTOSTART_IDLE_S 60

/** Makes sure that a server answers: finds one, or starts one in this user's runtime folder (or
 *  at XSCHED_SOCKET, when that is set and its folder belongs to this user), waits until it
 *  answers and says so. Two at once start one: a lock file in the folder. XSCHED_SOCKET is set
 *  for the program where its agent would not look by itself.
 *  @param start   false: only look
 *  @param idle_s  seconds without programs after which a started server ends; 0: never
 *  @return 0, 1 when one was started just now, or -errno after a warning; the program can run unscheduled */
int xs_autostart(bool start, unsigned idle_s);

#endif
