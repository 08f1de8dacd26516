/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process lives where the host's processes do. Any thread. */
#ifndef XS_XSERVER_USERS_NAMESPACES_H
#define XS_XSERVER_USERS_NAMESPACES_H

#include "base/xs_base.h"

/** Whether it is in the user, PID and mount namespaces of the host, which are this process's own, or for mounts those of
 *  process 1. By files of /proc that everybody may read: xserver has no right to look at other users' /proc/PID/ns.
 *  @param pidfd  of the process; -1: there is none, and nothing shows that the number was not taken by another process
 *  @return false also when that cannot be told */
bool xs_namespaces_are_hosts(int32_t pid, int pidfd);

/** Out of the text of /proc/PID/status: the process is in the namespace of whoever mounted that /proc. */
bool xs_namespaces_pid_parse(const char *status);
/** Out of the text of /proc/PID/mountinfo: the number of what is mounted at the root, which no other namespace has.
 *  @return 0: it is not there */
uint32_t xs_namespaces_root_parse(const char *mountinfo);

#endif
