/* SPDX-License-Identifier: Apache-2.0 */
#include "xcli/xcli.h"

#include "base/env.h"
#include "client/find.h"
#include "client/http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT 50000

/* Where nobody answered, for the message. */
struct tried {
    char text[2048];
    size_t used;
};

static void note(struct tried *t, const char *format, ...) XS_PRINTF(2, 3);

static void note(struct tried *t, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(t->text + t->used, sizeof(t->text) - t->used, format, ap);
    va_end(ap);
    if (n > 0)
        t->used = XS_MIN(t->used + (size_t)n, sizeof(t->text) - 1);
}

static bool absent(int r)
{
    return r == -ECONNREFUSED || r == -ENOENT || r == -ETIMEDOUT;
}

static int ask_unix(const char *server_socket, const char *method, const char *path, const char *body,
                    struct tried *tried, struct xs_http_answer *ret)
{
    char http[PATH_MAX], error[256];
    struct xs_http_target target = {.unix_path = http, .token = g_xcli.token};
    int r;

    xs_http_socket(server_socket, http, sizeof(http));
    r = xs_http_ask(&target, method, path, body, ret, error, sizeof(error));
    if (r < 0)
        note(tried, "\n  %s: %s", http, r == -ECONNREFUSED ? "nobody listens" : error);
    return r;
}

static int ask_tcp(const char *method, const char *path, const char *body, struct tried *tried,
                   struct xs_http_answer *ret)
{
    struct xs_http_target target = {
        .address = g_xcli.address ? g_xcli.address : "127.0.0.1",
        .port = g_xcli.port ? g_xcli.port : DEFAULT_PORT,
        .token = g_xcli.token,
    };
    char error[256];
    int r = xs_http_ask(&target, method, path, body, ret, error, sizeof(error));

    if (r < 0)
        note(tried, "\n  %s:%u: %s", target.address, target.port,
             r == -ECONNREFUSED ? "nobody listens" : error);
    return r;
}

static int ask(const char *method, const char *path, const char *body, struct tried *tried,
               struct xs_http_answer *ret)
{
    struct xs_places *places;
    int r = -ENOENT;

    if (g_xcli.socket)
        return ask_unix(g_xcli.socket, method, path, body, tried, ret);
    if (g_xcli.address || g_xcli.port)
        return ask_tcp(method, path, body, tried, ret);
    places = malloc(sizeof(*places));
    if (!places)
        return -ENOMEM;
    xs_places_get(places);
    for (size_t i = 0; i < places->count; i++) {
        /* a folder that somebody else made is not believed */
        if (xs_place_probe(places->items[i].path, NULL, NULL) == -EPERM)
            continue;
        r = ask_unix(places->items[i].path, method, path, body, tried, ret);
        if (!absent(r))
            break;
    }
    free(places);
    if (xs_env_get(XS_ENV_XSCHED_SOCKET)) /* that one and no other */
        return r;
    return absent(r) ? ask_tcp(method, path, body, tried, ret) : r;
}

int xcli_try(const char *method, const char *path, const char *body, char *ret_why, size_t size, json_t **ret)
{
    struct xs_http_answer answer;
    struct tried tried = {.used = 0};
    json_t *json;
    int code = XCLI_OK;

    if (ask(method, path, body, &tried, &answer) < 0) {
        snprintf(ret_why, size, "no xserver answers:%s", tried.text);
        return XCLI_ABSENT;
    }
    json = json_loadb(answer.body, answer.bytes, 0, NULL);
    if (answer.status != 200 || !json_is_object(json)) {
        snprintf(ret_why, size, "xserver refused (%ld): %s", answer.status,
                 json_is_object(json) ? xcli_text(json, "error") : "the answer is not understood");
        json_decref(json);
        json = NULL;
        code = XCLI_REFUSED;
    }
    free(answer.body);
    if (code == XCLI_OK)
        *ret = json;
    return code;
}

int xcli_ask(const char *method, const char *path, const char *body, json_t **ret)
{
    char why[2304];
    int code = xcli_try(method, path, body, why, sizeof(why), ret);

    if (code != XCLI_OK)
        fprintf(stderr, "xcli: %s\n", why);
    return code;
}

void xcli_print_json(const json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(2));

    if (text)
        puts(text);
    free(text);
}

int64_t xcli_int(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(o, name));
}

const char *xcli_text(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));

    return text ? text : "";
}

bool xcli_true(const json_t *o, const char *name)
{
    return json_is_true(json_object_get(o, name));
}
