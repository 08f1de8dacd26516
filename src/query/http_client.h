/* SPDX-License-Identifier: Apache-2.0 */
/* Asking xserver over HTTP: on its Unix socket or on the loopback. One thread at a time. */
#ifndef XS_QUERY_HTTP_CLIENT_H
#define XS_QUERY_HTTP_CLIENT_H

#include "base/xs_base.h"

struct xs_http_target {
    const char *unix_path; /* the HTTP socket (transport/http_socket.h), or NULL: TCP */
    const char *address;   /* host for TCP */
    uint16_t port;
    const char *token; /* a right one (transport/token.h), sent as X-XSched-Token; NULL: none */
    long timeout_ms;   /* of the whole exchange; 0: 5000 */
    bool (*is_stopped)(void *ctx); /* asked when a second has brought nothing, and then once a second; true ends the wait */
    void *ctx;
};

struct xs_http_answer {
    long status; /* 200, ... */
    char *body;  /* with a zero byte at its end; the caller frees it */
    size_t bytes;
};

/** @param method  "GET" or "POST"
 *  @param path  with its query, "/xqueues"
 *  @param body  JSON to send, or NULL
 *  @param ret_error  on failure the reason, for users
 *  @return 0 (whatever the status says), or -errno: -ECONNREFUSED no server is there, -EACCES,
 *          -ETIMEDOUT, -EHOSTDOWN is_stopped said so, -EIO anything else */
int xs_http_ask(const struct xs_http_target *target, const char *method, const char *path, const char *body,
                struct xs_http_answer *ret, char *ret_error, size_t error_size);

#endif
