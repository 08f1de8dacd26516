/* SPDX-License-Identifier: Apache-2.0 */
/* Sends an answer. */
#ifndef XS_HTTP_REPLY_H
#define XS_HTTP_REPLY_H

#include "http/connections.h"
#include "http/http_routes.h"

/** Sends the answer and frees it. It counts for that user until the client has read it. If it is more
 *  than the user's share, sends only an error that says so. */
enum MHD_Result xs_reply(struct MHD_Connection *connection, int status, struct xs_route_answer *a,
                         struct xs_connections *shares, const struct xs_connection_of *of);

#endif
