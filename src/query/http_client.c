/* SPDX-License-Identifier: Apache-2.0 */
#include "query/http_client.h"

#include "base/clock.h"
#include "base/str.h"
#include "transport/token.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX_BYTES (256u << 20)
#define HEAD_BYTES       65536u /* of an answer, at most */
#define TIMEOUT_MS       5000
#define LOOK_NS          XS_NS_PER_S

struct http_exchange {
    const struct xs_http_target *target;
    int fd;
    uint64_t end_ns, look_ns; /* look_ns: the next time to see whether the server is stopped */
    char *data;               /* what came, with a zero at its end */
    size_t bytes, room;
};

/* @return 0; -ETIMEDOUT, or -EHOSTDOWN: the server is stopped */
static int wait_for(struct http_exchange *x, short events)
{
    struct pollfd p = {.fd = x->fd, .events = events};

    for (;;) {
        uint64_t now_ns = xs_now_ns(), until_ns = x->target->is_stopped ? XS_MIN(x->end_ns, x->look_ns) : x->end_ns;

        if (now_ns >= x->end_ns)
            return -ETIMEDOUT;
        if (poll(&p, 1, until_ns > now_ns ? (int)((until_ns - now_ns) / XS_NS_PER_MS) + 1 : 0) > 0)
            return 0;
        now_ns = xs_now_ns();
        if (!x->target->is_stopped || now_ns < x->look_ns)
            continue;
        x->look_ns = now_ns + LOOK_NS;
        if (x->target->is_stopped(x->target->ctx))
            return -EHOSTDOWN;
    }
}

static int connect_to(struct http_exchange *x, const struct sockaddr *to, socklen_t size)
{
    socklen_t error_size = sizeof(int);
    int err = 0;

    x->fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (x->fd < 0)
        return -errno;
    /* on a Unix socket EAGAIN: its queue of connections is full */
    while (connect(x->fd, to, size) < 0) {
        if (errno == EAGAIN && xs_now_ns() < x->end_ns) {
            usleep(1000);
            continue;
        }
        if (errno != EINPROGRESS)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        err = wait_for(x, POLLOUT);
        if (err == 0 && getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &err, &error_size) == 0)
            err = -err;
        return err;
    }
    return 0;
}

static int connect_unix(struct http_exchange *x, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    if (!xs_str_copy(to.sun_path, sizeof(to.sun_path), path))
        return -ENAMETOOLONG;
    return connect_to(x, (struct sockaddr *)&to, sizeof(to));
}

/* @return 0 or -errno; with -EIO there is a text in ret_error */
static int connect_tcp(struct http_exchange *x, const char *host, uint16_t port, char *ret_error, size_t error_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all, *one;
    char name[256], number[8];
    size_t length;
    int err;

    if (!xs_str_copy(name, sizeof(name), host[0] == '[' ? host + 1 : host))
        return -ENAMETOOLONG;
    length = strlen(name);
    if (host[0] == '[' && length && name[length - 1] == ']')
        name[length - 1] = 0;
    snprintf(number, sizeof(number), "%u", port);
    err = getaddrinfo(name, number, &hints, &all);
    if (err) {
        snprintf(ret_error, error_size, "no such host: %s", err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
        return -EIO;
    }
    err = -ECONNREFUSED;
    for (one = all; one; one = one->ai_next) {
        err = connect_to(x, one->ai_addr, one->ai_addrlen);
        if (err == 0 || err == -EHOSTDOWN)
            break;
        if (x->fd >= 0)
            close(x->fd);
        x->fd = -1;
    }
    freeaddrinfo(all);
    return err;
}

static int send_all(struct http_exchange *x, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = send(x->fd, data, bytes, MSG_NOSIGNAL);

        if (n >= 0) {
            data += n;
            bytes -= (size_t)n;
            continue;
        }
        if (errno == EPIPE || errno == ECONNRESET) /* it may have answered before */
            return 0;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        n = wait_for(x, POLLOUT);
        if (n < 0)
            return (int)n;
    }
    return 0;
}

/* HTTP/1.0: the answer comes in one piece, and its end is that of the connection. */
static int send_request(struct http_exchange *x, const char *method, const char *path, const char *body)
{
    const struct xs_http_target *t = x->target;
    size_t size = strlen(path) + XS_TOKEN_BYTES + 512;
    bool post = strcmp(method, "POST") == 0;
    char *head = malloc(size), port[8] = "";
    int n, err;

    if (!head)
        return -ENOMEM;
    if (!t->unix_path)
        snprintf(port, sizeof(port), ":%u", t->port);
    n = snprintf(head, size, "%s %s HTTP/1.0\r\nHost: %.255s%s\r\nAccept: */*\r\nConnection: close\r\n%s%s%s", method, path,
                 t->unix_path ? "localhost" : t->address, port, t->token ? "X-XSched-Token: " : "", t->token ? t->token : "",
                 t->token ? "\r\n" : "");
    if (post)
        n += snprintf(head + n, size - (size_t)n, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      body ? strlen(body) : 0);
    n += snprintf(head + n, size - (size_t)n, "\r\n");
    err = send_all(x, head, (size_t)n);
    free(head);
    return err == 0 && post && body ? send_all(x, body, strlen(body)) : err;
}

static int read_all(struct http_exchange *x)
{
    for (;;) {
        ssize_t n;

        if (x->room - x->bytes < 4096) {
            size_t room = XS_MAX(x->room * 2, (size_t)16384);
            char *more = room <= ANSWER_MAX_BYTES ? realloc(x->data, room) : NULL;

            if (!more)
                return room <= ANSWER_MAX_BYTES ? -ENOMEM : -EMSGSIZE;
            x->data = more;
            x->room = room;
        }
        n = recv(x->fd, x->data + x->bytes, x->room - x->bytes - 1, 0);
        if (n > 0)
            x->bytes += (size_t)n;
        x->data[x->bytes] = 0;
        if (n == 0 || (n < 0 && errno == ECONNRESET && x->bytes > 0))
            return 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n < 0 && (n = wait_for(x, POLLIN)) < 0)
            return (int)n;
    }
}

/* @return false: no answer of HTTP, or a shorter one than it says */
static bool take_answer(struct http_exchange *x, struct xs_http_answer *ret)
{
    char *end = x->data ? strstr(x->data, "\r\n\r\n") : NULL, *line;
    uint64_t status, length;
    size_t head;

    if (!end || (size_t)(end - x->data) > HEAD_BYTES || strncmp(x->data, "HTTP/1.", 7) != 0 || strlen(x->data) < 12 ||
        x->data[8] != ' ' || (x->data[12] != ' ' && x->data[12] != '\r'))
        return false;
    x->data[12] = 0;
    if (xs_str_parse_u64(x->data + 9, 10, &status) < 0)
        return false;
    *end = 0;
    head = (size_t)(end - x->data) + 4;
    for (line = strstr(x->data + 13, "\r\n"); line; line = strstr(line, "\r\n")) {
        static const char k_name[] = "Content-Length:";

        line += 2;
        if (strncasecmp(line, k_name, sizeof(k_name) - 1) != 0)
            continue;
        line += sizeof(k_name) - 1;
        line += strspn(line, " ");
        line[strcspn(line, "\r ")] = 0;
        if (xs_str_parse_u64(line, 10, &length) < 0 || length > x->bytes - head)
            return false;
        x->bytes = head + length;
        break;
    }
    memmove(x->data, x->data + head, x->bytes - head);
    x->bytes -= head;
    x->data[x->bytes] = 0;
    *ret = (struct xs_http_answer){.status = (long)status, .body = x->data, .bytes = x->bytes};
    return true;
}

static const char *text_of(int err)
{
    return err == -ETIMEDOUT ? "no answer in time" : err == -EMSGSIZE ? "the answer is too long" : strerror(-err);
}

/* A caller tells these apart; all others are one. */
static int known(int err)
{
    switch (err) {
    case -EPERM:
        return -EACCES;
    case -ENOENT: /* a Unix socket that is not there */
        return -ECONNREFUSED;
    case -ECONNREFUSED:
    case -EACCES:
    case -ETIMEDOUT:
    case -EHOSTDOWN:
        return err;
    default:
        return -EIO;
    }
}

int xs_http_ask(const struct xs_http_target *target, const char *method, const char *path, const char *body,
                struct xs_http_answer *ret, char *ret_error, size_t error_size)
{
    uint64_t now_ns = xs_now_ns();
    struct http_exchange x = {
        .target = target,
        .fd = -1,
        .end_ns = now_ns + (uint64_t)(target->timeout_ms ? target->timeout_ms : TIMEOUT_MS) * XS_NS_PER_MS,
        .look_ns = now_ns + LOOK_NS,
    };
    int err;

    ret_error[0] = 0;
    err = target->unix_path ? connect_unix(&x, target->unix_path)
                            : connect_tcp(&x, target->address, target->port, ret_error, error_size);
    if (err == 0)
        err = send_request(&x, method, path, body);
    if (err == 0)
        err = read_all(&x);
    if (err == 0 && !take_answer(&x, ret)) {
        xs_str_copy(ret_error, error_size, x.bytes ? "the answer is none of HTTP, or not whole" : "it closed the connection");
        err = -EIO;
    }
    if (x.fd >= 0)
        close(x.fd);
    if (err == 0)
        return 0;
    free(x.data);
    if (!ret_error[0])
        xs_str_copy(ret_error, error_size, text_of(err));
    return known(err);
}
