/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of the HTTP interface: each user gets a share of its connections and streams of events, of
 * the memory for unread answers, and of the time for answering. Any thread. */
#ifndef XS_HTTP_CONNECTIONS_H
#define XS_HTTP_CONNECTIONS_H

#include "asks/request.h"
#include "host/quota.h"

#include <microhttpd.h>

#define XS_HTTP_CONNECTIONS 256u /* of all listeners */
#define XS_HTTP_STREAMS     16u
#define XS_HTTP_ANSWERS     (256ull << 20) /* bytes of answers */
#define XS_HTTP_PERCENT     5u             /* of a core: the time for answering one user */
#define XS_HTTP_SAVED_NS    (200 * XS_NS_PER_MS) /* ... saved up at most */

struct xs_connections;

/** @param by_pod  see xs_user_key() */
struct xs_connections *xs_connections_new(bool by_pod);
void xs_connections_free(struct xs_connections *s);

/** The user at the other end of a connection. */
struct xs_connection_of {
    struct xs_quota_user *user; /* NULL: refused */
    bool privileged;            /* an operator: no share binds it */
};

/** A connection came. @param asker  at the other end
 *  @return false: it is more than the share of its user, and the caller closes it; else *ret is for
 *          xs_connections_gone */
bool xs_connections_came(struct xs_connections *s, const struct xs_asker *asker, struct xs_connection_of *ret);
void xs_connections_gone(struct xs_connections *s, struct xs_quota_user *user);

/** Whether to answer a request now. @return 0, or the milliseconds to wait: answering its user took
 *  more than its part */
uint64_t xs_connections_wait_ms(struct xs_connections *s, const struct xs_connection_of *of);
/** Answering it took so long. */
void xs_connections_worked(struct xs_connections *s, const struct xs_connection_of *of, uint64_t ns);
/** Keeps an answer of so many bytes until its client has read it. @return false: it is more than its
 *  user's share; else xs_connections_answer_gone follows, perhaps after xs_connections_gone */
bool xs_connections_answer(struct xs_connections *s, const struct xs_connection_of *of, size_t bytes);
void xs_connections_answer_gone(struct xs_connections *s, struct xs_quota_user *user, size_t bytes);

/** The same for a stream of events. */
bool xs_connections_stream(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user);
void xs_connections_stream_gone(struct xs_connections *s, struct xs_quota_user *user);

#endif
