/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/http/connections.h"

#include "xserver/shares/charges.h"

#include <pthread.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX /* all whose user is not known count as one */

struct xs_connections {
    bool by_pod;
    pthread_mutex_t lock; /* of the quota; innermost */
    struct xs_quota quota;
};

struct xs_connections *xs_connections_new(bool by_pod)
{
    struct xs_connections *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->by_pod = by_pod;
    pthread_mutex_init(&s->lock, NULL);
    s->quota.size[XS_POOL_HTTP] = XS_HTTP_CONNECTIONS;
    s->quota.size[XS_POOL_STREAMS] = XS_HTTP_STREAMS;
    return s;
}

void xs_connections_free(struct xs_connections *s)
{
    if (!s)
        return;
    xs_quota_fini(&s->quota);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool take(struct xs_connections *s, const struct xs_asker *asker, enum xs_pool pool, struct xs_quota_user **ret_user)
{
    bool inside, ok = false;
    uint64_t key = xs_charges_key(s->by_pod, asker->known ? asker->uid : NOBODY, asker->pid, &inside);
    struct xs_quota_user *u;

    pthread_mutex_lock(&s->lock);
    u = xs_quota_user_get(&s->quota, key);
    if (u)
        ok = xs_quota_take(&s->quota, u, pool, 1, asker->all && !inside);
    if (!ok)
        xs_quota_user_put(&s->quota, u);
    pthread_mutex_unlock(&s->lock);
    *ret_user = ok ? u : NULL;
    return ok;
}

static void give(struct xs_connections *s, struct xs_quota_user *user, enum xs_pool pool)
{
    if (!user)
        return;
    pthread_mutex_lock(&s->lock);
    xs_quota_give(&s->quota, user, pool, 1);
    xs_quota_user_put(&s->quota, user);
    pthread_mutex_unlock(&s->lock);
}

bool xs_connections_came(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user)
{
    return take(s, asker, XS_POOL_HTTP, ret_user);
}

void xs_connections_gone(struct xs_connections *s, struct xs_quota_user *user)
{
    give(s, user, XS_POOL_HTTP);
}

bool xs_connections_stream(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user)
{
    return take(s, asker, XS_POOL_STREAMS, ret_user);
}

void xs_connections_stream_gone(struct xs_connections *s, struct xs_quota_user *user)
{
    give(s, user, XS_POOL_STREAMS);
}
