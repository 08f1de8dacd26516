/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP for users and tools, on 127.0.0.1 and on a Unix socket, in threads of its own. */
#ifndef XS_HTTP_LISTENERS_H
#define XS_HTTP_LISTENERS_H

#include "asks/ask_line.h"

struct xs_http;

/** @param line  to xserver
 *  @param tcp_fd, unix_fd  sockets that listen, which it takes; -1: there is none
 *  @param share_by_pod  see xs_user_key()
 *  @return 0 or -errno */
int xs_http_start(struct xs_line *line, int tcp_fd, int unix_fd, bool share_by_pod, struct xs_http **ret);
/** h: may be NULL. */
void xs_http_stop(struct xs_http *h);
/** Any thread. */
void xs_http_set_token(const char *token);

#endif
