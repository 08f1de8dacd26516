/* SPDX-License-Identifier: Apache-2.0 */
/* GET /events: sends the facts of the status page once a second while a client watches (server-sent
 * events). A thread of its own takes them of subscriptions to xserver, one for each client; it sleeps while no client watches. */
#ifndef XS_HTTP_EVENTS_H
#define XS_HTTP_EVENTS_H

#include "asks/ask_line.h"
#include "http/connections.h"

#include <microhttpd.h>

struct xs_events;

/** @return NULL when out of memory or threads */
struct xs_events *xs_events_new(struct xs_line *line, struct xs_connections *shares);
/** Ends all streams, so that the daemons can stop. No stream begins any more. */
void xs_events_end(struct xs_events *e);
/** After the daemons have stopped. */
void xs_events_free(struct xs_events *e);

/** Answers the connection with a stream of the facts that `asker` may see. In a thread of its daemon.
 *  @return 0, or -EBUSY when too many clients watch; then it sent no answer */
int xs_events_begin(struct xs_events *e, struct MHD_Connection *connection, const struct xs_asker *asker);

#endif
