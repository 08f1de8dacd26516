/* SPDX-License-Identifier: Apache-2.0 */
#include "query/ask_xserver.h"

#include "base/env.h"
#include "base/str.h"
#include "query/ask_socket.h"
#include "query/find_xserver.h"
#include "query/stopped.h"
#include "transport/http_socket.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The places without an answer, for the message. */
struct tried {
    char *text;
    size_t used, size;
};

static void note(struct tried *t, const char *format, ...) XS_PRINTF(2, 3);

static void note(struct tried *t, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(t->text + t->used, t->size - t->used, format, ap);
    va_end(ap);
    if (n > 0)
        t->used = XS_MIN(t->used + (size_t)n, t->size - 1);
}

static bool absent(int r)
{
    return r == -ECONNREFUSED || r == -EACCES || r == -ENOENT || r == -ETIMEDOUT;
}

struct asked_server {
    const char *socket;
    pid_t stopped; /* its process, when it stands still */
};

static bool is_stopped(void *ctx)
{
    struct asked_server *s = ctx;
    pid_t pid = 0;

    if (xs_place_probe(s->socket, &pid, NULL) < 0 || !xs_process_is_stopped(pid))
        return false;
    s->stopped = pid;
    return true;
}

/* Why no answer came, by the name of the socket that the user knows: its HTTP socket is beside it.
 * @param where  that it asked */
static void note_socket(struct tried *t, const struct asked_server *server, const char *where, int r, const char *error)
{
    int there = xs_place_probe(server->socket, NULL, NULL);

    if (server->stopped)
        note(t, "\n  %s: the xserver there (PID %d) " XS_STOPPED_BY "\n" XS_STOPPED_REMEDY, server->socket,
             (int)server->stopped, (int)server->stopped);
    else if (!xs_place_is_up(there))
        note(t, "\n  %s: %s", server->socket, xs_place_text(there));
    else if (r == -ECONNREFUSED)
        note(t, "\n  %s: an xserver is there that does not answer this over HTTP (http = OFF?)", server->socket);
    else
        note(t, "\n  %s: %s", where, error);
}

/* @return as xs_socket_ask() */
static int ask_directly(const char *server_socket, const char *method, const char *path, const char *body, struct tried *tried,
                        struct xs_http_answer *ret)
{
    struct asked_server server = {.socket = server_socket};
    int r = xs_socket_ask(server_socket, method, path, body, ret);

    if (r == -EHOSTDOWN)
        is_stopped(&server);
    if (r < 0 && r != -EOPNOTSUPP)
        note_socket(tried, &server, server_socket, r, strerror(-r));
    return r;
}

/* Directly, or over HTTP: what xsched-http alone knows; an xserver of another build; with the token.
 * @param server_socket  xserver's; or its HTTP socket itself, which a user may well name */
static int ask_unix(const struct xs_ask_where *w, const char *server_socket, const char *method,
                    const char *path, const char *body, struct tried *tried, struct xs_http_answer *ret)
{
    char http[PATH_MAX], error[256];
    struct asked_server server = {.socket = server_socket};
    struct xs_http_target target = {.unix_path = http, .token = w->token, .is_stopped = is_stopped, .ctx = &server};
    bool direct = xs_http_socket_reserved(server_socket); /* HTTP's */
    int r = direct || w->token ? -EOPNOTSUPP : ask_directly(server_socket, method, path, body, tried, ret);

    if (r != -EOPNOTSUPP)
        return r;
    if (direct)
        snprintf(http, sizeof(http), "%s", server_socket);
    else
        xs_http_socket(server_socket, http, sizeof(http));
    r = xs_http_ask(&target, method, path, body, ret, error, sizeof(error));
    if (r < 0 && direct)
        note(tried, "\n  %s: %s", http, r == -ECONNREFUSED ? "nobody listens" : error);
    else if (r < 0)
        note_socket(tried, &server, http, r, error);
    return r;
}

static int ask_tcp(const struct xs_ask_where *w, const char *method, const char *path, const char *body,
                   struct tried *tried, struct xs_http_answer *ret)
{
    struct xs_http_target target = {
        .address = w->address ? w->address : "127.0.0.1",
        .port = w->port ? w->port : XS_ASK_PORT,
        .token = w->token,
    };
    char error[256];
    int r = xs_http_ask(&target, method, path, body, ret, error, sizeof(error));

    if (r < 0)
        note(tried, "\n  %s:%u: %s", target.address, target.port,
             r == -ECONNREFUSED ? "nobody listens" : error);
    return r;
}

/* The socket of the user's or the host's xserver that has this port.
 * @return false: none has it */
static bool find_port(const struct xs_places *places, uint16_t port, char *ret, size_t size)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct xs_place *p = &places->items[i];

        if (xs_place_probe(p->path, NULL, NULL) == 0 && xs_socket_http_port(p->path) == port)
            return xs_str_copy(ret, size, p->path);
    }
    return false;
}

int xs_ask(const struct xs_ask_where *w, const char *method, const char *path, const char *body,
           struct xs_http_answer *ret, char *ret_tried, size_t size)
{
    struct tried tried = {.text = ret_tried, .size = size};
    char with_port[PATH_MAX];
    struct xs_places *places;
    bool local;
    int r = -ENOENT;

    ret_tried[0] = 0;
    if (w->socket)
        return ask_unix(w, w->socket, method, path, body, &tried, ret);
    local = !w->address || !strcmp(w->address, "127.0.0.1") || !strcmp(w->address, "localhost");
    if (!local || (w->token && (w->address || w->port)))
        return ask_tcp(w, method, path, body, &tried, ret);
    places = malloc(sizeof(*places));
    if (!places)
        return -ENOMEM;
    xs_places_get(places);
    if (w->address || w->port) {
        bool found = find_port(places, w->port ? w->port : XS_ASK_PORT, with_port, sizeof(with_port));

        free(places);
        return found ? ask_unix(w, with_port, method, path, body, &tried, ret) : ask_tcp(w, method, path, body, &tried, ret);
    }
    for (size_t i = 0; i < places->count; i++) {
        /* skip a folder that another user made */
        if (xs_place_probe(places->items[i].path, NULL, NULL) == -EPERM)
            continue;
        r = ask_unix(w, places->items[i].path, method, path, body, &tried, ret);
        if (!absent(r))
            break;
    }
    free(places);
    if (xs_env_get(XS_ENV_XSCHED_SOCKET)) /* that place and no other */
        return r;
    if (absent(r) && w->token) { /* where no xserver runs, any user may listen there */
        note(&tried, "\n  127.0.0.1:%u: no request, since the token goes over TCP only with -a or -p", XS_ASK_PORT);
        return r;
    }
    return absent(r) ? ask_tcp(w, method, path, body, &tried, ret) : r;
}
