/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of connections. libmicrohttpd has a time-out only for inactivity: a client that sends a
 * byte now and then would keep its connection for ever. */
#ifndef XS_HTTP_DEADLINES_H
#define XS_HTTP_DEADLINES_H

#include "base/xs_base.h"

struct xs_deadlines;
struct xs_deadline; /* of one connection */

/** Starts the thread that shuts connections down. It sleeps while there is no connection.
 *  @return NULL: out of memory or threads */
struct xs_deadlines *xs_deadlines_new(void);
/** Ends the thread. xs_deadline_remove must have come for all connections, or no thread may use them any more. */
void xs_deadlines_free(struct xs_deadlines *d);

/** Any thread. The connection's socket must stay open until xs_deadline_remove.
 *  @return NULL: out of memory, the connection has no deadline */
struct xs_deadline *xs_deadline_add(struct xs_deadlines *d, int fd, uint64_t ns);
/** Any thread. Shuts the connection down so many ns from now. 0: never. one may be NULL. */
void xs_deadline_set(struct xs_deadlines *d, struct xs_deadline *one, uint64_t ns);
/** Any thread, before it closes the socket. one may be NULL. */
void xs_deadline_remove(struct xs_deadlines *d, struct xs_deadline *one);

#endif
