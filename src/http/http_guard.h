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
/** Judges a change over TCP. Our tools send X-XSched, or the token. Tools for the first XSched send
 *  neither: xserver takes such a request if it has nothing that a browser or a forwarder adds (decision
 *  0029). On the Unix socket every request passes.
 *  @return NULL, or the reason why not */
const char *xs_guard_check_change(struct MHD_Connection *connection, uint16_t port);
/** The asker: by the peer's credentials on a Unix socket; on TCP by the owner of the peer socket in the
 *  kernel's table of connections; or by the token. */
void xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
/** The same without the token, which a new connection has not sent yet. */
void xs_guard_peer(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
void xs_guard_set_token(const char *token);

/** The owner of the established connection from peer:port to 127.0.0.1:own_port, out of the text
 *  of /proc/net/tcp or tcp6. @return true when it is there */
bool xs_guard_find_owner(const char *table, uint32_t peer_ip, uint16_t peer_port, uint16_t own_port,
                         uint32_t *ret_uid);
/** A Host header that may name us. */
bool xs_guard_host_ok(const char *host, uint16_t port);

#endif
