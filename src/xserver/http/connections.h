/* SPDX-License-Identifier: Apache-2.0 */
/* Whose the connections to the HTTP interface and its streams of events are: each user gets a share of them. Any thread. */
#ifndef XS_XSERVER_HTTP_CONNECTIONS_H
#define XS_XSERVER_HTTP_CONNECTIONS_H

#include "xserver/request.h"
#include "xserver/shares/quota.h"

#include <microhttpd.h>

#define XS_HTTP_CONNECTIONS 256u /* of all listeners */
#define XS_HTTP_STREAMS     16u

struct xs_connections;

/** @param by_pod  see xs_charges_key() */
struct xs_connections *xs_connections_new(bool by_pod);
void xs_connections_free(struct xs_connections *s);

/** A connection came. @param asker  who is at the other end
 *  @return false: it is more than the share of its user, and is to be closed; else *ret_user is for xs_connections_gone */
bool xs_connections_came(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user);
void xs_connections_gone(struct xs_connections *s, struct xs_quota_user *user);

/** The same for a stream of events. */
bool xs_connections_stream(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user);
void xs_connections_stream_gone(struct xs_connections *s, struct xs_quota_user *user);

#endif
