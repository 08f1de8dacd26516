/* SPDX-License-Identifier: Apache-2.0 */
#include "http/connections.h"

#include "base/clock.h"
#include "host/user_key.h"

#include <pthread.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX /* all askers without a known user count as one */

struct xs_connections {
    bool by_pod;
    /* Lock: the quota of connections. */
    pthread_mutex_t lock;
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
    s->quota.size[XS_POOL_ANSWERS] = XS_HTTP_ANSWERS;
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

static bool take(struct xs_connections *s, const struct xs_asker *asker, enum xs_pool pool, struct xs_connection_of *ret)
{
    bool inside, ok = false;
    uint64_t key = xs_user_key(s->by_pod, asker->known ? asker->uid : NOBODY, asker->pid, &inside);
    struct xs_quota_user *u;

    ret->privileged = asker->all && !inside;
    pthread_mutex_lock(&s->lock);
    u = xs_quota_user_get(&s->quota, key);
    if (u)
        ok = xs_quota_take(&s->quota, u, pool, 1, ret->privileged);
    if (!ok)
        xs_quota_user_put(&s->quota, u);
    pthread_mutex_unlock(&s->lock);
    ret->user = ok ? u : NULL;
    return ok;
}

static void give(struct xs_connections *s, struct xs_quota_user *user, enum xs_pool pool, uint64_t n)
{
    if (!user)
        return;
    pthread_mutex_lock(&s->lock);
    xs_quota_give(&s->quota, user, pool, n);
    xs_quota_user_put(&s->quota, user);
    pthread_mutex_unlock(&s->lock);
}

bool xs_connections_came(struct xs_connections *s, const struct xs_asker *asker, struct xs_connection_of *ret)
{
    return take(s, asker, XS_POOL_HTTP, ret);
}

void xs_connections_gone(struct xs_connections *s, struct xs_quota_user *user)
{
    give(s, user, XS_POOL_HTTP, 1);
}

/* The caller has the lock. */
static void recover(struct xs_quota_user *u)
{
    uint64_t now = xs_now_ns(), back = (now - u->http_since_ns) / 100 * XS_HTTP_PERCENT;

    u->http_spent_ns -= XS_MIN(back, u->http_spent_ns);
    u->http_since_ns = now;
}

uint64_t xs_connections_wait_ms(struct xs_connections *s, const struct xs_connection_of *of)
{
    uint64_t over;

    if (!of->user || of->privileged)
        return 0;
    pthread_mutex_lock(&s->lock);
    recover(of->user);
    over = of->user->http_spent_ns > XS_HTTP_SAVED_NS ? of->user->http_spent_ns - XS_HTTP_SAVED_NS : 0;
    pthread_mutex_unlock(&s->lock);
    return over ? over / XS_HTTP_PERCENT * 100 / XS_NS_PER_MS + 1 : 0;
}

void xs_connections_worked(struct xs_connections *s, const struct xs_connection_of *of, uint64_t ns)
{
    if (!of->user || of->privileged)
        return;
    pthread_mutex_lock(&s->lock);
    recover(of->user);
    of->user->http_spent_ns += ns;
    pthread_mutex_unlock(&s->lock);
}

bool xs_connections_answer(struct xs_connections *s, const struct xs_connection_of *of, size_t bytes)
{
    bool ok;

    if (!of->user)
        return false;
    pthread_mutex_lock(&s->lock);
    ok = xs_quota_take(&s->quota, of->user, XS_POOL_ANSWERS, bytes, of->privileged);
    of->user->refs += ok;
    pthread_mutex_unlock(&s->lock);
    return ok;
}

void xs_connections_answer_gone(struct xs_connections *s, struct xs_quota_user *user, size_t bytes)
{
    give(s, user, XS_POOL_ANSWERS, bytes);
}

bool xs_connections_stream(struct xs_connections *s, const struct xs_asker *asker, struct xs_quota_user **ret_user)
{
    struct xs_connection_of of;
    bool ok = take(s, asker, XS_POOL_STREAMS, &of);

    *ret_user = of.user;
    return ok;
}

void xs_connections_stream_gone(struct xs_connections *s, struct xs_quota_user *user)
{
    give(s, user, XS_POOL_STREAMS, 1);
}
