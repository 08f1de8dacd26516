/* SPDX-License-Identifier: Apache-2.0 */
/* Operators see and change everything, as root and the server's own user do: the members of one group
 * of the system (option operator-group). */
#ifndef XS_HOST_OPERATORS_H
#define XS_HOST_OPERATORS_H

#include "base/xs_base.h"

/** Main thread. @param group  name or number; "": no operators
 *  @param ret  its number, or -1 for no operators
 *  @return 0 or -ENOENT (there is no such group) */
int xs_operators_find(const char *group, int64_t *ret);
/** Main thread, at start and at a reload. @param group  as xs_operators_find gave it */
void xs_operators_set(int64_t group);
int64_t xs_operators_group(void);
/** Whether the process at the other end of a Unix socket is in the group, as the kernel says.
 *  Any thread. */
bool xs_operators_have_peer(int fd);
/** Whether the user is in the group, as the system's accounts say. Any thread; may read files. */
bool xs_operators_have_user(uint32_t uid);

#endif
