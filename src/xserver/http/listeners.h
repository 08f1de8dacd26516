/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP for users and tools, on 127.0.0.1 and on a Unix socket, in threads of its own. */
#ifndef XS_XSERVER_HTTP_LISTENERS_H
#define XS_XSERVER_HTTP_LISTENERS_H

#include "asks/request.h"
#include "xserver/options.h"

struct xs_http;

/** @param server_socket  of the xserver that it asks
 *  @param unix_path  "" for none
 *  @return 0 or -errno with the reason in ret_error. If another program has the default port, only logs
 *          a warning. */
int xs_http_start(const char *server_socket, const struct xs_options *o, const char *unix_path,
                  struct xs_http **ret, char *ret_error, size_t error_size);
void xs_http_stop(struct xs_http *h);
/** Any thread. */
void xs_http_set_token(const char *token);

#endif
