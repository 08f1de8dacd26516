/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a child of the launcher, which works on after the program's end. The terminal sends its
 * signals to both: the launcher ignores them. It passes on those that somebody sends to the launcher alone.
 * One child a process. */
#ifndef XS_LAUNCHER_CHILD_H
#define XS_LAUNCHER_CHILD_H

#include "base/xs_base.h"

#include <sys/types.h>

/** fork(). In the child every signal is as it was. */
pid_t xs_child_fork(void);
/** @param options  of waitid()
 *  @return whether it has ended; then passes nothing on any more, and signals do not end this process */
bool xs_child_wait(int options, int *ret_status);
/** Every signal is as it was before the child. */
void xs_child_signals_back(void);

#endif
