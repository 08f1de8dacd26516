/* SPDX-License-Identifier: Apache-2.0 */
#include "query/ask_socket.h"

#include "answers/answer_json.h"
#include "answers/path_request.h"
#include "asks/ask_line.h"
#include "base/str.h"
#include "query/find_xserver.h"
#include "query/stopped.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_NS  (5 * XS_NS_PER_S)
#define PORT_NS    XS_NS_PER_S
#define ARGUMENTS  8u
#define PATH_BYTES 1024u

/* A path with its arguments, apart and decoded. */
struct asked_path {
    char text[PATH_BYTES];
    unsigned n;
    const char *names[ARGUMENTS], *values[ARGUMENTS];
};

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* In its place: %41 and + */
static void decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++, to++) {
        *to = *from == '+' ? ' ' : *from;
        if (*from == '%' && digit(from[1]) >= 0 && digit(from[2]) >= 0) {
            *to = (char)(digit(from[1]) * 16 + digit(from[2]));
            from += 2;
        }
    }
    *to = 0;
}

static bool take_apart(struct asked_path *p, const char *path)
{
    char *at, *next, *value;

    p->n = 0;
    if (!xs_str_copy(p->text, sizeof(p->text), path))
        return false;
    at = strchr(p->text, '?');
    if (at)
        *at++ = 0;
    for (; at; at = next) {
        if (p->n == ARGUMENTS)
            return false;
        next = strchr(at, '&');
        if (next)
            *next++ = 0;
        value = strchr(at, '=');
        if (value)
            *value++ = 0;
        else
            value = at + strlen(at);
        decode(at);
        decode(value);
        p->names[p->n] = at;
        p->values[p->n++] = value;
    }
    return true;
}

static const char *argument(void *ctx, const char *name)
{
    const struct asked_path *p = ctx;

    for (unsigned i = 0; i < p->n; i++)
        if (!strcmp(p->names[i], name))
            return p->values[i];
    return NULL;
}

static const struct xs_path_row *find(const char *method, const char *path)
{
    const char *allow;
    int status = 404;

    for (size_t i = 0; i < xs_path_rows_count; i++)
        if (xs_path_fits(&xs_path_rows[i], method, path, &status, &allow))
            return &xs_path_rows[i];
    return NULL;
}

/* @param json  it frees this; NULL: text, which becomes the answer's. @return 0 or -ENOMEM */
static int make_body(long status, json_t *json, struct xs_text *text, struct xs_http_answer *ret)
{
    char *body = json ? json_dumps(json, JSON_COMPACT) : text->failed ? NULL : text->data;

    if (json || text->failed)
        free(text->data);
    json_decref(json);
    if (!body)
        return -ENOMEM;
    *ret = (struct xs_http_answer){.status = status, .body = body, .bytes = strlen(body)};
    return 0;
}

static bool is_stopped(const char *server_socket)
{
    pid_t pid = 0;

    return xs_place_probe(server_socket, &pid, NULL) == 0 && xs_process_is_stopped(pid);
}

/* On failure r is gone. @return 0 or -errno */
static int exchange(const char *server_socket, struct xs_request *r, uint64_t timeout_ns)
{
    struct xs_line *line = xs_line_new(server_socket, false);
    int err;

    if (!line) {
        xs_request_free(r);
        return -ENOMEM;
    }
    xs_line_watch(line, is_stopped);
    err = xs_line_ask(line, r, timeout_ns);
    xs_line_free(line);
    return err;
}

/* @return 0; -errno; or the status of a question that is wrong, with the reason */
static int make_request(const char *method, const char *path, const char *body, struct xs_request **ret,
                        char *ret_error, size_t size)
{
    struct asked_path parts;
    struct xs_path_call call = {.path = parts.text, .body = body ? body : "", .argument = argument, .ctx = &parts};
    const struct xs_path_row *row = take_apart(&parts, path) ? find(method, parts.text) : NULL;
    struct xs_request *r = row ? xs_request_new(row->kind) : NULL;
    int err;

    if (!r)
        return row ? -ENOMEM : -EOPNOTSUPP;
    call.body_bytes = strlen(call.body);
    err = xs_path_fill(row, &call, r, ret_error, size);
    if (err)
        xs_request_free(r);
    else
        *ret = r;
    return err;
}

/* Frees r. */
static int take_answer(struct xs_request *r, struct xs_http_answer *ret)
{
    struct xs_text text = {0};
    json_t *json = xs_json_answer(r, &text);
    int err = make_body(r->status, json, &text, ret);

    xs_request_free(r);
    return err;
}

int xs_socket_ask(const char *server_socket, const char *method, const char *path, const char *body, struct xs_http_answer *ret)
{
    struct xs_text text = {0};
    struct xs_request *r;
    char error[160];
    int err = make_request(method, path, body, &r, error, sizeof(error));

    if (err > 0)
        return make_body(err, xs_json_error(error), &text, ret);
    if (err < 0)
        return err;
    if (is_stopped(server_socket)) { /* the kernel takes connections for it, and it would not answer */
        xs_request_free(r);
        return -EHOSTDOWN;
    }
    err = exchange(server_socket, r, ANSWER_NS);
    if (err == -EBADMSG || err == -ECONNRESET || err == -EPIPE) /* an xserver that knows no such questions */
        return -EOPNOTSUPP;
    if (err < 0)
        return err;
    if (r->other_build && r->kind < XS_REQ_SET_POLICY) {
        xs_request_free(r);
        return -EOPNOTSUPP;
    }
    return take_answer(r, ret);
}

struct xs_socket_feed {
    struct xs_line *line;
    struct xs_subscription *answers;
};

struct xs_socket_feed *xs_socket_feed_begin(const char *server_socket, const char *path, unsigned period_ms)
{
    struct xs_socket_feed *f = calloc(1, sizeof(*f));
    struct xs_request *r;
    char error[160];

    if (!f || make_request("GET", path, NULL, &r, error, sizeof(error))) {
        free(f);
        return NULL;
    }
    r->params.for_ms = period_ms;
    f->line = xs_line_new(server_socket, false);
    if (f->line)
        f->answers = xs_subscription_begin(f->line, r, ANSWER_NS);
    xs_request_free(r);
    if (f->answers)
        return f;
    xs_socket_feed_end(f);
    return NULL;
}

int xs_socket_feed_fd(const struct xs_socket_feed *f)
{
    return xs_subscription_fd(f->answers);
}

int xs_socket_feed_next(struct xs_socket_feed *f, struct xs_http_answer *ret)
{
    struct xs_request *r;
    int err = xs_subscription_next(f->answers, &r, ANSWER_NS);

    if (err < 0)
        return err;
    if (r->other_build || r->status != 200) {
        xs_request_free(r);
        return -EOPNOTSUPP;
    }
    return take_answer(r, ret);
}

void xs_socket_feed_end(struct xs_socket_feed *f)
{
    if (!f)
        return;
    xs_subscription_end(f->answers);
    xs_line_free(f->line);
    free(f);
}

uint16_t xs_socket_http_port(const char *server_socket)
{
    struct xs_request *r = xs_request_new(XS_REQ_STATUS);
    uint16_t port;

    if (r && is_stopped(server_socket)) {
        xs_request_free(r);
        return 0;
    }
    if (!r || exchange(server_socket, r, PORT_NS) < 0)
        return 0;
    port = r->other_build || r->status != 200 ? 0 : r->state.http_port;
    xs_request_free(r);
    return port;
}
