/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/path_request.h"

#include "base/settings/hint_rows.h"
#include "base/str.h"
#include "xsched/types.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int xs_path_wrong(char *error, size_t size, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(error, size, format, ap);
    va_end(ap);
    return 400;
}

static const char *argument(const struct xs_path_call *call, const char *name)
{
    return call->argument(call->ctx, name);
}

static int fill_handle(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    (void)call;
    if (xs_str_parse_u64(rest, 16, &r->params.handle) < 0 || r->params.handle == 0)
        return xs_path_wrong(error, size, "'%.40s' is no hexadecimal handle", rest);
    return 0;
}

static int fill_config(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    struct xs_request_params *p = &r->params;
    const struct {
        const char *name;
        int64_t max;
        int64_t *to;
    } rows[] = {
        {"threshold", INT64_MAX, &p->threshold},
        {"batch_size", INT64_MAX, &p->batch_size},
    };
    const char *text = argument(call, "level");
    int64_t number;
    int status = fill_handle(call, rest, r, error, size);

    if (status)
        return status;
    if (text) { /* 0 keeps the level, as the values below 1 keep the others */
        if (xs_str_parse_i64(text, &number) < 0 || number < 0 || number >= kPreemptLevelMax)
            return xs_path_wrong(error, size, "invalid level: 1 to 3, or 0 to keep it");
        p->level = (int32_t)number;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        text = argument(call, rows[i].name);
        if (!text)
            continue;
        if (xs_str_parse_i64(text, &number) < 0)
            return xs_path_wrong(error, size, "invalid %s: a number above 0, or -1 to keep it", rows[i].name);
        *rows[i].to = number > 0 ? number : 0;
    }
    return 0;
}

static int fill_policy(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    const char *text = argument(call, "policy");
    int64_t number;

    (void)rest;
    if (text && xs_str_parse_i64(text, &number) < 0 && text[0] &&
        xs_str_copy(r->params.policy_name, sizeof(r->params.policy_name), text))
        return 0;
    if (!text || xs_str_parse_i64(text, &number) < 0 || number < 1 || (uint64_t)number > xs_policies_count)
        return xs_path_wrong(error, size, "give policy=NUMBER, 1 to %zu, or policy=NAME", xs_policies_count);
    r->params.policy = (int32_t)number;
    return 0;
}

/* An integer member under one of two names.
 * @return 0, -ENOENT, or -EINVAL when it is no integer or out of range */
static int member(const json_t *o, const char *name, const char *other, int64_t min, int64_t max,
                  int64_t *ret)
{
    const json_t *v = json_object_get(o, name);

    if (!v && other)
        v = json_object_get(o, other);
    if (!v)
        return -ENOENT;
    if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
        return -EINVAL;
    *ret = json_integer_value(v);
    return 0;
}

/* The word, or the number TIMESLICE_UNLIMITED, which is no integer here: see body_of. */
static bool is_unlimited(const json_t *v)
{
    return (json_is_string(v) && xs_str_equal_nocase(json_string_value(v), "UNLIMITED")) ||
           (json_is_real(v) && json_real_value(v) == (double)TIMESLICE_UNLIMITED);
}

/* Without handle and pid in the body, it means the asker: inside a container a program does not know
 * its number here. */
static int fill_whom(const json_t *o, struct xs_request *r, char *error, size_t size)
{
    int64_t handle = 0, pid = json_object_get(o, "handle") ? 0 : r->asker.pid;

    if (member(o, "handle", NULL, 0, INT64_MAX, &handle) == -EINVAL)
        return xs_path_wrong(error, size, "invalid handle");
    if (member(o, "pid", NULL, 0, INT32_MAX, &pid) == -EINVAL)
        return xs_path_wrong(error, size, "invalid pid");
    if (!handle && !pid)
        return xs_path_wrong(error, size, "give a handle or a pid");
    r->params.handle = (uint64_t)handle;
    r->params.pid = (int32_t)pid;
    return 0;
}

static int fill_window(const json_t *o, struct xs_request_params *p, char *error, size_t size)
{
    const json_t *display = json_object_get(o, "display");
    int64_t pid;

    if (member(o, "pid", NULL, 0, INT32_MAX, &pid) < 0)
        return xs_path_wrong(error, size, "invalid pid");
    p->pid = (int32_t)pid;
    if (json_is_integer(display))
        snprintf(p->display, sizeof(p->display), "%lld", (long long)json_integer_value(display));
    else if (!json_is_string(display) ||
             !xs_str_copy(p->display, sizeof(p->display), json_string_value(display)))
        return xs_path_wrong(error, size, "invalid display");
    return 0;
}

static int fill_laxity(const json_t *o, struct xs_request_params *p, char *error, size_t size)
{
    int64_t lax = INT32_MIN, critical = INT32_MIN; /* not given */

    if (member(o, "lax_priority", "lax_prio", PRIORITY_NO_EXECUTE, PRIORITY_MAX, &lax) == -EINVAL ||
        (member(o, "critical_priority", "crit_priority", PRIORITY_NO_EXECUTE, PRIORITY_MAX, &critical) ==
         -EINVAL))
        return xs_path_wrong(error, size, "invalid lax_priority or critical_priority");
    if (critical == INT32_MIN &&
        member(o, "crit_prio", NULL, PRIORITY_NO_EXECUTE, PRIORITY_MAX, &critical) == -EINVAL)
        return xs_path_wrong(error, size, "invalid crit_prio");
    p->lax_priority = (int32_t)lax;
    p->critical_priority = (int32_t)critical;
    return 0;
}

static int fill_hint_of(const json_t *o, struct xs_request *req, char *error, size_t size)
{
    struct xs_request_params *p = &req->params;
    const struct xs_hint_row *row;
    char text[24], why[XS_VALUE_ERROR_BYTES];
    int64_t type, value = 0;
    int r;

    if (!json_is_object(o) || member(o, "hint_type", NULL, INT64_MIN, INT64_MAX, &type) < 0)
        return xs_path_wrong(error, size, "missing hint type");
    p->hint = (enum xs_hint_kind)type;
    if (p->hint == XS_HINT_WINDOW)
        return fill_window(o, p, error, size);
    if (type < 0 || (uint64_t)type >= xs_hint_rows_count || !xs_hint_rows[type].name)
        return xs_path_wrong(error, size, "invalid hint type");
    row = &xs_hint_rows[type];
    if (row->of_queue && (r = fill_whom(o, req, error, size)) != 0)
        return r;
    if (p->hint == XS_HINT_TIMESLICE && is_unlimited(json_object_get(o, "timeslice"))) {
        p->value = (int64_t)TIMESLICE_UNLIMITED;
        return 0;
    }
    r = member(o, row->name, NULL, INT64_MIN, INT64_MAX, &value);
    if (r == -ENOENT)
        return xs_path_wrong(error, size, "missing %s", row->name);
    if (r < 0)
        return xs_path_wrong(error, size, "invalid %s", row->name);
    if (!xs_value_has(&row->type, value)) {
        snprintf(text, sizeof(text), "%lld", (long long)value);
        return xs_path_wrong(error, size, "invalid %s: %s", row->name, xs_value_error(&row->type, text, why, sizeof(why)));
    }
    p->value = value;
    return p->hint == XS_HINT_LAXITY ? fill_laxity(o, p, error, size) : 0;
}

#define BEYOND_INT64 9223372036854775808.0 /* 2^63 */

/* Programs write 64-bit numbers without a sign, and jansson takes none of 2^63 or more. This reads a
 * body with one again, with reals for all numbers, and only that one stays a real. Numbers up to 2^53,
 * such as handles, are exact. */
static json_t *body_of(const struct xs_path_call *call)
{
    json_error_t error;
    json_t *o = json_loadb(call->body, call->body_bytes, JSON_REJECT_DUPLICATES, &error), *v;
    const char *name;

    if (o || json_error_code(&error) != json_error_numeric_overflow)
        return o;
    o = json_loadb(call->body, call->body_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    json_object_foreach(o, name, v)
    {
        double real = json_real_value(v); /* 0 where it is none */

        if (json_is_real(v) && real > -BEYOND_INT64 && real < BEYOND_INT64 && real == (double)(int64_t)real)
            json_object_set_new(o, name, json_integer((int64_t)real)); /* the name exists already: allowed in the
                                                                          loop */
    }
    return o;
}

static int fill_hint(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                     size_t size)
{
    json_t *o = body_of(call);
    int status;

    (void)rest;
    if (!o)
        return xs_path_wrong(error, size, "the body is no JSON");
    status = fill_hint_of(o, r, error, size);
    json_decref(o);
    return status;
}

static int fill_pid(const struct xs_path_call *call, struct xs_request *r, char *error, size_t size)
{
    const char *text = argument(call, "pid");
    int64_t pid = 0;
    json_t *o;

    if (text) {
        if (xs_str_parse_i64(text, &pid) < 0)
            pid = 0;
    } else if ((o = body_of(call)) != NULL) {
        if (member(o, "pid", NULL, 1, INT32_MAX, &pid) < 0)
            pid = 0;
        json_decref(o);
    }
    if (pid < 1 || pid > INT32_MAX)
        return xs_path_wrong(error, size, "give a pid");
    r->params.pid = (int32_t)pid;
    return 0;
}

#define MOST_FOR_MS (30ll * 24 * 3600 * 1000)

static int fill_suspend(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                        size_t size)
{
    const char *text = argument(call, "for_ms");
    int64_t for_ms = 0;
    bool bad = false;
    json_t *o;

    (void)rest;
    r->params.hold = true;
    if (text) {
        bad = xs_str_parse_i64(text, &for_ms) < 0 || for_ms < 1 || for_ms > MOST_FOR_MS;
    } else if ((o = body_of(call)) != NULL) {
        bad = member(o, "for_ms", NULL, 1, MOST_FOR_MS, &for_ms) == -EINVAL;
        json_decref(o);
    }
    if (bad)
        return xs_path_wrong(error, size, "for_ms is a number from 1 to %lld", MOST_FOR_MS);
    r->params.for_ms = (uint64_t)for_ms;
    return fill_pid(call, r, error, size);
}

static int fill_process(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    (void)rest;
    return fill_pid(call, r, error, size);
}

static int fill_swap_out(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error, size_t size)
{
    (void)rest;
    r->params.out = true;
    return fill_pid(call, r, error, size);
}

static int fill_timeline(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error,
                         size_t size)
{
    const char *text = argument(call, "since");

    (void)rest;
    r->params.since = UINT64_MAX;
    if (text && strcmp(text, "now") != 0 && xs_str_parse_u64(text, 10, &r->params.since) < 0)
        return xs_path_wrong(error, size, "give since=NUMBER or since=now");
    return 0;
}

const struct xs_path_row xs_path_rows[] = {
    {"GET", "/xqueues", XS_REQ_QUEUES, NULL},
    {"GET", "/xqueue/", XS_REQ_QUEUE, fill_handle},
    {"POST", "/config/", XS_REQ_CONFIG, fill_config},
    {"GET", "/policy", XS_REQ_POLICY, NULL},
    {"POST", "/policy", XS_REQ_SET_POLICY, fill_policy},
    {"POST", "/hint", XS_REQ_HINT, fill_hint},
    {"GET", "/clients", XS_REQ_CLIENTS, NULL},
    {"GET", "/status", XS_REQ_STATUS, NULL},
    {"GET", "/timeline", XS_REQ_TIMELINE, fill_timeline},
    {"POST", "/suspend", XS_REQ_HOLD, fill_suspend},
    {"POST", "/resume", XS_REQ_HOLD, fill_process},
    {"POST", "/swap/out", XS_REQ_SWAP, fill_swap_out},
    {"POST", "/swap/in", XS_REQ_SWAP, fill_process},
};
const size_t xs_path_rows_count = XS_ARRAY_LEN(xs_path_rows);

static bool path_fits(const char *row_path, const char *path)
{
    size_t length = strlen(row_path);

    return length > 1 && row_path[length - 1] == '/' ? !strncmp(path, row_path, length) && path[length] : !strcmp(path, row_path);
}

bool xs_path_fits(const struct xs_path_row *row, const char *method, const char *path, int *status, const char **allow)
{
    if (!path_fits(row->path, path))
        return false;
    if (!strcmp(method, row->method) || (!strcmp(method, "HEAD") && !strcmp(row->method, "GET")))
        return true;
    *allow = *status == 405 ? "GET, HEAD, POST" : !strcmp(row->method, "GET") ? "GET, HEAD" : "POST";
    *status = 405;
    return false;
}

int xs_path_fill(const struct xs_path_row *row, const struct xs_path_call *call, struct xs_request *r, char *ret_error,
                 size_t size)
{
    return row->fill ? row->fill(call, call->path + strlen(row->path), r, ret_error, size) : 0;
}
