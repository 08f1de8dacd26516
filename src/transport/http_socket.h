/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the HTTP socket that belongs to a socket of xserver. Different sockets have different ones. */
#ifndef XS_HTTP_SOCKET_H
#define XS_HTTP_SOCKET_H

#include "base/xs_base.h"

/** In the same folder: http.sock for xserver.sock, NAME.http.sock for NAME.sock, NAME.http for another
 *  NAME.
 *  @return false: it does not fit; ret is empty */
bool xs_http_socket(const char *server_socket, char *ret, size_t size);
/** Whether this is the name of an HTTP socket, which no other socket of xserver may have. */
bool xs_http_socket_reserved(const char *server_socket);

#endif
