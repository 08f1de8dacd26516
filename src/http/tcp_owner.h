/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel for the owner of the other end of a TCP connection on this host (sock_diag(7)): one
 * question, however many sockets there are. */
#ifndef XS_HTTP_TCP_OWNER_H
#define XS_HTTP_TCP_OWNER_H

#include "base/xs_base.h"

#include <netinet/in.h>

/** Finds out whether the kernel answers, by the listener on this port of 127.0.0.1. Before any other thread asks. */
void xs_tcp_owner_init(uint16_t port);
/** The owner of the socket that connects from there to this port of 127.0.0.1.
 *  @return 0; -ENOENT: there is none, or its owner closed it; -ENOTSUP: the kernel does not answer such
 *          questions */
int xs_tcp_owner(const struct sockaddr_in *peer, uint16_t port, uint32_t *ret_uid);

#endif
