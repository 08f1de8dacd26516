/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the asker over HTTP, and refuses requests that no tool of ours would make. */
#ifndef XS_HTTP_GUARD_H
#define XS_HTTP_GUARD_H

#include "asks/request.h"

#include <microhttpd.h>

/** Judges whether a request comes from a web page, or to a name that is not this host's.
 *  @param port  ours on TCP; 0: the request came over the Unix socket
 *  @return NULL, or the reason why not */
const char *xs_guard_check(struct MHD_Connection *connection, uint16_t port, const char *method);
#define XS_GUARD_NO_TOKEN                                                                                    \
    "a change over TCP needs the token of xserver's configuration in the header X-XSched-Token. Without it: xcli"

/** Judges a change. Over TCP it needs the token (decision 0047): the kernel says which user has the other end of a connection,
 *  and not for whom that user's program speaks. On the Unix socket every request passes.
 *  @return NULL, or the reason why not, with what to do */
const char *xs_guard_check_change(struct MHD_Connection *connection, uint16_t port);
/** For that reason. Before the listeners run. */
void xs_guard_set_unix_path(const char *path);
/** The asker: by the peer's credentials on a Unix socket; on TCP, for what it may read, by the owner of the peer socket, where
 *  the kernel tells it (sock_diag); or by the token. */
void xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
/** The same without the token, which a new connection has not sent yet. */
void xs_guard_peer(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
void xs_guard_set_token(const char *token);

/** A Host header that may name us. */
bool xs_guard_host_ok(const char *host, uint16_t port);

#endif
