/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_routes.h"

#include "base/settings/hint_rows.h"
#include "base/size.h"
#include "base/str.h"
#include "http/admission.h"
#include "http/http_guard.h"
#include "http/http_json.h"
#include "http/metrics.h"
#include "http/status_page.h"
#include "xsched/types.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_NS (3 * XS_NS_PER_S)

/* Fills the request, which has its asker, from the call. @return 0, or an HTTP status with the reason
 * in error */
typedef int (*fill_fn)(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size);

static int wrong(char *error, size_t size, const char *format, ...) XS_PRINTF(3, 4);

static int wrong(char *error, size_t size, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(error, size, format, ap);
    va_end(ap);
    return 400;
}

static const char *argument(const struct xs_route_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

static int fill_handle(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    (void)call;
    if (xs_str_parse_u64(rest, 16, &r->params.handle) < 0 || r->params.handle == 0)
        return wrong(error, size, "'%.40s' is no hexadecimal handle", rest);
    return 0;
}

static int fill_config(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
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
            return wrong(error, size, "invalid level: 1 to 3, or 0 to keep it");
        p->level = (int32_t)number;
    }
    for (size_t i = 0; i < XS_ARRAY_LEN(rows); i++) {
        text = argument(call, rows[i].name);
        if (!text)
            continue;
        if (xs_str_parse_i64(text, &number) < 0)
            return wrong(error, size, "invalid %s: a number above 0, or -1 to keep it", rows[i].name);
        *rows[i].to = number > 0 ? number : 0;
    }
    return 0;
}

static int fill_policy(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    const char *text = argument(call, "policy");
    int64_t number;

    (void)rest;
    if (text && xs_str_parse_i64(text, &number) < 0 && text[0] &&
        xs_str_copy(r->params.policy_name, sizeof(r->params.policy_name), text))
        return 0;
    if (!text || xs_str_parse_i64(text, &number) < 0 || number < 1 || (uint64_t)number > xs_policies_count)
        return wrong(error, size, "give policy=NUMBER, 1 to %zu, or policy=NAME", xs_policies_count);
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
        return wrong(error, size, "invalid handle");
    if (member(o, "pid", NULL, 0, INT32_MAX, &pid) == -EINVAL)
        return wrong(error, size, "invalid pid");
    if (!handle && !pid)
        return wrong(error, size, "give a handle or a pid");
    r->params.handle = (uint64_t)handle;
    r->params.pid = (int32_t)pid;
    return 0;
}

static int fill_window(const json_t *o, struct xs_request_params *p, char *error, size_t size)
{
    const json_t *display = json_object_get(o, "display");
    int64_t pid;

    if (member(o, "pid", NULL, 0, INT32_MAX, &pid) < 0)
        return wrong(error, size, "invalid pid");
    p->pid = (int32_t)pid;
    if (json_is_integer(display))
        snprintf(p->display, sizeof(p->display), "%lld", (long long)json_integer_value(display));
    else if (!json_is_string(display) ||
             !xs_str_copy(p->display, sizeof(p->display), json_string_value(display)))
        return wrong(error, size, "invalid display");
    return 0;
}

static int fill_laxity(const json_t *o, struct xs_request_params *p, char *error, size_t size)
{
    int64_t lax = INT32_MIN, critical = INT32_MIN; /* not given */

    if (member(o, "lax_priority", "lax_prio", PRIORITY_NO_EXECUTE, PRIORITY_MAX, &lax) == -EINVAL ||
        (member(o, "critical_priority", "crit_priority", PRIORITY_NO_EXECUTE, PRIORITY_MAX, &critical) ==
         -EINVAL))
        return wrong(error, size, "invalid lax_priority or critical_priority");
    if (critical == INT32_MIN &&
        member(o, "crit_prio", NULL, PRIORITY_NO_EXECUTE, PRIORITY_MAX, &critical) == -EINVAL)
        return wrong(error, size, "invalid crit_prio");
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
        return wrong(error, size, "missing hint type");
    p->hint = (enum xs_hint_kind)type;
    if (p->hint == XS_HINT_WINDOW)
        return fill_window(o, p, error, size);
    if (type < 0 || (uint64_t)type >= xs_hint_rows_count || !xs_hint_rows[type].name)
        return wrong(error, size, "invalid hint type");
    row = &xs_hint_rows[type];
    if (row->of_queue && (r = fill_whom(o, req, error, size)) != 0)
        return r;
    if (p->hint == XS_HINT_TIMESLICE && is_unlimited(json_object_get(o, "timeslice"))) {
        p->value = (int64_t)TIMESLICE_UNLIMITED;
        return 0;
    }
    r = member(o, row->name, NULL, INT64_MIN, INT64_MAX, &value);
    if (r == -ENOENT)
        return wrong(error, size, "missing %s", row->name);
    if (r < 0)
        return wrong(error, size, "invalid %s", row->name);
    if (!xs_value_has(&row->type, value)) {
        snprintf(text, sizeof(text), "%lld", (long long)value);
        return wrong(error, size, "invalid %s: %s", row->name, xs_value_error(&row->type, text, why, sizeof(why)));
    }
    p->value = value;
    return p->hint == XS_HINT_LAXITY ? fill_laxity(o, p, error, size) : 0;
}

#define BEYOND_INT64 9223372036854775808.0 /* 2^63 */

/* Programs write 64-bit numbers without a sign, and jansson takes none of 2^63 or more. This reads a
 * body with one again, with reals for all numbers, and only that one stays a real. Numbers up to 2^53,
 * such as handles, are exact. */
static json_t *body_of(const struct xs_route_call *call)
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

static int fill_hint(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                     size_t size)
{
    json_t *o = body_of(call);
    int status;

    (void)rest;
    if (!o)
        return wrong(error, size, "the body is no JSON");
    status = fill_hint_of(o, r, error, size);
    json_decref(o);
    return status;
}

static int fill_pid(const struct xs_route_call *call, struct xs_request *r, char *error, size_t size)
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
        return wrong(error, size, "give a pid");
    r->params.pid = (int32_t)pid;
    return 0;
}

#define MOST_FOR_MS (30ll * 24 * 3600 * 1000)

static int fill_suspend(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
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
        return wrong(error, size, "for_ms is a number from 1 to %lld", MOST_FOR_MS);
    r->params.for_ms = (uint64_t)for_ms;
    return fill_pid(call, r, error, size);
}

static int fill_process(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                       size_t size)
{
    (void)rest;
    return fill_pid(call, r, error, size);
}

static int fill_swap_out(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error, size_t size)
{
    (void)rest;
    r->params.out = true;
    return fill_pid(call, r, error, size);
}

static int fill_timeline(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error,
                         size_t size)
{
    const char *text = argument(call, "since");

    (void)rest;
    r->params.since = UINT64_MAX;
    if (text && strcmp(text, "now") != 0 && xs_str_parse_u64(text, 10, &r->params.since) < 0)
        return wrong(error, size, "give since=NUMBER or since=now");
    return 0;
}

#define MOST_WITHIN_MS (24ll * 3600 * 1000)

static int fill_admission(const struct xs_route_call *call, const char *rest, struct xs_request *r, char *error, size_t size)
{
    const char *priority = argument(call, "priority"), *share = argument(call, "share"), *within = argument(call, "within_ms"),
               *memory = argument(call, "memory"), *device = argument(call, "device");
    struct xs_size bytes;
    int64_t number;

    (void)rest;
    if (!r->asker.all) { /* the answer shows the work of others */
        wrong(error, size, "only operators may ask this");
        return 403;
    }
    if (!priority || xs_str_parse_i64(priority, &number) < 0 || number < PRIORITY_MIN || number > PRIORITY_MAX)
        return wrong(error, size, "priority=NUMBER is needed, %d to %d", PRIORITY_MIN, PRIORITY_MAX);
    r->params.admission.priority = (int32_t)number;
    if (xs_admission_parse_share(share ? share : "1", &r->params.admission.share_millis) < 0)
        return wrong(error, size, "share is a number above 0 and up to 1, such as 0.5");
    number = 1000;
    if (within && (xs_str_parse_i64(within, &number) < 0 || number < 1 || number > MOST_WITHIN_MS))
        return wrong(error, size, "within_ms is a number from 1 to %lld", MOST_WITHIN_MS);
    r->params.admission.within_us = (uint64_t)number * 1000;
    if (memory && (xs_size_parse(memory, &bytes) < 0 || bytes.percent))
        return wrong(error, size, "memory is an amount, such as 8G");
    r->params.admission.memory_bytes = memory ? bytes.bytes : 0;
    r->params.admission.one_device = device != NULL;
    if (device && xs_str_parse_u64(device, 10, &r->params.admission.device) < 0)
        return wrong(error, size, "device is a number, as GET /devices has it");
    return 0;
}

static const struct row {
    const char *method, *path; /* a path that ends in / takes one more part */
    enum xs_request_kind kind;
    fill_fn fill;
    const struct xs_page *page; /* sends this file unchanged */
    bool stream, devices, admission;
} k_rows[] = {
    {"GET", "/", .page = &xs_page_html},
    {"GET", "/page.css", .page = &xs_page_css},
    {"GET", "/page.js", .page = &xs_page_js},
    {"GET", "/dygraph.min.js", .page = &xs_dygraph_min_js},
    {"GET", "/dygraph.min.css", .page = &xs_dygraph_min_css},
    {"GET", "/events", .stream = true},
    {"GET", "/xqueues", .kind = XS_REQ_QUEUES},
    {"GET", "/xqueue/", .kind = XS_REQ_QUEUE, .fill = fill_handle},
    {"POST", "/config/", .kind = XS_REQ_CONFIG, .fill = fill_config},
    {"GET", "/devices", .kind = XS_REQ_QUEUES, .devices = true},
    {"GET", "/admission", .kind = XS_REQ_METRICS, .fill = fill_admission, .admission = true},
    {"GET", "/policy", .kind = XS_REQ_POLICY},
    {"POST", "/policy", .kind = XS_REQ_SET_POLICY, .fill = fill_policy},
    {"POST", "/hint", .kind = XS_REQ_HINT, .fill = fill_hint},
    {"GET", "/clients", .kind = XS_REQ_CLIENTS},
    {"GET", "/status", .kind = XS_REQ_STATUS},
    {"GET", "/timeline", .kind = XS_REQ_TIMELINE, .fill = fill_timeline},
    {"GET", "/metrics", .kind = XS_REQ_METRICS},
    {"POST", "/suspend", .kind = XS_REQ_HOLD, .fill = fill_suspend},
    {"POST", "/resume", .kind = XS_REQ_HOLD, .fill = fill_process},
    {"POST", "/swap/out", .kind = XS_REQ_SWAP, .fill = fill_swap_out},
    {"POST", "/swap/in", .kind = XS_REQ_SWAP, .fill = fill_process},
};

static bool path_fits(const struct row *row, const char *url)
{
    size_t length = strlen(row->path);

    return length > 1 && row->path[length - 1] == '/' ? !strncmp(url, row->path, length) && url[length]
                                        : !strcmp(url, row->path);
}

static const struct row *find(const struct xs_route_call *call, int *ret_status, const char **ret_allow)
{
    *ret_status = 404;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        const struct row *row = &k_rows[i];

        if (!path_fits(row, call->url))
            continue;
        if (!strcmp(call->method, row->method) ||
            (!strcmp(call->method, "HEAD") && !strcmp(row->method, "GET")))
            return row;
        *ret_allow = *ret_status == 405            ? "GET, HEAD, POST"
                     : !strcmp(row->method, "GET") ? "GET, HEAD"
                                                   : "POST";
        *ret_status = 405;
    }
    return NULL;
}

static void answer(const struct xs_route_call *call, const struct row *row, const struct xs_request *r,
                   struct xs_route_answer *ret)
{
    if (r->status != 200) {
        ret->json = xs_json_error(r->text[0] ? r->text : "the server is ending or out of memory");
        return;
    }
    switch (r->kind) {
    case XS_REQ_QUEUES:
        if (row->devices)
            ret->json = xs_json_devices(r);
        else
            xs_json_queues(r, &ret->text);
        return;
    case XS_REQ_QUEUE:
        ret->json = xs_json_queue(r);
        return;
    case XS_REQ_CLIENTS:
        xs_json_clients(r, &ret->text);
        return;
    case XS_REQ_METRICS:
        if (row->admission) {
            ret->json = xs_admission_json(r);
            return;
        }
        xs_metrics_text(r, &ret->text);
        ret->type = "text/plain; version=0.0.4; charset=utf-8";
        return;
    case XS_REQ_TIMELINE:
        xs_json_timeline(r, &ret->text);
        return;
    case XS_REQ_STATUS:
        ret->json = xs_json_status(r, call->http_port);
        return;
    case XS_REQ_POLICY:
        ret->json = xs_json_policy(r);
        return;
    default:
        ret->json = xs_json_info(r->text);
        if (r->kind == XS_REQ_CONFIG && !r->params.level && !r->params.threshold && !r->params.batch_size) /* as the original */
            json_object_set_new(ret->json, "warning", json_string("no change"));
        return;
    }
}

static int refuse(struct xs_route_answer *ret, int status, const char *text)
{
    ret->json = xs_json_error(text);
    return status;
}

static int send_page(const struct xs_page *page, struct xs_route_answer *ret)
{
    xs_text_add_bytes(&ret->text, (const char *)page->data, page->bytes);
    ret->type = page->type;
    ret->policy = XS_PAGE_POLICY;
    return 200;
}

static int begin_stream(const struct xs_route_call *call, struct xs_route_answer *ret)
{
    struct xs_asker asker;

    xs_guard_asker(call->connection, call->port, &asker);
    asker.share_key = call->share_key;
    if (xs_events_begin(call->events, call->connection, &asker) < 0)
        return refuse(ret, 503, "too many watch already");
    return 0;
}

int xs_route(struct xs_route_call *call, struct xs_route_answer *ret)
{
    const char *refused = xs_guard_check(call->connection, call->port, call->method);
    struct xs_request *r;
    const struct row *row;
    char error[160];
    int status;

    if (refused)
        return refuse(ret, 403, refused);
    /* $(xcli web)/metrics has two slashes at its beginning */
    while (call->url[0] == '/' && call->url[1] == '/')
        call->url++;
    row = find(call, &status, &ret->allow);
    if (!row)
        return refuse(ret, status,
                      status == 404 ? "there is no such path" : "this path does not take this method");
    if (!strcmp(row->method, "POST") && (refused = xs_guard_check_change(call->connection, call->port)) != NULL)
        return refuse(ret, 403, refused);
    if (row->page)
        return send_page(row->page, ret);
    if (row->stream)
        return begin_stream(call, ret);
    r = xs_request_new(row->kind);
    if (!r)
        return 503;
    xs_guard_asker(call->connection, call->port, &r->asker); /* answers show only the asker's own things */
    r->asker.share_key = call->share_key;
    status = row->fill ? row->fill(call, call->url + strlen(row->path), r, error, sizeof(error)) : 0;
    if (status) {
        xs_request_free(r);
        return refuse(ret, status, error);
    }
    if (!strcmp(row->method, "POST") && !r->asker.known && !r->asker.all) {
        xs_request_free(r);
        return refuse(ret, 403, "xserver cannot identify the asker: use the Unix socket or a token");
    }
    if (xs_line_ask(call->line, r, ANSWER_NS) < 0)
        return refuse(ret, 503, "the server is ending or too busy");
    status = r->status;
    ret->work_ns = r->work_ns;
    answer(call, row, r, ret);
    xs_request_free(r);
    return status;
}
