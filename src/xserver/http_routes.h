/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, and what they ask. */
#ifndef XS_XSERVER_HTTP_ROUTES_H
#define XS_XSERVER_HTTP_ROUTES_H

#include "xserver/request.h"

#include <jansson.h>
#include <microhttpd.h>

/** One HTTP request, complete. */
struct xs_route_call {
    struct MHD_Connection *connection;
    const char *url, *method;
    const char *body; /* ended by a zero */
    size_t body_bytes;
    uint16_t port;      /* that it came to; 0: the Unix socket */
    uint16_t http_port; /* the server's TCP port; 0: none */
    struct xs_mailbox *mailbox;
};

/** Answers it.
 *  @param ret_allow  on status 405 the methods that this path takes
 *  @return HTTP status; *ret_json is the answer, the caller's */
int xs_route(const struct xs_route_call *call, json_t **ret_json, const char **ret_allow);

#endif
