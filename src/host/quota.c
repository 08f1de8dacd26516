/* SPDX-License-Identifier: Apache-2.0 */
#include "host/quota.h"

#include <stdlib.h>

#define RESERVE 8u /* one part in so many is for the privileged ones */
#define IDLE    64u /* users with nothing that it remembers: hanging up must not clear what they spent */

struct xs_quota_user *xs_quota_user_get(struct xs_quota *q, uint64_t key)
{
    struct xs_quota_user *u = q->users;

    while (u && u->key != key)
        u = u->next;
    if (!u) {
        u = calloc(1, sizeof(*u));
        if (!u)
            return NULL;
        u->key = key;
        u->next = q->users;
        q->users = u;
        q->idle++;
    }
    q->idle -= u->refs == 0;
    u->refs++;
    return u;
}

static void unlink_user(struct xs_quota *q, const struct xs_quota_user *u)
{
    struct xs_quota_user **at = &q->users;

    while (*at && *at != u)
        at = &(*at)->next;
    if (*at)
        *at = u->next;
}

/* The one that has had nothing for the longest time. */
static void forget_one(struct xs_quota *q)
{
    struct xs_quota_user *last = NULL;

    for (struct xs_quota_user *u = q->users; u; u = u->next)
        if (u->refs == 0)
            last = u;
    if (!last)
        return;
    unlink_user(q, last);
    free(last);
    q->idle--;
}

void xs_quota_user_put(struct xs_quota *q, struct xs_quota_user *u)
{
    if (!u || --u->refs > 0)
        return;
    for (unsigned i = 0; i < XS_POOL_COUNT; i++)
        xs_quota_give(q, u, i, u->used[i]);
    unlink_user(q, u); /* to the front */
    u->next = q->users;
    q->users = u;
    if (++q->idle > IDLE)
        forget_one(q);
}

void xs_quota_fini(struct xs_quota *q)
{
    while (q->users) {
        struct xs_quota_user *u = q->users;

        q->users = u->next;
        free(u);
    }
}

/* Fair shares (decision 0030). Of a pool of N, an eighth is for privileged users. Where k users have U of it, and this one of
 * them has u, there is
 *
 *     L = 7/8 N - U    left, and it may have    (u + L) / (k + 1)    in all.
 *
 * No user can take the parts of others, so where users came before, there is less to share. But each of them left a part,
 * and one more user finds one: a first one takes half of 7/8 N, a second one a third of the other half, and so on. */
static uint64_t share(const struct xs_quota *q, const struct xs_quota_user *u, enum xs_pool pool)
{
    uint64_t open = q->size[pool] - q->size[pool] / RESERVE, mine = u->used[pool];
    uint64_t left = open > q->used[pool] ? open - q->used[pool] : 0;
    uint64_t users = q->holders[pool] + (mine == 0);

    return left == 0 ? mine : XS_MAX(mine + left, users + 1) / (users + 1);
}

bool xs_quota_take(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n, bool privileged)
{
    uint64_t left = q->size[pool] > q->used[pool] ? q->size[pool] - q->used[pool] : 0;

    if (n > left || (!privileged && n > 0 && u->used[pool] + n > share(q, u, pool)))
        return false;
    q->holders[pool] += n > 0 && u->used[pool] == 0;
    u->used[pool] += n;
    q->used[pool] += n;
    return true;
}

void xs_quota_give(struct xs_quota *q, struct xs_quota_user *u, enum xs_pool pool, uint64_t n)
{
    n = XS_MIN(n, u->used[pool]);
    u->used[pool] -= n;
    q->used[pool] -= n;
    q->holders[pool] -= n > 0 && u->used[pool] == 0;
}

struct xs_quota_user *xs_quota_greatest(const struct xs_quota *q, enum xs_pool pool)
{
    struct xs_quota_user *most = NULL;

    for (struct xs_quota_user *u = q->users; u; u = u->next)
        if (u->used[pool] > (most ? most->used[pool] : 0))
            most = u;
    return most;
}
