/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares of pools that many users need (decision 0030). A user may take a part of the rest, the
 * smaller the more users share it, so that every user finds something. Pure; the caller holds the
 * lock, if there is one. */
#ifndef XS_HOST_QUOTA_H
#define XS_HOST_QUOTA_H

#include "base/xs_base.h"

enum xs_pool {
    XS_POOL_UNJOINED,    /* connections that said nothing yet */
    XS_POOL_ASKERS,      /* ... that ask: see asks.h */
    XS_POOL_SESSIONS,    /* and so pages: a session has one of each kind */
    XS_POOL_QUEUES,
    XS_POOL_PLACES,      /* places in decisions: a program on a device, or a queue that is an entity
                            of its own */
    XS_POOL_LEVEL3,      /* programs that level 3 steers */
    XS_POOL_DESCRIPTORS,
    XS_POOL_HTTP,        /* connections to the HTTP interface */
    XS_POOL_STREAMS,     /* watchers of its events */
    XS_POOL_ANSWERS,     /* bytes of answers that their readers do not have yet */
    XS_POOL_COUNT
};

/** What a user has spent, in parts of a ring, and not got back yet. */
struct xs_rate {
    uint64_t spent, since_ns;
};

/** One user, or a pod where the configuration counts by pods. */
struct xs_quota_user {
    struct xs_quota_user *next;
    uint64_t key;
    uint32_t refs;
    uint64_t used[XS_POOL_COUNT];
    struct xs_rate rings, messages, connects, asks;
    uint64_t http_spent_ns, http_since_ns; /* of the HTTP threads' time: see connections.h */
    uint64_t log_since_ns; /* see log_share.h */
    uint32_t log_lines;
    bool warned; /* of rings */
};

struct xs_quota {
    struct xs_quota_user *users; /* those without a reference: in the order in which they last had
                                    one, the latest first */
    uint32_t idle;               /* how many these are */
    uint64_t size[XS_POOL_COUNT], used[XS_POOL_COUNT];
    uint64_t holders[XS_POOL_COUNT]; /* users that have some of it */
};

/** The user of a key, made if need be, with one more reference. @return NULL when out of memory */
struct xs_quota_user *xs_quota_user_get(struct xs_quota *q, uint64_t key);
/** Gives the reference back. With the last one, gives the user's parts of the pools back. Remembers the
 *  user's spending, for the last users that had a reference. u: may be NULL. */
void xs_quota_user_put(struct xs_quota *q, struct xs_quota_user *u);
void xs_quota_fini(struct xs_quota *q);

/** Takes n of a pool. A user gets at most 1/(k + 1) of the part that k users, with this one, find left.
 *  An eighth of the pool is only for privileged users (root, operators). Those may take all that is
 *  there.
 *  @return false: it is more than this user's share */
bool xs_quota_take(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n, bool privileged);
/** Gives n back; ignores the part of it that the user does not have. */
void xs_quota_give(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n);
/** The user with the most of a pool; NULL when it is empty. */
struct xs_quota_user *xs_quota_greatest(const struct xs_quota *q, enum xs_pool pool);

#endif
