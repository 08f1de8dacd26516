/* SPDX-License-Identifier: Apache-2.0 */
/* The paths and their requests. */
#ifndef XS_HTTP_ROUTES_H
#define XS_HTTP_ROUTES_H

#include "answers/text.h"
#include "asks/ask_line.h"
#include "http/http_events.h"

#include <jansson.h>
#include <microhttpd.h>

/** One HTTP request, complete. */
struct xs_route_call {
    struct MHD_Connection *connection;
    const char *url, *method;
    const char *body; /* with a zero at its end */
    size_t body_bytes;
    uint16_t port;      /* that it came to; 0: the Unix socket */
    uint64_t share_key; /* of the user at the other end */
    struct xs_line *line;
    struct xs_events *events;
};

/** The answer. The caller clears it before. */
struct xs_route_answer {
    json_t *json;            /* the caller frees it; NULL: text */
    struct xs_text text;     /* ... the caller frees its data */
    const char *type;        /* ... of this type */
    const char *allow;       /* on status 405 the methods that this path takes */
    bool close;              /* the connection ends with this answer */
    uint64_t work_ns;        /* time that the main loop spent on it */
    uint64_t retry_s;        /* Retry-After; 0: none */
    const char *policy;      /* Content-Security-Policy; NULL: none */
};

/** Answers it. @return HTTP status; 0: a stream began, there is nothing to send */
int xs_route(struct xs_route_call *call, struct xs_route_answer *ret);

/** Whether xserver's configuration says that there is no HTTP: then each answer is status 503. Any thread. */
void xs_routes_set_off(bool off);

#endif
