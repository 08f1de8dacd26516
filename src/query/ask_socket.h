/* SPDX-License-Identifier: Apache-2.0 */
/* Asks xserver over its own socket, without HTTP (decision 0045). The answer is as over HTTP. One thread. */
#ifndef XS_QUERY_ASK_SOCKET_H
#define XS_QUERY_ASK_SOCKET_H

#include "query/http_client.h"

/** @param method, path, body  as xs_http_ask()
 *  @return 0, whatever the status says; -EOPNOTSUPP: xsched-http alone answers this path, or xserver is another build, so
 *          that HTTP is the way; -EHOSTDOWN: it is stopped; or another -errno: nobody is there, this user may not connect, it
 *          is too busy */
int xs_socket_ask(const char *server_socket, const char *method, const char *path, const char *body, struct xs_http_answer *ret);
/** xserver asks itself the question again and again (a subscription), without another packet from here. One thread. */
struct xs_socket_feed;
/** @param path  of GET: /timeline
 *  @param period_ms  100 at least
 *  @return NULL: xserver at this socket does not do that, or nobody is there */
struct xs_socket_feed *xs_socket_feed_begin(const char *server_socket, const char *path, unsigned period_ms);
/** Readable when the next answer is there, or the feed is over. */
int xs_socket_feed_fd(const struct xs_socket_feed *f);
/** @return 0 with an answer of status 200, whose body the caller frees; -errno: the feed is over */
int xs_socket_feed_next(struct xs_socket_feed *f, struct xs_http_answer *ret);
/** f: may be NULL. */
void xs_socket_feed_end(struct xs_socket_feed *f);
/** The TCP port of the xserver at this socket. @return 0: it has none, or does not answer */
uint16_t xs_socket_http_port(const char *server_socket);

#endif
