/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_routes.h"

#include "answers/answer_json.h"
#include "answers/path_request.h"
#include "base/size.h"
#include "base/str.h"
#include "http/admission.h"
#include "http/http_guard.h"
#include "http/http_json.h"
#include "http/metrics.h"
#include "http/status_page.h"
#include "xsched/types.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_NS (3 * XS_NS_PER_S)

static const char *argument(void *ctx, const char *name)
{
    return MHD_lookup_connection_value(ctx, MHD_GET_ARGUMENT_KIND, name);
}

#define MOST_WITHIN_MS (24ll * 3600 * 1000)

static int fill_admission(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *error, size_t size)
{
    const char *priority = argument(call->ctx, "priority"), *share = argument(call->ctx, "share"),
               *within = argument(call->ctx, "within_ms"), *memory = argument(call->ctx, "memory"),
               *device = argument(call->ctx, "device");
    struct xs_size bytes;
    int64_t number;

    (void)rest;
    if (!r->asker.all) { /* the answer shows the work of others */
        xs_path_wrong(error, size, "only operators may ask this");
        return 403;
    }
    if (!priority || xs_str_parse_i64(priority, &number) < 0 || number < PRIORITY_MIN || number > PRIORITY_MAX)
        return xs_path_wrong(error, size, "priority=NUMBER is needed, %d to %d", PRIORITY_MIN, PRIORITY_MAX);
    r->params.admission.priority = (int32_t)number;
    if (xs_admission_parse_share(share ? share : "1", &r->params.admission.share_millis) < 0)
        return xs_path_wrong(error, size, "share is a number above 0 and up to 1, such as 0.5");
    number = 1000;
    if (within && (xs_str_parse_i64(within, &number) < 0 || number < 1 || number > MOST_WITHIN_MS))
        return xs_path_wrong(error, size, "within_ms is a number from 1 to %lld", MOST_WITHIN_MS);
    r->params.admission.within_us = (uint64_t)number * 1000;
    if (memory && (xs_size_parse(memory, &bytes) < 0 || bytes.percent))
        return xs_path_wrong(error, size, "memory is an amount, such as 8G");
    r->params.admission.memory_bytes = memory ? bytes.bytes : 0;
    r->params.admission.one_device = device != NULL;
    if (device && xs_str_parse_u64(device, 10, &r->params.admission.device) < 0)
        return xs_path_wrong(error, size, "device is a number, as GET /devices has it");
    return 0;
}

static const struct row {
    struct xs_path_row at;
    const struct xs_page *page; /* sends this file unchanged */
    bool stream, devices, admission;
} k_rows[] = {
    {{"GET", "/", 0, NULL}, .page = &xs_page_html},
    {{"GET", "/page.css", 0, NULL}, .page = &xs_page_css},
    {{"GET", "/page.js", 0, NULL}, .page = &xs_page_js},
    {{"GET", "/dygraph.min.js", 0, NULL}, .page = &xs_dygraph_min_js},
    {{"GET", "/dygraph.min.css", 0, NULL}, .page = &xs_dygraph_min_css},
    {{"GET", "/events", 0, NULL}, .stream = true},
    {{"GET", "/devices", XS_REQ_QUEUES, NULL}, .devices = true},
    {{"GET", "/admission", XS_REQ_METRICS, fill_admission}, .admission = true},
    {{"GET", "/metrics", XS_REQ_METRICS, NULL}, .page = NULL},
};

/* A path is in one of the two tables. @param ret_own  NULL: records alone answer it */
static const struct xs_path_row *find(const struct xs_route_call *call, const struct row **ret_own, int *ret_status,
                                      const char **ret_allow)
{
    *ret_status = 404;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++) {
        *ret_own = &k_rows[i];
        if (xs_path_fits(&k_rows[i].at, call->method, call->url, ret_status, ret_allow))
            return &k_rows[i].at;
    }
    *ret_own = NULL;
    for (size_t i = 0; i < xs_path_rows_count; i++)
        if (xs_path_fits(&xs_path_rows[i], call->method, call->url, ret_status, ret_allow))
            return &xs_path_rows[i];
    return NULL;
}

/* @param own  NULL: records alone answer it */
static void answer(const struct row *own, const struct xs_request *r, struct xs_route_answer *ret)
{
    if (!own || r->status != 200) {
        ret->json = xs_json_answer(r, &ret->text);
    } else if (own->devices) {
        ret->json = xs_json_devices(r);
    } else if (own->admission) {
        ret->json = xs_admission_json(r);
    } else {
        xs_metrics_text(r, &ret->text);
        ret->type = "text/plain; version=0.0.4; charset=utf-8";
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

/* Writer: the main thread. Relaxed: an answer may still be of the time before. */
static _Atomic bool g_off;

void xs_routes_set_off(bool off)
{
    atomic_store_explicit(&g_off, off, memory_order_relaxed);
}

int xs_route(struct xs_route_call *call, struct xs_route_answer *ret)
{
    const char *refused = xs_guard_check(call->connection, call->port, call->method);
    struct xs_path_call parts = {
        .body = call->body, .body_bytes = call->body_bytes, .argument = argument, .ctx = call->connection};
    const struct xs_path_row *row;
    const struct row *own;
    struct xs_request *r;
    char error[160];
    int status;

    if (refused)
        return refuse(ret, 403, refused);
    if (atomic_load_explicit(&g_off, memory_order_relaxed))
        return refuse(ret, 503, "xserver's configuration has http = OFF; xcli needs no HTTP");
    /* $(xcli web)/metrics has two slashes at its beginning */
    while (call->url[0] == '/' && call->url[1] == '/')
        call->url++;
    parts.path = call->url;
    row = find(call, &own, &status, &ret->allow);
    if (!row)
        return refuse(ret, status,
                      status == 404 ? "there is no such path" : "this path does not take this method");
    if (!strcmp(row->method, "POST") && (refused = xs_guard_check_change(call->connection, call->port)) != NULL)
        return refuse(ret, 403, refused);
    if (own && own->page)
        return send_page(own->page, ret);
    if (own && own->stream)
        return begin_stream(call, ret);
    r = xs_request_new(row->kind);
    if (!r)
        return 503;
    xs_guard_asker(call->connection, call->port, &r->asker); /* answers show only the asker's own things */
    r->asker.share_key = call->share_key;
    status = xs_path_fill(row, &parts, r, error, sizeof(error));
    if (status) {
        xs_request_free(r);
        return refuse(ret, status, error);
    }
    if (!strcmp(row->method, "POST") && !r->asker.known && !r->asker.all) {
        xs_request_free(r);
        return refuse(ret, 403, "the kernel does not say which user asks: use the token");
    }
    if (xs_line_ask(call->line, r, ANSWER_NS) < 0)
        return refuse(ret, 503, "the server is ending or too busy");
    status = r->status;
    ret->work_ns = r->work_ns;
    answer(own, r, ret);
    xs_request_free(r);
    return status;
}
