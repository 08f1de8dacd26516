/* SPDX-License-Identifier: Apache-2.0 */
/* Charges programs for their parts of the server's pools (quota.h has the rule). Main loop's thread. */
#ifndef XS_XSERVER_SHARES_USER_QUOTA_H
#define XS_XSERVER_SHARES_USER_QUOTA_H

#include "base/xs_base.h"

#include "xsched/types.h"

struct xs_server;
struct xs_socket_peer;
struct xs_client;
struct xs_server_queue;

/** The pools' sizes, from the options and the limit of open files. */
void xs_user_quota_configure(struct xs_server *s);

/** A program connects. @return false: its user did so more often than it may */
bool xs_user_quota_accept(struct xs_server *s, const struct xs_socket_peer *peer);
/** A connection came: charges its descriptors and a place among those that said nothing yet. Makes
 *  place by dropping such connections of the same user, else of the user with most.
 *  @return false: there is no place */
bool xs_user_quota_connection(struct xs_server *s, struct xs_client *c);
/** It joins. @return NULL, or why it may not */
const char *xs_user_quota_join(struct xs_server *s, struct xs_client *c);
/** It goes, joined or not: gives back all that it has. */
void xs_user_quota_gone(struct xs_server *s, struct xs_client *c);

/** A queue of c on a device: finds its place there. q is not in any list yet.
 *  @return NULL, or why not */
const char *xs_user_quota_queue(struct xs_server *s, struct xs_client *c, struct xs_server_queue *q, XDevice device);
/** The queue goes, c stays. */
void xs_user_quota_queue_gone(struct xs_server *s, struct xs_client *c, struct xs_server_queue *q);
/** Frees the records of its devices; its queues are gone, or going with it. */
void xs_user_quota_free_devices(struct xs_client *c);

#endif
