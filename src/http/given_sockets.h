/* SPDX-License-Identifier: Apache-2.0 */
/* The listening sockets that a systemd unit gives (LISTEN_FDS, sd_listen_fds(3)). */
#ifndef XS_HTTP_GIVEN_SOCKETS_H
#define XS_HTTP_GIVEN_SOCKETS_H

#include "base/xs_base.h"

/** Takes one of TCP on the loopback, one Unix socket, or both.
 *  @param ret_tcp, ret_unix  written where there is one
 *  @return NULL, or what is wrong, for users; also where none was given */
const char *xs_given_sockets(int *ret_tcp, int *ret_unix);

#endif
