/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the xserver at a socket. Any thread; each question on its way has a connection of its own, which the next one
 * uses again. */
#ifndef XS_ASK_LINE_H
#define XS_ASK_LINE_H

#include "asks/request.h"

struct xs_line;

/** Connects with the first question. @param for_other  asks for the asker of each request (XS_ASK_FOR); else for this process
 *  @return NULL: out of memory */
struct xs_line *xs_line_new(const char *socket_path, bool for_other);
/** No thread asks any more. line: may be NULL. */
void xs_line_free(struct xs_line *line);

/** From now on, while a question waits for its answer, the function says once a second whether xserver is
 *  stopped. */
void xs_line_watch(struct xs_line *line, bool (*is_stopped)(const char *server_socket));
/** Asks and waits. On success the answer is in r, which the caller frees; on failure r is gone.
 *  @return 0, -ETIMEDOUT, -EHOSTDOWN (it is stopped), -ENOMEM, -EBADMSG (something else than xserver is there), or
 *          another -errno: nobody is there, or it is ending */
int xs_line_ask(struct xs_line *line, struct xs_request *r, uint64_t timeout_ns);

/** A question that xserver answers again each r->params.for_ms, with a connection of its own. One thread at a time. */
struct xs_subscription;

/** Sends the question. The line stays at least as long as the subscription; r stays the caller's, and is not kept.
 *  @return NULL: nobody is there, or out of memory */
struct xs_subscription *xs_subscription_begin(const struct xs_line *line, const struct xs_request *r, uint64_t timeout_ns);
/** Readable when an answer comes, or when xserver ends it. */
int xs_subscription_fd(const struct xs_subscription *s);
/** Takes the next answer, for which the caller frees *ret. @return 0, or -errno: the subscription is over */
int xs_subscription_next(struct xs_subscription *s, struct xs_request **ret, uint64_t timeout_ns);
/** s: may be NULL. */
void xs_subscription_end(struct xs_subscription *s);

#endif
