/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that `xsched run` starts for a user, and that outlive it: xserver, and the helper of MPS. */
#ifndef XS_LAUNCHER_DAEMONIZE_H
#define XS_LAUNCHER_DAEMONIZE_H

#include "base/xs_base.h"

#include <sys/types.h>

#define XS_DAEMON_ARGUMENTS 24

struct xs_daemon {
    const char *folder;      /* its own, see xs_daemon_folder */
    const char *log;         /* the file there to which its stdout and stderr go */
    const char *description;
    /** Writes its path and arguments, at most 16. @param log  path of that file; empty: there is none
     *  @return the number of arguments */
    unsigned (*arguments)(const void *ctx, const char *log, const char **argv);
    const void *ctx;
};

/** Makes the folder if it is ours to make. It must belong to this user, and no other may write there: another
 *  user could replace a socket in it, and receive all that programs send. @return 0 or -errno */
int xs_daemon_folder(const char *folder);
/** @return the descriptor that holds the lock (closed on exec), or -errno: -ETIMEDOUT another process has
 *  it */
int xs_daemon_lock(const char *folder, const char *name, uint64_t timeout_ns);
/** Whether this user's systemd can give it a scope of its own. Without one it belongs to the session, the
 *  service or the job of the first program, and ends with that, while others use it. */
bool xs_daemon_has_manager(void);
/** Forks twice, so that it has no parent here. @return its pid or -errno */
pid_t xs_daemon_spawn(const struct xs_daemon *d, bool scoped);

#endif
