/* SPDX-License-Identifier: Apache-2.0 */
/* Where xserver's sockets are, for programs that talk to it as a user's tool. */
#ifndef XS_CLIENT_FIND_H
#define XS_CLIENT_FIND_H

#include "base/xs_base.h"

#include <limits.h>
#include <sys/types.h>

#define XS_SOCKET_NAME "xserver.sock"
#define XS_SOCKETS_MAX 6

struct xs_socket_place {
    char path[PATH_MAX];
    const char *why;          /* "XSCHED_SOCKET", "XDG_RUNTIME_DIR", ...; static text */
    bool agents_look;         /* programs look here by themselves; else XSCHED_SOCKET must name it */
};

struct xs_socket_places {
    size_t count;
    struct xs_socket_place items[XS_SOCKETS_MAX];
};

/** The places in the order in which they are tried. XSCHED_SOCKET, if set, is the only one. */
void xs_socket_places(struct xs_socket_places *ret);

/** Whether a server listens. Folders of others under /tmp are not believed.
 *  @param ret_pid  the server's process, 0 when unknown; may be NULL
 *  @param ret_uid  its user; may be NULL
 *  @return 0, or -errno: -ENOENT no socket, -ECONNREFUSED nobody listens, -EPERM not to be
 *          believed, or another of connect's */
int xs_socket_probe(const char *path, pid_t *ret_pid, uid_t *ret_uid);

/** The first place that answers. @return its index in places, or -ENOENT */
int xs_socket_first(const struct xs_socket_places *places);

/** This user's own runtime folder for xserver (not created): $XDG_RUNTIME_DIR/xsched,
 *  /run/user/UID/xsched, or /tmp/xsched-UID. @return whether agents look there by themselves */
bool xs_runtime_folder(char *ret, size_t size);

#endif
