/* SPDX-License-Identifier: Apache-2.0 */
/* Two listeners of libmicrohttpd, one thread each. Puts requests together. */
#include "http/listeners.h"

#include "answers/answer_json.h"
#include "base/log.h"
#include "host/interrupt_timer.h"
#include "http/connections.h"
#include "http/deadlines.h"
#include "http/http_framing.h"
#include "http/http_guard.h"
#include "http/http_routes.h"
#include "http/reply.h"
#include "http/tcp_owner.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define MAX_BODY_BYTES  65536u
#define MAX_CONNECTIONS (2 * XS_HTTP_CONNECTIONS) /* of one listener: some above the share, to refuse them */
#define TIMEOUT_S       15u
#define INTERRUPT_US        20000u
#define REQUEST_NS      (10 * XS_NS_PER_S) /* for a whole request, from the connect or the end of the answer before it */
#define ANSWER_NS       (60 * XS_NS_PER_S) /* for the answer, until its client has it */

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

struct xs_http {
    struct xs_line *line;
    struct xs_connections *shares;
    struct MHD_Daemon *tcp, *unix_;
    struct xs_events *events; /* NULL: there are none */
    struct xs_deadlines *deadlines;
    uint16_t port; /* of tcp; 0: none */
    bool bare;     /* the kernel lets no client send descriptors through unix_ (Linux 6.16) */
    struct xs_interrupt_timer interrupts; /* of the thread of unix_, as n_unix; see interrupt_closes() */
    unsigned n_unix;       /* its connections */
};

/* The state of a connection. */
struct http_connection {
    struct xs_connection_of of; /* the user whose share it takes */
    struct xs_deadline *deadline;
};

/* The state of a request whose target has a NUL, from its first line until handle() sees it. */
static char k_target_with_nul;

/* A request of which parts are still to come. */
struct exchange {
    char *body;
    size_t bytes;
    bool too_long;
};

static void take_body(struct exchange *x, const char *data, size_t bytes)
{
    char *more;

    if (x->too_long || x->bytes + bytes > MAX_BODY_BYTES) {
        x->too_long = true; /* the rest of the body goes nowhere */
        return;
    }
    more = realloc(x->body, x->bytes + bytes + 1);
    if (!more) {
        x->too_long = true;
        return;
    }
    x->body = more;
    memcpy(x->body + x->bytes, data, bytes);
    x->bytes += bytes;
    x->body[x->bytes] = 0;
}

/* NULL: there was no memory for it. */
static struct http_connection *state_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

static void set_deadline(struct xs_http *h, struct MHD_Connection *connection, uint64_t ns)
{
    const struct http_connection *c = state_of(connection);

    if (c)
        xs_deadline_set(h->deadlines, c->deadline, ns);
}

static enum MHD_Result reply(struct xs_http *h, struct MHD_Connection *connection, int status, struct xs_route_answer *a)
{
    static const struct xs_connection_of nobody;
    const struct http_connection *c = state_of(connection);

    return xs_reply(connection, status, a, h->shares, c ? &c->of : &nobody);
}

/* The first call is before the body. An answer now ends the connection, so that the bytes after it are
 * no further request. */
static enum MHD_Result begin(struct xs_http *h, struct MHD_Connection *connection, const char *version, void **state)
{
    const char *wrong = *state == &k_target_with_nul ? "there is a NUL in the path" : xs_framing_check(connection, version);
    struct xs_route_answer answer = {.close = true};

    *state = NULL;
    if (wrong) {
        answer.json = xs_json_error(wrong);
        return reply(h, connection, 400, &answer);
    }
    *state = calloc(1, sizeof(struct exchange));
    return *state ? MHD_YES : MHD_NO;
}

static uint64_t thread_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * XS_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The request is complete. */
static enum MHD_Result answer_it(struct xs_http *h, uint16_t port, struct MHD_Connection *connection, const char *url,
                                 const char *method, const struct exchange *x, const struct http_connection *c)
{
    struct xs_route_call call = {
        .connection = connection,
        .url = url,
        .method = method,
        .body = x->body ? x->body : "",
        .body_bytes = x->bytes,
        .port = port,
        .share_key = c && c->of.user ? c->of.user->key : 0,
        .line = h->line,
        .events = h->events,
    };
    struct xs_route_answer answer = {0};
    uint64_t began = thread_ns();
    int status = xs_route(&call, &answer);
    enum MHD_Result result = MHD_YES;

    if (status == 0)
        set_deadline(h, connection, 0); /* a stream has no end */
    else
        result = reply(h, connection, status, &answer);
    if (c)
        xs_connections_worked(h->shares, &c->of, thread_ns() - began + answer.work_ns);
    return result;
}

static enum MHD_Result handle(struct xs_http *h, uint16_t port, struct MHD_Connection *connection,
                              const char *url, const char *method, const char *version, const char *data,
                              size_t *data_bytes, void **state)
{
    const struct http_connection *c = state_of(connection);
    struct exchange *x = *state;
    struct xs_route_answer answer = {0};
    uint64_t wait_ms;
    char text[80];

    if (!x || *state == &k_target_with_nul)
        return begin(h, connection, version, state);
    if (*data_bytes) {
        take_body(x, data, *data_bytes);
        *data_bytes = 0;
        return MHD_YES;
    }
    set_deadline(h, connection, ANSWER_NS);
    if (x->too_long) {
        answer.json = xs_json_error("the body is too long");
        return reply(h, connection, 413, &answer);
    }
    wait_ms = c ? xs_connections_wait_ms(h->shares, &c->of) : 0;
    if (wait_ms) {
        snprintf(text, sizeof(text), "too many requests of this user: try again in %llu ms", (unsigned long long)wait_ms);
        answer.json = xs_json_error(text);
        answer.close = true;
        answer.retry_s = wait_ms / 1000 + 1;
        return reply(h, connection, 429, &answer);
    }
    return answer_it(h, port, connection, url, method, x, c);
}

static enum MHD_Result handle_tcp(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_bytes, void **state)
{
    struct xs_http *h = cls;

    return handle(h, h->port, connection, url, method, version, data, data_bytes, state);
}

static enum MHD_Result handle_unix(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *data_bytes, void **state)
{
    return handle(cls, 0, connection, url, method, version, data, data_bytes, state);
}

static void completed(void *cls, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *state != &k_target_with_nul ? *state : NULL;

    (void)why;
    set_deadline(cls, connection, REQUEST_NS);
    if (x) {
        free(x->body);
        free(x);
    }
    *state = NULL;
}

static void log_line(void *cls, const char *format, va_list ap)
{
    char text[256];

    (void)cls;
    vsnprintf(text, sizeof(text), format, ap);
    text[strcspn(text, "\n")] = 0;
    XS_DEBG("HTTP: %s", text);
}

/* Where the kernel lets descriptors through, the thread that reads the connection also closes them,
 * which can take as long as the sender likes. While there are connections, signals end such waits. */
static void interrupt_closes(struct xs_http *h, enum MHD_ConnectionNotificationCode code)
{
    if (!h->interrupts.usable)
        xs_interrupt_timer_init(&h->interrupts); /* the calling thread is the one that needs it */
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        h->n_unix++;
    else
        h->n_unix--;
    if (h->n_unix)
        xs_interrupt_timer_begin(&h->interrupts, INTERRUPT_US);
    else
        xs_interrupt_timer_once(&h->interrupts, INTERRUPT_US); /* the last socket closes after this */
}

/* For a connection above its user's share: the daemon reads nothing from it and closes it. */
static void hang_up(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    if (info)
        shutdown(info->connect_fd, SHUT_RDWR);
}

static struct http_connection *came(struct xs_http *h, uint16_t port, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_connection *c = calloc(1, sizeof(*c));
    struct xs_asker asker;

    xs_guard_peer(connection, port, &asker);
    if (!c || !xs_connections_came(h->shares, &asker, &c->of))
        hang_up(connection);
    if (c && info)
        c->deadline = xs_deadline_add(h->deadlines, info->connect_fd, REQUEST_NS);
    return c;
}

/* libmicrohttpd calls it at the end of a connection, before it closes the socket. */
static void notify(struct xs_http *h, uint16_t port, struct MHD_Connection *connection, void **state,
                   enum MHD_ConnectionNotificationCode code)
{
    struct http_connection *c = *state;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *state = came(h, port, connection);
        return;
    }
    if (c) {
        xs_deadline_remove(h->deadlines, c->deadline);
        xs_connections_gone(h->shares, c->of.user);
        free(c);
    }
    *state = NULL;
}

static void notify_tcp(void *cls, struct MHD_Connection *connection, void **state, enum MHD_ConnectionNotificationCode code)
{
    struct xs_http *h = cls;

    notify(h, h->port, connection, state, code);
}

static void notify_unix(void *cls, struct MHD_Connection *connection, void **state, enum MHD_ConnectionNotificationCode code)
{
    struct xs_http *h = cls;

    notify(h, 0, connection, state, code);
    if (!h->bare)
        interrupt_closes(h, code);
}

/* The request line came. */
static void *first_line(void *cls, const char *target, struct MHD_Connection *connection)
{
    (void)cls;
    (void)connection;
    return xs_framing_has_nul(target) ? &k_target_with_nul : NULL;
}

static struct MHD_Daemon *start(struct xs_http *h, int fd, MHD_AccessHandlerCallback handler,
                                MHD_NotifyConnectionCallback on_connection)
{
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)completed, h},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, h},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)first_line, h},
        {MHD_OPTION_END, 0, NULL},
    };

    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handler, h,
        MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

/* The daemon has the socket from then on. @return 0 or -errno */
static int start_tcp(struct xs_http *h, int fd)
{
    struct sockaddr_in at = {0};
    socklen_t size = sizeof(at);

    if (getsockname(fd, (struct sockaddr *)&at, &size) < 0)
        return -errno;
    h->port = ntohs(at.sin_port);
    xs_tcp_owner_init(h->port);
    h->tcp = start(h, fd, handle_tcp, notify_tcp);
    return h->tcp ? 0 : -EIO;
}

static int start_unix(struct xs_http *h, int fd)
{
    int off = 0;

    h->bare = setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off)) == 0;
    h->unix_ = start(h, fd, handle_unix, notify_unix);
    return h->unix_ ? 0 : -EIO;
}

static void name_unix(int fd)
{
    struct sockaddr_un at = {0};
    socklen_t size = sizeof(at) - 1;

    if (getsockname(fd, (struct sockaddr *)&at, &size) == 0 && at.sun_path[0])
        xs_guard_set_unix_path(at.sun_path);
}

int xs_http_start(struct xs_line *line, int tcp_fd, int unix_fd, bool share_by_pod, struct xs_http **ret)
{
    struct xs_http *h = calloc(1, sizeof(*h));
    int r = -ENOMEM;

    if (!h)
        return r;
    h->line = line;
    name_unix(unix_fd);
    h->deadlines = xs_deadlines_new();
    h->shares = xs_connections_new(share_by_pod);
    if (h->deadlines && h->shares)
        h->events = xs_events_new(h->line, h->shares); /* first: the listeners' threads use it */
    if (h->events)
        r = tcp_fd >= 0 ? start_tcp(h, tcp_fd) : 0;
    if (r == 0 && unix_fd >= 0)
        r = start_unix(h, unix_fd);
    if (r < 0) {
        xs_http_stop(h);
        return r;
    }
    *ret = h;
    return 0;
}

void xs_http_stop(struct xs_http *h)
{
    if (!h)
        return;
    xs_events_end(h->events);
    if (h->unix_)
        MHD_stop_daemon(h->unix_);
    xs_interrupt_timer_fini(&h->interrupts);
    if (h->tcp)
        MHD_stop_daemon(h->tcp);
    xs_events_free(h->events);
    xs_connections_free(h->shares);
    xs_deadlines_free(h->deadlines);
    free(h);
}

void xs_http_set_token(const char *token)
{
    xs_guard_set_token(token);
}
