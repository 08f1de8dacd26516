/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/asks.h"

#include "base/clock.h"
#include "base/str.h"
#include "xserver/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PACKETS_A_ROUND 4u
#define UNREAD_NS       (10 * XS_NS_PER_S) /* a connection that takes nothing of its answer for so long ends */
#define SILENT_NS       (60 * XS_NS_PER_S) /* ... and one that asks nothing */

/* From now on it is no program's. @return false: too many ask */
static bool begin(struct xs_server *s, struct xs_client *c)
{
    if (c->asking)
        return true;
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_ASKERS, 1, c->privileged))
        return false;
    c->asking = calloc(1, sizeof(*c->asking));
    if (!c->asking) {
        xs_quota_give(&s->quota, c->user, XS_POOL_ASKERS, 1);
        return false;
    }
    xs_quota_give(&s->quota, c->user, XS_POOL_UNJOINED, 1);
    s->n_unjoined--;
    xs_list_remove(&c->link);
    xs_list_add(&s->askers, &c->link);
    s->house_ns = s->now_ns;
    return true;
}

static uint64_t bytes_of(const struct xs_request *r, size_t queues, size_t clients)
{
    return queues * sizeof(*r->queues) + (clients + (r->kind == XS_REQ_CLIENTS ? XS_HISTORY_LENGTH : 0)) * sizeof(*r->clients) +
           (r->kind == XS_REQ_TIMELINE ? XS_TIMELINE_ANSWER * sizeof(*r->events) : 0) +
           (r->params.loads ? XS_LOADS_LENGTH * sizeof(*r->loads) : 0);
}

/* @return NULL, or why not */
static const char *make_room(struct xs_server *s, struct xs_client *c, struct xs_request *r)
{
    size_t queues, clients;
    uint64_t bytes;

    xs_requests_need(s, r, &queues, &clients);
    bytes = bytes_of(r, queues, clients);
    if (!xs_quota_take(&s->quota, c->user, XS_POOL_ANSWERS, bytes, c->privileged))
        return "answers that this user has not read yet take too much memory";
    c->asking->bytes = bytes;
    return xs_request_make_room(r, queues, clients) ? NULL : "out of memory";
}

/* Who asks: the process at the other end, or another one where that process may change everything anyway.
 * @return NULL, or why not */
static const char *find_asker(const struct xs_client *c, const struct xs_msg_ask *m, struct xs_request *r)
{
    if (m->flags & XS_ASK_FOR)
        return c->operates ? NULL : "only who may change everything may ask for another user";
    r->asker = (struct xs_asker){.uid = c->peer.uid,
                                 .share_key = c->record.share_key,
                                 .pid = c->peer.pid,
                                 .known = true,
                                 .all = c->operates};
    return NULL;
}

bool xs_asks_take(struct xs_server *s, struct xs_client *c, const struct xs_msg_ask *m)
{
    struct xs_request *r;
    const char *wrong;
    int status = 400;

    if (!begin(s, c)) {
        xs_client_drop(s, c, "too many connections that ask");
        return false;
    }
    r = c->asking->r ? NULL : xs_request_new((enum xs_request_kind)m->kind);
    if (!r) {
        xs_client_drop(s, c, c->asking->r ? "asks before it has its answer" : "out of memory");
        return false;
    }
    r->of = c;
    r->began_ns = r->step_ns = xs_now_ns();
    xs_subscribers_remove(c);
    c->asking->r = r;
    c->asking->layout = m->layout;
    c->asking->moved_ns = s->now_ns;
    s->counts.requests++;
    wrong = xs_ask_unpack(m, r);
    if (!wrong && (wrong = find_asker(c, m, r)) != NULL)
        status = 403;
    if (!wrong && m->layout != xs_ask_layout() && r->kind < XS_REQ_SET_POLICY) {
        wrong = "this xserver is XSched " XSCHED_VERSION ", and who asks is another build";
        status = 503;
    }
    if (!wrong && r->params.repeat)
        wrong = xs_subscribers_add(s, c, r);
    if (!wrong && (wrong = make_room(s, c, r)) != NULL)
        status = 503;
    if (!wrong && r->asker.all) /* a policy, say; other requests touch their devices themselves */
        s->level3.changed = true;
    if (wrong)
        xs_requests_answer(s, r, status, "%s", wrong);
    else
        xs_requests_handle(s, r);
    if (!c->dead)
        xs_client_listen(s, c);
    return !c->dead;
}

void xs_asks_again(struct xs_server *s, struct xs_client *c, struct xs_request *r)
{
    const char *wrong;

    r->of = c;
    r->began_ns = r->step_ns = xs_now_ns();
    c->asking->r = r;
    c->asking->moved_ns = s->now_ns;
    s->counts.requests++;
    wrong = make_room(s, c, r);
    if (wrong)
        xs_requests_answer(s, r, 503, "%s", wrong);
    else
        xs_requests_handle(s, r);
    if (!c->dead)
        xs_client_listen(s, c);
}

static void give_back(struct xs_server *s, struct xs_client *c)
{
    xs_quota_give(&s->quota, c->user, XS_POOL_ANSWERS, c->asking->bytes);
    c->asking->bytes = 0;
    c->asking->sending = false;
    c->asking->r = NULL;
}

/* @return 0, or -errno: -EAGAIN the rest must wait */
static int send_packet(int fd, const void *data, size_t bytes)
{
    ssize_t n;

    do
        n = send(fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* Sends some packets of the answer. @return 1 when all have left; 0 when the rest must wait, or -errno */
static int send_some(struct xs_server *s, struct xs_client *c)
{
    struct xs_asking *a = c->asking;
    bool records = a->r->status == 200 && a->layout == xs_ask_layout();
    union xs_msg m;
    int err;

    if (!a->head_sent) {
        xs_answer_pack(a->r, records, &m);
        err = xs_socket_send(c->fd, &m, XS_MSG_answer, ++c->serial, NULL, 0);
        if (err)
            return err == -EAGAIN ? 0 : err;
        a->head_sent = true;
        a->moved_ns = s->now_ns;
    }
    for (unsigned i = 0; records; i++) {
        char *from;
        size_t bytes = xs_answer_next(a->parts, &a->part, &a->at, &from);

        if (bytes == 0)
            break;
        if (i == PACKETS_A_ROUND)
            return 0;
        err = send_packet(c->fd, from, bytes);
        if (err)
            return err == -EAGAIN ? 0 : err;
        a->at += bytes;
        a->moved_ns = s->now_ns;
    }
    return 1;
}

void xs_asks_writable(struct xs_server *s, struct xs_client *c)
{
    uint64_t began_ns = xs_now_ns();
    struct xs_request *r = c->asking->r;
    int sent = c->asking->sending ? send_some(s, c) : 0;

    if (sent < 0) {
        xs_client_drop(s, c, "left");
        return;
    }
    xs_rate_asked(s, c, xs_now_ns() - began_ns);
    if (!sent)
        return;
    give_back(s, c);
    xs_request_free(r);
    xs_client_listen(s, c);
}

void xs_asks_answer(struct xs_server *s, struct xs_request *r)
{
    struct xs_client *c = r->of;
    struct xs_asking *a = c->asking;

    xs_subscribers_answered(c, r);
    xs_answer_parts(r, xs_answer_flags(r->kind), a->parts);
    a->part = 0;
    a->at = 0;
    a->head_sent = false;
    a->sending = true;
    a->moved_ns = s->now_ns;
    xs_rate_asked(s, c, r->work_ns);
    xs_asks_writable(s, c);
    if (!c->dead && a->sending)
        xs_client_listen(s, c);
}

uint32_t xs_asks_events(const struct xs_client *c)
{
    if (c->asking->r)
        return c->asking->sending ? EPOLLOUT : 0;
    return xs_rate_is_quiet(&c->rate) ? 0 : EPOLLIN;
}

void xs_asks_gone(struct xs_server *s, struct xs_client *c)
{
    struct xs_request *r = c->asking->r;

    xs_subscribers_remove(c);
    if (!r)
        return;
    give_back(s, c);
    r->of = NULL;
    if (r->done)
        xs_request_free(r);
    else
        xs_requests_abandon(s, r);
}

uint64_t xs_asks_housekeeping(struct xs_server *s)
{
    uint64_t next = UINT64_MAX;

    XS_LIST_FOR_SAFE(c, &s->askers, struct xs_client, link) {
        uint64_t end = c->asking->moved_ns + (c->asking->sending ? UNREAD_NS : SILENT_NS);

        next = XS_MIN(next, xs_subscribers_look(s, c));
        if (c->dead || (!c->asking->sending && (c->asking->r || c->operates || c->asking->subscriber)))
            continue;
        if (s->now_ns >= end)
            xs_client_drop(s, c, c->asking->sending ? "does not read its answer" : "asks nothing");
        else
            next = XS_MIN(next, end);
    }
    return next;
}
