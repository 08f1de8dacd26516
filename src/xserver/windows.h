/* SPDX-License-Identifier: Apache-2.0 */
/* Which process has the active window of a display, for the policy AWF. Each user names displays by
 * himself: one user's ":0" changes nothing about another's. Main loop's thread. */
#ifndef XS_XSERVER_WINDOWS_H
#define XS_XSERVER_WINDOWS_H

#include "asks/request.h"

struct xs_server;
struct xs_client;

/** The active window of that display is now that process's; 0: no program of ours has it.
 *  @return NULL, or why the asker may not say so */
const char *xs_windows_activate(struct xs_server *s, const struct xs_asker *asker, int32_t pid, const char *display);
/** A program joined: whether it has an active window. */
void xs_windows_joined(struct xs_server *s, struct xs_client *c);
/** A session ended; it is in no list any more. With the last one of a process, forgets the process's
 *  windows. */
void xs_windows_left(struct xs_server *s, int32_t pid);
void xs_windows_fini(struct xs_server *s);

#endif
