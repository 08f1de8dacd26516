/* SPDX-License-Identifier: Apache-2.0 */
#include "asks/ask_line.h"

#include "asks/ask_wire.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/sys.h"
#include "transport/socket.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE    4u          /* connections that it keeps */
#define LOOK_NS XS_NS_PER_S /* how often it looks whether xserver is stopped */

struct xs_line {
    char path[XS_SOCKET_PATH_BYTES];
    bool for_other;
    bool (*is_stopped)(const char *server_socket); /* NULL: nobody looks */
    /* Lock: connections to xserver that no question uses. A thread that asks holds it for a few stores. */
    pthread_mutex_t lock;
    unsigned n;
    int idle[IDLE];
};

struct xs_line *xs_line_new(const char *socket_path, bool for_other)
{
    struct xs_line *line = calloc(1, sizeof(*line));

    if (!line)
        return NULL;
    xs_str_copy(line->path, sizeof(line->path), socket_path);
    line->for_other = for_other;
    pthread_mutex_init(&line->lock, NULL);
    return line;
}

void xs_line_free(struct xs_line *line)
{
    if (!line)
        return;
    while (line->n > 0)
        close(line->idle[--line->n]);
    pthread_mutex_destroy(&line->lock);
    free(line);
}

static int take(struct xs_line *line)
{
    int fd = -1;

    pthread_mutex_lock(&line->lock);
    if (line->n > 0)
        fd = line->idle[--line->n];
    pthread_mutex_unlock(&line->lock);
    return fd;
}

static void keep(struct xs_line *line, int fd)
{
    pthread_mutex_lock(&line->lock);
    if (line->n < IDLE) {
        line->idle[line->n++] = fd;
        fd = -1;
    }
    pthread_mutex_unlock(&line->lock);
    xs_fd_close(&fd);
}

void xs_line_watch(struct xs_line *line, bool (*is_stopped)(const char *server_socket))
{
    line->is_stopped = is_stopped;
}

static int wait_for(const struct xs_line *line, int fd, short events, uint64_t until_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    uint64_t now_ns = xs_now_ns();

    while (now_ns < until_ns) {
        uint64_t ns = XS_MIN(until_ns - now_ns, line->is_stopped ? LOOK_NS : UINT64_MAX);

        if (poll(&p, 1, (int)(ns / XS_NS_PER_MS) + 1) > 0)
            return 0;
        if (line->is_stopped && line->is_stopped(line->path))
            return -EHOSTDOWN;
        now_ns = xs_now_ns();
    }
    return -ETIMEDOUT;
}

static int put(const struct xs_line *line, int fd, const struct xs_request *r, uint64_t until_ns)
{
    union xs_msg m;
    int err;

    xs_ask_pack(r, line->for_other, &m);
    while ((err = xs_socket_send(fd, &m, XS_MSG_ask, 1, NULL, 0)) == -EAGAIN) {
        err = wait_for(line, fd, POLLOUT, until_ns);
        if (err)
            return err;
    }
    return err;
}

/* One packet. @return its bytes, or -errno */
static ssize_t get(const struct xs_line *line, int fd, void *to, size_t bytes, uint64_t until_ns)
{
    for (;;) {
        ssize_t n = recv(fd, to, bytes, MSG_DONTWAIT | MSG_TRUNC);
        int err;

        if (n > 0)
            return (size_t)n > bytes ? -EBADMSG : n;
        if (n == 0)
            return -ECONNRESET;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        err = wait_for(line, fd, POLLIN, until_ns);
        if (err)
            return err;
    }
}

static int get_records(const struct xs_line *line, int fd, struct xs_request *r, uint32_t flags, uint64_t until_ns)
{
    struct xs_answer_part parts[XS_ANSWER_PARTS];
    unsigned part = 0;
    size_t at = 0, bytes;
    char *to;

    xs_answer_parts(r, flags, parts);
    while ((bytes = xs_answer_next(parts, &part, &at, &to)) > 0) {
        ssize_t n = get(line, fd, to, bytes, until_ns);

        if (n < 0)
            return (int)n;
        if ((size_t)n != bytes)
            return -EBADMSG;
        at += bytes;
    }
    return 0;
}

static int get_answer(const struct xs_line *line, int fd, struct xs_request *r, uint64_t until_ns)
{
    unsigned char packet[XS_WIRE_MAX_BYTES];
    union xs_msg m;
    ssize_t n = get(line, fd, packet, sizeof(packet), until_ns);
    int err;

    if (n < 0)
        return (int)n;
    if (xs_wire_open(packet, (size_t)n, &m, NULL) < 0 || m.head.id != XS_MSG_answer)
        return -EBADMSG;
    if (m.answer.layout != xs_ask_layout()) {
        m.answer.clients = m.answer.ended = m.answer.queues = m.answer.events = m.answer.loads = 0;
        m.answer.flags &= XS_ANSWER_ALL;
    }
    err = xs_answer_unpack(&m.answer, r);
    return err ? err : get_records(line, fd, r, m.answer.flags, until_ns);
}

int xs_line_ask(struct xs_line *line, struct xs_request *r, uint64_t timeout_ns)
{
    uint64_t until_ns = xs_now_ns() + timeout_ns;
    int fd = take(line), err = fd < 0 ? -EPIPE : put(line, fd, r, until_ns);

    while (err == -EPIPE || err == -ECONNRESET) { /* that xserver has closed it meanwhile */
        bool fresh;

        xs_fd_close(&fd);
        fd = take(line);
        fresh = fd < 0;
        if (fresh)
            fd = xs_socket_connect(line->path, timeout_ns);
        err = fd < 0 ? fd : put(line, fd, r, until_ns);
        if (fresh)
            break;
    }
    if (err == 0)
        err = get_answer(line, fd, r, until_ns);
    if (err == 0) {
        r->done = true;
        keep(line, fd);
        return 0;
    }
    xs_fd_close(&fd);
    xs_request_free(r);
    return err;
}

struct xs_subscription {
    const struct xs_line *line;
    int fd;
    enum xs_request_kind kind;
    struct xs_asker asker;
    struct xs_request_params params;
};

struct xs_subscription *xs_subscription_begin(const struct xs_line *line, const struct xs_request *r, uint64_t timeout_ns)
{
    struct xs_subscription *s = calloc(1, sizeof(*s));
    struct xs_request asks = *r;

    if (!s)
        return NULL;
    asks.params.repeat = true;
    s->line = line;
    s->kind = r->kind;
    s->asker = r->asker;
    s->params = asks.params;
    s->fd = xs_socket_connect(line->path, timeout_ns);
    if (s->fd >= 0 && put(line, s->fd, &asks, xs_now_ns() + timeout_ns) == 0)
        return s;
    xs_subscription_end(s);
    return NULL;
}

int xs_subscription_fd(const struct xs_subscription *s)
{
    return s->fd;
}

int xs_subscription_next(struct xs_subscription *s, struct xs_request **ret, uint64_t timeout_ns)
{
    struct xs_request *r = xs_request_new(s->kind);
    int err;

    if (!r)
        return -ENOMEM;
    r->asker = s->asker;
    r->params = s->params;
    err = get_answer(s->line, s->fd, r, xs_now_ns() + timeout_ns);
    if (err < 0) {
        xs_request_free(r);
        return err;
    }
    s->params.loads = false;
    r->done = true;
    *ret = r;
    return 0;
}

void xs_subscription_end(struct xs_subscription *s)
{
    if (!s)
        return;
    xs_fd_close(&s->fd);
    free(s);
}
