/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares of pools that are not for one alone (decision 0030): a user may take a part of what is left, the smaller the
 * more users share it, so that every user finds something. Pure; whoever calls holds the lock, if there is one. */
#ifndef XS_XSERVER_SHARES_QUOTA_H
#define XS_XSERVER_SHARES_QUOTA_H

#include "base/xs_base.h"
#include "xserver/shares/rings.h"

enum xs_pool {
    XS_POOL_UNJOINED,    /* connections that said nothing yet */
    XS_POOL_SESSIONS,    /* and so pages: a session has one of each kind */
    XS_POOL_QUEUES,
    XS_POOL_PLACES,      /* what policies decide about: a program on a device, or a queue that is an entity of its own */
    XS_POOL_LEVEL3,      /* programs that level 3 steers */
    XS_POOL_DESCRIPTORS,
    XS_POOL_HTTP,        /* connections to the HTTP interface */
    XS_POOL_STREAMS,     /* watchers of its events */
    XS_POOL_ANSWERS,     /* bytes of answers over HTTP that their readers do not have yet */
    XS_POOL_COUNT
};

/** One user, or what else the configuration counts by. */
struct xs_quota_user {
    struct xs_quota_user *next;
    uint64_t key;
    uint32_t refs;
    uint64_t used[XS_POOL_COUNT];
    struct xs_rings rings, messages, connects;
    uint64_t http_spent_ns, http_since_ns; /* of the HTTP threads' time: see connections.h */
    uint64_t log_since_ns; /* see log_share.h */
    uint32_t log_lines;
    bool warned; /* of rings */
};

struct xs_quota {
    struct xs_quota_user *users; /* those without a reference: who was it last comes first */
    uint32_t idle;               /* how many these are */
    uint64_t size[XS_POOL_COUNT], used[XS_POOL_COUNT];
    uint64_t holders[XS_POOL_COUNT]; /* users that have some of it */
};

/** The user of a key, made if need be, with one more reference. @return NULL when out of memory */
struct xs_quota_user *xs_quota_user_get(struct xs_quota *q, uint64_t key);
/** Gives the reference back. With the last one the user's part of the pools is given back. What it spent stays known, for the
 *  last users that had a reference. u: may be NULL. */
void xs_quota_user_put(struct xs_quota *q, struct xs_quota_user *u);
void xs_quota_fini(struct xs_quota *q);

/** Takes n of a pool. A user gets at most 1/(k + 1) of what k users, with this one, find left; an eighth of the pool is
 *  only for those that are privileged (root, operators), who may take all that is there.
 *  @return false: it is more than this user's share */
bool xs_quota_take(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n, bool privileged);
/** Gives n back; what is more than the user has is ignored. */
void xs_quota_give(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n);
/** Whoever has the most of a pool; NULL when it is empty. */
struct xs_quota_user *xs_quota_greatest(const struct xs_quota *q, enum xs_pool pool);

#endif
