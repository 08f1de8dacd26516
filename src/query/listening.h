/* SPDX-License-Identifier: Apache-2.0 */
/* The xservers of this machine, whoever's they are. */
#ifndef XS_QUERY_LISTENING_H
#define XS_QUERY_LISTENING_H

#include "transport/socket.h"

#define XS_LISTENING_MAX 32

struct xs_listening {
    char path[XS_SOCKET_PATH_BYTES]; /* as the server named it, in its own mount namespace */
    uid_t uid;
    bool uid_known;
};

/** The sockets on which an xserver listens in this network namespace. The kernel lists them to everybody, also those that
 *  this user may not reach. A server in a container with a network of its own is not among them.
 *  @param proc_net_unix  NULL: the kernel's list; tests give another one
 *  @return how many; at most XS_LISTENING_MAX */
size_t xs_listening(const char *proc_net_unix, struct xs_listening ret[XS_LISTENING_MAX]);

/** The first one that is neither this socket nor of this user. @return NULL: there is none */
const struct xs_listening *xs_listening_of_others(const struct xs_listening *list, size_t n, const char *own, uid_t uid);

/** "user alice", or "user 1007" */
void xs_user_text(uid_t uid, char *ret, size_t size);
/** The same of its user; "another user" where the kernel does not let us see which. */
void xs_listening_user(const struct xs_listening *l, char *ret, size_t size);

#endif
