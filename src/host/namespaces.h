/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process lives in the namespaces of the host's processes. Any thread. */
#ifndef XS_HOST_NAMESPACES_H
#define XS_HOST_NAMESPACES_H

#include "base/xs_base.h"

/** Whether the process is in the user, PID and mount namespaces of the host. These are this process's
 *  own, or for mounts those of process 1. Reads files of /proc that every user may read: xserver has no
 *  right to look at other users' /proc/PID/ns.
 *  @param pidfd  of the process; -1: there is none, and another process may have taken the number
 *      meanwhile
 *  @return false also when the files do not show it */
bool xs_namespaces_are_hosts(int32_t pid, int pidfd);

/** Out of the text of /proc/PID/status: the process is in the PID namespace of that /proc mount. */
bool xs_namespaces_pid_parse(const char *status);
/** Out of the text of /proc/PID/mountinfo: the number of the mount at the root, which no other
 *  namespace has.
 *  @return 0: it is not there */
uint32_t xs_namespaces_root_parse(const char *mountinfo);

#endif
