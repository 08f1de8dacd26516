/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of programs: accepts them, reads their packets, sends to them, and drops them. join.c
 * and messages.c handle the content of the packets. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "xserver/shares/log_share.h"
#include "xserver/shares/user_quota.h"
#include "xserver/windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ACCEPTS_A_ROUND 64
#define PACKETS_A_ROUND 32 /* of one program; others get their turn in between */
#define SENDS_A_ROUND 32   /* of the messages to one program */
#define READ_NS         (300 * XS_NS_PER_US) /* no more after so long a round */

static void socket_ready(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    struct xs_client *c = source->client;

    if (events & EPOLLOUT)
        xs_client_writable(s, c);
    if (!c->dead && events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        xs_client_readable(s, c, events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP));
}

static void process_ended(struct xs_server *s, const struct xs_source *source, uint32_t events)
{
    (void)events;
    xs_client_drop(s, source->client, "exited");
}

static struct xs_client *client_new(struct xs_server *s, int fd, const struct xs_socket_peer *peer)
{
    struct xs_client *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->fd = fd;
    c->bell = -1;
    c->death_slot = -1;
    c->peer = *peer;
    c->accepted_ns = s->now_ns;
    c->socket_source = (struct xs_source){socket_ready, c};
    c->bell_source = (struct xs_source){NULL, c};
    c->pidfd_source = (struct xs_source){process_ended, c};
    xs_list_init(&c->queues);
    xs_list_init(&c->unsent);
    xs_list_init(&c->of_pid);
    xs_list_init(&c->devices);
    xs_list_init(&c->level3.steered_link);
    xs_swaps_joined(c);
    xs_rate_init(&c->rate);
    xs_list_init(&c->link);
    c->record.pid = peer->pid;
    c->record.uid = peer->uid;
    c->record.utilization = UTILIZATION_DEFAULT;
    return c;
}

void xs_client_accept(struct xs_server *s)
{
    bool may = true;

    for (int i = 0; i < ACCEPTS_A_ROUND && may && !(i && xs_now_ns() - s->now_ns > READ_NS); i++) {
        struct xs_socket_peer peer;
        struct xs_client *c;
        bool may_join;
        int fd = xs_socket_accept(s->socket.fd, &peer);

        s->last_fd = fd < 0 ? s->last_fd : fd;
        may = fd < 0 || xs_rate_accepted(s);
        if (fd < 0) {
            if (fd == -EMFILE || fd == -ENFILE) {
                /* the listener stays readable: close the oldest connection that said nothing */
                XS_WARN_ONCE("no descriptors left for more programs");
                if (!xs_list_empty(&s->unjoined))
                    xs_client_drop(s, XS_CONTAINER_OF(s->unjoined.next, struct xs_client, link),
                                   "no descriptors");
                usleep(1000);
            }
            return;
        }
        may_join = !xs_close_worker_behind(s->close_worker, peer.uid) && xs_user_quota_accept(s, &peer);
        c = may_join ? client_new(s, fd, &peer) : NULL;
        if (!c || !xs_user_quota_connection(s, c) ||
            xs_sources_add(s, fd, EPOLLIN | EPOLLRDHUP, &c->socket_source) < 0) {
            if (c)
                xs_user_quota_gone(s, c);
            free(c);
            xs_close_worker_close(s->close_worker, peer.uid, &fd);
            xs_fd_close(&peer.pidfd);
            continue;
        }
        if (peer.pidfd >= 0)
            (void)xs_sources_add(s, peer.pidfd, EPOLLIN, &c->pidfd_source);
        xs_list_add(&s->unjoined, &c->link);
        s->n_unjoined++;
        s->house_ns = s->now_ns;
    }
}

/* Closes those that the message did not need. @return whether there were any */
static bool close_unused(struct xs_server *s, uint32_t uid, int *fds, unsigned n_fds)
{
    bool any = false;

    for (unsigned i = 0; i < n_fds; i++) {
        any = any || fds[i] >= 0;
        xs_close_worker_close_passed(s->close_worker, uid, &fds[i]);
    }
    return any;
}

/* When there are no descriptors left, the kernel closes those of the message, which may take as long
 * as their maker likes. The kernel gives out the lowest free number, so the last one shows how many
 * there are. */
static ssize_t receive(struct xs_server *s, struct xs_client *c, unsigned char *packet, int *fds, unsigned *ret_n)
{
    bool scarce = s->last_fd > s->most_fds / 2;
    ssize_t n;

    if (XS_UNLIKELY(scarce))
        xs_close_worker_interrupt(s->close_worker, true);
    n = xs_socket_receive(c->fd, packet, fds, XS_SOCKET_MAX_FDS, ret_n);
    if (XS_UNLIKELY(scarce))
        xs_close_worker_interrupt(s->close_worker, false);
    for (unsigned i = 0; i < *ret_n; i++)
        s->last_fd = fds[i];
    return n;
}

void xs_client_readable(struct xs_server *s, struct xs_client *c, bool hung_up)
{
    if (hung_up && c->asking && c->asking->r) {
        xs_client_drop(s, c, "left");
        return;
    }
    for (int i = 0; i < PACKETS_A_ROUND && !c->dead && !(i && xs_now_ns() - s->now_ns > READ_NS); i++) {
        unsigned char packet[XS_WIRE_MAX_BYTES];
        int fds[XS_SOCKET_MAX_FDS];
        unsigned n_fds = 0;
        uint32_t uid = c->peer.uid;
        bool joined = c->joined;
        ssize_t n;

        if (c->asking && c->asking->r) /* one question at a time */
            return;
        if (i == 0 && !xs_rate_may_speak(s, c)) {
            if (hung_up) /* it would be an event in each round, and no program waits for an answer */
                xs_client_drop(s, c, "left");
            return;
        }
        n = receive(s, c, packet, fds, &n_fds);
        if (n == -EAGAIN)
            return;
        if (n == -EMSGSIZE) {
            s->counts.malformed++;
            xs_client_refuse(s, c, XS_REFUSED_MALFORMED, 0, 0, "a packet is longer than any message");
            xs_client_drop(s, c, "malformed message");
        } else if (n <= 0) {
            xs_client_drop(s, c, "left");
        } else {
            (void)xs_message_handle(s, c, packet, (size_t)n, fds, n_fds);
        }
        if (close_unused(s, uid, fds, n_fds) && !c->dead && xs_close_worker_behind(s->close_worker, uid))
            xs_client_drop(s, c, "sends descriptors faster than xserver can close them");
        if (!c->dead && !xs_rate_spoke(s, c, !joined && !c->asking))
            return;
    }
}

void xs_client_refuse(struct xs_server *s, struct xs_client *c, enum xs_refused_reason reason, unsigned of,
                      uint64_t handle, const char *text)
{
    union xs_msg m;

    memset(&m, 0, sizeof(m));
    m.refused.reason = reason;
    m.refused.of = of;
    m.refused.handle = handle;
    xs_str_copy(m.refused.text, sizeof(m.refused.text), text);
    s->counts.refused++;
    if (c->refusals++ == 0 && xs_log_share(c, s->now_ns))
        XS_WARN("pid %d (uid %u): %s refused: %s", (int)c->peer.pid, c->peer.uid,
                of ? xs_wire_name(of) : "packet", text);
    /* a program that does not read its refusals loses them */
    (void)xs_socket_send(c->fd, &m, XS_MSG_refused, ++c->serial, NULL, 0);
}

void xs_client_listen(struct xs_server *s, struct xs_client *c)
{
    struct epoll_event ev = {.events = EPOLLRDHUP, .data.ptr = &c->socket_source};

    if (c->asking)
        ev.events |= xs_asks_events(c);
    else if (!xs_rate_is_quiet(&c->rate))
        ev.events |= EPOLLIN | (c->waiting_to_send ? EPOLLOUT : 0u);

    epoll_ctl(s->sources.epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

static void want_to_write(struct xs_server *s, struct xs_client *c, bool want)
{
    if (c->waiting_to_send == want)
        return;
    c->waiting_to_send = want;
    xs_client_listen(s, c);
}

/* @return false when the rest must wait */
static bool send_pending(struct xs_server *s, struct xs_client *c, struct xs_server_queue *q)
{
    union xs_msg m;

    if (q->send_hints) {
        struct xs_dated_hints h = xs_server_queue_hints(q);

        memset(&m, 0, sizeof(m));
        m.queue_hints.handle = q->handle;
        xs_hints_pack(&m.queue_hints, &h, s->clock_offset_ns);
        if (xs_socket_send(c->fd, &m, XS_MSG_queue_hints, ++c->serial, NULL, 0) == -EAGAIN)
            return false;
        q->send_hints = false;
    }
    if (q->send_config) {
        memset(&m, 0, sizeof(m));
        m.queue_config = q->config;
        if (xs_socket_send(c->fd, &m, XS_MSG_queue_config, ++c->serial, NULL, 0) == -EAGAIN)
            return false;
        q->send_config = false;
        memset(&q->config, 0, sizeof(q->config));
    }
    return true;
}

void xs_client_tell(struct xs_server *s, struct xs_server_queue *q)
{
    if (!q->client->waiting_to_send && xs_rate_may_speak(s, q->client) && send_pending(s, q->client, q)) {
        (void)xs_rate_spoke(s, q->client, false);
        return;
    }
    if (xs_list_empty(&q->in_unsent))
        xs_list_add(&q->client->unsent, &q->in_unsent);
    want_to_write(s, q->client, true);
}

void xs_client_ask_mark(struct xs_server_queue *q)
{
    union xs_msg m = {.queue_mark = {.handle = q->handle}};
    struct xs_client *c = q->client;

    if (c->record.protocol_minor < 3 || c->dead || c->waiting_to_send)
        return; /* it notices the end later */
    (void)xs_socket_send(c->fd, &m, XS_MSG_queue_mark, ++c->serial, NULL, 0);
}

void xs_client_writable(struct xs_server *s, struct xs_client *c)
{
    if (c->asking) {
        xs_asks_writable(s, c);
        return;
    }
    for (unsigned i = 0; i < SENDS_A_ROUND && !xs_list_empty(&c->unsent); i++) {
        struct xs_server_queue *q = XS_CONTAINER_OF(c->unsent.next, struct xs_server_queue, in_unsent);

        if (!send_pending(s, c, q))
            return;
        xs_list_remove(&q->in_unsent);
        if (!xs_rate_spoke(s, c, false))
            return; /* ready again once xserver may send more */
    }
    if (xs_list_empty(&c->unsent)) /* else the socket is ready the next time as well */
        want_to_write(s, c, false);
}

void xs_client_counts_of_queue(struct xs_server *s, const struct xs_server_queue *q, struct xs_client_record *sum)
{
    struct xs_sched_queue_status st;

    xs_sched_queue_status(q->sched, s->now_ns, &st);
    sum->entered += st.entered;
    sum->running_ns += st.running_ns;
    sum->waiting_ns += st.waiting_ns;
    sum->gathered_ns += st.gathered_ns;
    sum->service_ns += st.service_ns;
    sum->suspensions += st.suspensions;
    sum->preemptions += st.preemptions;
    sum->held_ns += atomic_load_explicit(&q->client->page->cells[q->cell].held_ns, memory_order_relaxed);
}

void xs_client_memory(const struct xs_client *c, struct xs_client_record *ret)
{
    ret->memory_used = atomic_load_explicit(&c->page->h.memory_used, memory_order_relaxed);
    ret->memory_limit = atomic_load_explicit(&c->page->h.memory_limit, memory_order_relaxed);
    xs_swaps_describe(c, ret);
}

void xs_client_describe(struct xs_server *s, const struct xs_client *c, struct xs_client_record *ret)
{
    *ret = c->record;
    xs_client_memory(c, ret);
    XS_LIST_FOR(q, &((struct xs_client *)(uintptr_t)c)->queues, struct xs_server_queue, in_client)
        xs_client_counts_of_queue(s, q, ret);
}

void xs_client_drop(struct xs_server *s, struct xs_client *c, const char *why)
{
    if (c->dead)
        return;
    c->dead = true;
    xs_rate_forget(c);
    xs_list_remove(&c->link);
    xs_list_remove(&c->of_pid);
    if (c->joined) {
        xs_swaps_left(s, c);
        xs_client_leave(s, c, why); /* opens its words before the socket closes */
        xs_windows_left(s, c->peer.pid);
    } else {
        if (c->asking)
            xs_asks_gone(s, c);
        else
            s->n_unjoined--;
        xs_user_quota_gone(s, c);
        xs_list_add(&s->dead, &c->link);
    }
    /* The program has the eventfd too: closing our descriptor would not take it out of the set. */
    if (c->bell >= 0)
        epoll_ctl(s->sources.epoll, EPOLL_CTL_DEL, c->bell, NULL);
    if (c->peer.pidfd >= 0)
        epoll_ctl(s->sources.epoll, EPOLL_CTL_DEL, c->peer.pidfd, NULL);
    if (c->expected && !c->joined && s->options.idle_exit_s && c->peer.pidfd >= 0 &&
        c->peer.uid == s->own_uid) {
        xs_announced_add(&s->expected, c->peer.pidfd);
        c->peer.pidfd = -1;
    }
    epoll_ctl(s->sources.epoll, EPOLL_CTL_DEL, c->fd, NULL);
    xs_close_worker_close(s->close_worker, c->peer.uid, &c->fd);
    xs_fd_close(&c->bell); /* an eventfd: join.c looked */
    xs_fd_close(&c->peer.pidfd);
}

bool xs_client_reap(struct xs_server *s, uint64_t until_ns)
{
    XS_LIST_FOR_SAFE(c, &s->clients, struct xs_client, link) {
        if (c->death_slot < 0 || !(atomic_load_explicit(&c->page->h.owner_tid, memory_order_relaxed) & XS_OWNER_DIED))
            continue;
        xs_client_drop(s, c, "ended");
        if (xs_now_ns() > until_ns)
            return false;
    }
    return true;
}
