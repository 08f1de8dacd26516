/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/shares/user_quota.h"

#include "host/user_key.h"
#include "xserver/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define UNJOINED        256u
#define PLACES          2048u
#define LEVEL3          256u
#define CLIENT_DEVICES  128u  /* of one program */
#define OWN_DESCRIPTORS 640u  /* the server's own, and those that close workers have not closed yet */
#define CONNECTION_FDS  3u    /* its socket, its process, its doorbell */

void xs_user_quota_configure(struct xs_server *s)
{
    struct xs_quota *q = &s->quota;
    struct rlimit l = {.rlim_cur = 1024};

    getrlimit(RLIMIT_NOFILE, &l);
    q->size[XS_POOL_UNJOINED] = UNJOINED;
    q->size[XS_POOL_ASKERS] = XS_ASKERS;
    q->size[XS_POOL_ANSWERS] = XS_ASKS_ANSWERS;
    q->size[XS_POOL_SESSIONS] = s->options.max_clients;
    q->size[XS_POOL_QUEUES] = s->options.max_queues;
    q->size[XS_POOL_PLACES] = PLACES;
    q->size[XS_POOL_LEVEL3] = LEVEL3;
    /* with few descriptors the kernel's refusal decides, as without shares */
    q->size[XS_POOL_DESCRIPTORS] =
        l.rlim_cur > 2 * OWN_DESCRIPTORS ? l.rlim_cur - OWN_DESCRIPTORS : XS_MAX((uint64_t)l.rlim_cur, 64ull);
}

static uint64_t key_of(const struct xs_server *s, const struct xs_socket_peer *peer, bool *ret_inside)
{
    return xs_user_key(!strcmp(s->options.share_by, "pod"), peer->uid, peer->pid, ret_inside);
}

bool xs_user_quota_accept(struct xs_server *s, const struct xs_socket_peer *peer)
{
    bool inside, within;
    struct xs_quota_user *u;

    if (peer->uid == 0 || peer->uid == s->own_uid)
        return true;
    u = xs_quota_user_get(&s->quota, key_of(s, peer, &inside));
    if (!u)
        return false;
    within = xs_rate_spend(&u->connects, XS_RATE_PARTS * XS_RATE_CONNECT, 0, s->now_ns);
    xs_quota_user_put(&s->quota, u);
    return within;
}

static struct xs_client *oldest_of(struct xs_server *s, const struct xs_quota_user *u)
{
    XS_LIST_FOR(c, &s->unjoined, struct xs_client, link)
        if (c->user == u)
            return c;
    return NULL;
}

static void forget_user(struct xs_server *s, struct xs_client *c)
{
    xs_quota_user_put(&s->quota, c->user);
    c->user = NULL;
}

bool xs_user_quota_connection(struct xs_server *s, struct xs_client *c)
{
    bool inside;
    uint64_t key = key_of(s, &c->peer, &inside);

    c->operates = xs_client_operates(s, c);
    c->privileged = !inside && c->operates;
    c->record.share_key = key;
    c->user = xs_quota_user_get(&s->quota, key);
    if (!c->user)
        return false;
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_DESCRIPTORS, CONNECTION_FDS, c->privileged)) {
        forget_user(s, c);
        return false;
    }
    while (!xs_quota_take(&s->quota, c->user, XS_POOL_UNJOINED, 1, c->privileged)) {
        struct xs_client *other = oldest_of(s, c->user);

        if (!other)
            other = oldest_of(s, xs_quota_greatest(&s->quota, XS_POOL_UNJOINED));
        if (!other) {
            xs_quota_give(&s->quota, c->user, XS_POOL_DESCRIPTORS, CONNECTION_FDS);
            forget_user(s, c);
            return false;
        }
        xs_client_drop(s, other, "too many connections");
    }
    return true;
}

const char *xs_user_quota_join(struct xs_server *s, struct xs_client *c)
{
    if (c->user->used[XS_POOL_SESSIONS] >= s->options.max_user_clients)
        return "too many joined programs (max-clients-per-user)";
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_SESSIONS, 1, c->privileged))
        return "too many joined programs (max-clients, of which each user gets a share)";
    c->charged = true;
    return NULL;
}

void xs_user_quota_gone(struct xs_server *s, struct xs_client *c)
{
    struct xs_quota *q = &s->quota;

    if (!c->user)
        return;
    xs_quota_give(q, c->user, XS_POOL_SESSIONS, c->charged);
    xs_quota_give(q, c->user, XS_POOL_UNJOINED, !c->joined && !c->asking);
    xs_quota_give(q, c->user, XS_POOL_ASKERS, c->asking != NULL);
    xs_quota_give(q, c->user, XS_POOL_QUEUES, c->record.queues);
    xs_quota_give(q, c->user, XS_POOL_PLACES, c->n_places);
    xs_quota_give(q, c->user, XS_POOL_DESCRIPTORS, CONNECTION_FDS);
    forget_user(s, c);
}

struct xs_client_device *xs_client_device_find(const struct xs_client *c, XDevice device)
{
    XS_LIST_FOR(on, &((struct xs_client *)(uintptr_t)c)->devices, struct xs_client_device, in_client)
        if (on->device == device)
            return on;
    return NULL;
}

const char *xs_user_quota_queue(struct xs_server *s, struct xs_client *c, struct xs_server_queue *q, XDevice device)
{
    struct xs_client_device *on = xs_client_device_find(c, device);
    unsigned places = !on || c->record.intra;

    if (c->record.queues >= s->options.max_client_queues || c->user->used[XS_POOL_QUEUES] >= s->options.max_user_queues)
        return "too many queues (max-queues-per-client, max-queues-per-user)";
    if (!on && c->n_devices >= CLIENT_DEVICES)
        return "too many devices of one program";
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_PLACES, places, c->privileged))
        return "too many programs and devices to decide about, of which each user gets a share";
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_QUEUES, 1, c->privileged)) {
        xs_quota_give(&s->quota, c->user, XS_POOL_PLACES, places);
        return "too many queues (max-queues, of which each user gets a share)";
    }
    if (!on) {
        on = calloc(1, sizeof(*on));
        if (!on) {
            xs_quota_give(&s->quota, c->user, XS_POOL_QUEUES, 1);
            xs_quota_give(&s->quota, c->user, XS_POOL_PLACES, places);
            return "out of memory";
        }
        on->device = device;
        xs_list_init(&on->queues);
        xs_list_add(&c->devices, &on->in_client);
        xs_lv3_kfd_on(s, c, on);
        c->n_devices++;
    }
    c->n_places += places;
    on->n++;
    q->on = on;
    q->device = device;
    xs_list_add(&on->queues, &q->in_device);
    return NULL;
}

void xs_user_quota_queue_gone(struct xs_server *s, struct xs_client *c, struct xs_server_queue *q)
{
    struct xs_client_device *on = q->on;
    unsigned places = --on->n == 0 || c->record.intra;

    xs_list_remove(&q->in_device);
    xs_quota_give(&s->quota, c->user, XS_POOL_QUEUES, 1);
    xs_quota_give(&s->quota, c->user, XS_POOL_PLACES, places);
    c->n_places -= places;
    if (on->n > 0)
        return;
    xs_lv3_kfd_off(s, c, on);
    xs_list_remove(&on->in_client);
    c->n_devices--;
    free(on);
}

void xs_user_quota_free_devices(struct xs_client *c)
{
    XS_LIST_FOR_SAFE(on, &c->devices, struct xs_client_device, in_client) {
        xs_list_remove(&on->in_client);
        free(on);
    }
}
