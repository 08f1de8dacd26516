/* SPDX-License-Identifier: Apache-2.0 */
#include "xcli/xcli.h"

#include "query/ask_xserver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int xcli_try(const char *method, const char *path, const char *body, char *ret_why, size_t size, json_t **ret)
{
    const struct xs_ask_where where = {
        .socket = g_xcli.socket, .address = g_xcli.address, .port = g_xcli.port, .token = g_xcli.token};
    struct xs_http_answer answer;
    char tried[2048];
    json_t *json;
    int code = XCLI_OK, err;

    err = xs_ask(&where, method, path, body, &answer, tried, sizeof(tried));
    if (err < 0) {
        snprintf(ret_why, size, "no xserver answers:%s%s", tried,
                 where.socket || where.address || where.port || err == -EHOSTDOWN
                     ? ""
                     : "\n`xsched run` starts one where none answers; so does `xserver`");
        return XCLI_ABSENT;
    }
    json = json_loadb(answer.body, answer.bytes, 0, NULL);
    if (answer.status != 200 || !json_is_object(json)) {
        snprintf(ret_why, size, "xserver refused (%ld): %s", answer.status,
                 json_is_object(json)     ? xcli_text(json, "error")
                 : answer.status == 404 ? "it does not know this question; is it older than this xcli?"
                                        : "the answer is no JSON object");
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
