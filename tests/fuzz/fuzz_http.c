/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as text: "METHOD /path?name=value", headers, an empty line, a body. They go through the
 * routes to a server with two programs of two users, and its answers become JSON. A header says
 * who asks; only an operator changes or sees what is another user's. */
#include "fuzz.h"

#include "base/fd.h"
#include "base/log.h"
#include "http/http_framing.h"
#include "http/http_guard.h"
#include "http/http_routes.h"
#include "xserver/server.h"

#include <microhttpd.h>
#include <sys/mman.h>
#include <unistd.h>

_Atomic uint64_t fuzz_steps;
const char *const fuzz_steps_name = "requests that reached the server";

#define STRANGER 12345u

static struct xs_server g_server;
static bool g_all;

struct pairs {
    const char *names[32], *values[32];
    unsigned n;
};
static struct pairs g_headers, g_arguments;

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    const struct pairs *p = kind == MHD_HEADER_KIND ? &g_headers : &g_arguments;

    (void)connection;
    for (unsigned i = 0; i < p->n; i++)
        if (!strcmp(p->names[i], key))
            return p->values[i];
    return NULL;
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator iterator,
                              void *cls)
{
    (void)connection;
    for (unsigned i = 0; i < g_headers.n; i++)
        if (iterator(cls, kind, g_headers.names[i], g_headers.values[i]) != MHD_YES)
            break;
    return (int)g_headers.n;
}

int MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIteratorN iterator,
                                void *cls)
{
    (void)connection;
    for (unsigned i = 0; i < g_headers.n; i++)
        if (iterator(cls, kind, g_headers.names[i], strlen(g_headers.names[i]), g_headers.values[i],
                     strlen(g_headers.values[i])) != MHD_YES)
            break;
    return (int)g_headers.n;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...)
{
    (void)connection, (void)type;
    return NULL;
}

/* The token as it is; who else asks is a header's to say. */
void __real_xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
void __wrap_xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret);
void __wrap_xs_guard_asker(struct MHD_Connection *connection, uint16_t port, struct xs_asker *ret)
{
    __real_xs_guard_asker(connection, port, ret);
    FUZZ_CHECK(!ret->known); /* no connection, no credentials */
    ret->known = MHD_lookup_connection_value(NULL, MHD_HEADER_KIND, "X-Fuzz-Unknown") == NULL;
    ret->uid = STRANGER;
    g_all = ret->all = ret->all || MHD_lookup_connection_value(NULL, MHD_HEADER_KIND, "X-Fuzz-All") != NULL;
}

/* In place of the thread that serves: the main loop's part is done here, at once. */
int __wrap_xs_line_ask(struct xs_line *line, struct xs_request *r, uint64_t timeout_ns);
int __wrap_xs_line_ask(struct xs_line *line, struct xs_request *r, uint64_t timeout_ns)
{
    size_t queues, clients;

    (void)line, (void)timeout_ns;
    fuzz_steps++;
    g_server.now_ns += XS_NS_PER_MS;
    xs_requests_need(&g_server, r, &queues, &clients);
    FUZZ_CHECK(xs_request_make_room(r, queues, clients));
    xs_requests_handle(&g_server, r);
    while (g_server.walking)
        xs_requests_walk(&g_server);
    while (g_server.changes.first)
        xs_requests_change_step(&g_server);
    FUZZ_CHECK(r->done);
    return 0;
}

static void *page(size_t bytes)
{
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    FUZZ_CHECK(m != MAP_FAILED);
    return m;
}

/* As messages.c makes them, without a connection. */
static void add_program(int32_t pid, uint32_t uid, uint64_t handle)
{
    struct xs_client *c = calloc(1, sizeof(*c));
    struct xs_server_queue *q = calloc(1, sizeof(*q));
    struct xs_hints hints = {.utilization = 100, .deadline_us = -1, .laxity_us = -1};
    struct xs_sched_process_info info;

    c->fd = c->bell = c->peer.pidfd = c->death_slot = -1;
    c->peer.pid = c->record.pid = pid;
    c->peer.uid = c->record.uid = uid;
    c->joined = true;
    c->user = xs_quota_user_get(&g_server.quota, uid);
    c->session = c->record.session = g_server.counts.session_next++;
    c->page = page(sizeof(*c->page));
    c->server_page = page(sizeof(*c->server_page));
    xs_list_init(&c->queues);
    xs_list_init(&c->devices);
    xs_list_init(&c->level3.steered_link);
    xs_list_init(&c->link);
    xs_list_init(&c->unsent);
    xs_list_add(xs_pid_bucket(&g_server, c->peer.pid), &c->of_pid);
    xs_list_add(&g_server.clients, &c->link);
    g_server.n_clients++;
    info = (struct xs_sched_process_info){.id = c->session, .client = c->page, .server = c->server_page};
    c->process = xs_sched_process_add(g_server.sched, &info, c);
    q->client = c;
    q->handle = handle;
    q->levels = 6;
    q->threshold = 16;
    q->batch_size = 8;
    q->sched = xs_sched_queue_add(g_server.sched, c->process, handle, 1, 0, &hints, 0, q);
    FUZZ_CHECK(q->sched != NULL);
    xs_list_init(&q->in_unsent);
    xs_list_add(&c->queues, &q->in_client);
    xs_list_add(&g_server.queues, &q->in_server);
    xs_handles_add(&g_server, q);
}

static void set_up(void)
{
    struct xs_sched_config config;

    xs_log_set_level(XS_LOG_OFF);
    xs_options_defaults(&g_server.options);
    g_server.sources.epoll = -1;
    xs_list_init(&g_server.unjoined);
    xs_list_init(&g_server.askers);
    xs_list_init(&g_server.clients);
    xs_list_init(&g_server.dead);
    xs_list_init(&g_server.queues);
    xs_list_init(&g_server.windows);
    g_server.changes.last = &g_server.changes.first;
    g_server.counts.session_next = 1;
    FUZZ_CHECK(xs_handles_init(&g_server.handles) == 0);
    xs_sched_config_defaults(&config);
    g_server.sched = xs_sched_new(xs_policies[0], &config, NULL, NULL);
    add_program(100, 1000, 0xabc);
    add_program(200, STRANGER, 0xdef);
    xs_guard_set_token("open");
}

static void split(struct pairs *to, char *text, const char *between, const char *ends)
{
    to->n = 0;
    while (text && *text && to->n < XS_ARRAY_LEN(to->names)) {
        char *next = strpbrk(text, ends), *value;

        if (next)
            *next++ = 0;
        value = strstr(text, between);
        to->names[to->n] = text;
        to->values[to->n] = "";
        if (value) {
            *value = 0;
            to->values[to->n] = value + strlen(between);
        }
        to->n++;
        text = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    char *text = fuzz_text(data, size), *line = text, *headers, *body, *url, *rest, *arguments, *dump,
         empty[2] = "/";
    size_t body_bytes;
    struct xs_route_call call = {0};
    struct xs_server_queue *other;
    struct xs_route_answer answer;
    int status;

    if (!ready)
        set_up();
    ready = true;
    body = strstr(text, "\n\n");
    if (body) {
        *body = 0;
        body += 2;
        body_bytes = size - (size_t)(body - text);
    } else {
        body = empty + 1;
        body_bytes = 0;
    }
    headers = strchr(line, '\n');
    if (headers)
        *headers++ = 0;
    url = strchr(line, ' ');
    if (url)
        *url++ = 0;
    else
        url = empty;
    rest = strchr(url, ' '); /* " HTTP/1.1" */
    if (rest)
        *rest = 0;
    arguments = strchr(url, '?');
    if (arguments)
        *arguments++ = 0;
    split(&g_arguments, arguments, "=", "&");
    split(&g_headers, headers, ": ", "\n");
    g_all = false;
    call = (struct xs_route_call){
        .url = url, .method = line, .body = body, .body_bytes = body_bytes};
    (void)xs_framing_check(NULL, "HTTP/1.1");
    (void)xs_guard_check_change(NULL, 50000);
    memset(&answer, 0, sizeof(answer));
    status = xs_route(&call, &answer);
    FUZZ_CHECK(status == 200 || (status >= 400 && status < 600));
    dump = answer.json ? json_dumps(answer.json, JSON_COMPACT) : NULL;
    FUZZ_CHECK(!answer.json || dump);                           /* whatever was said, the answer is text */
    FUZZ_CHECK(g_all || !dump || !strstr(dump, "\"pid\":100")); /* nor seen */
    free(dump);
    json_decref(answer.json);
    if (answer.text.data)
        FUZZ_CHECK(g_all || (!memmem(answer.text.data, answer.text.bytes, "pid=\"100\"", 9) &&
                             !memmem(answer.text.data, answer.text.bytes, "\"pid\":100", 9)));
    free(answer.text.data);
    /* the other user's program is as it was, unless an operator asked */
    other = xs_handles_get(&g_server, 0xabc);
    FUZZ_CHECK(other != NULL);
    if (g_all) {
        struct xs_hints plain = {.utilization = 100, .deadline_us = -1, .laxity_us = -1};

        xs_sched_queue_set_hints(g_server.sched, other->sched, &plain);
        xs_sched_process_set_held(g_server.sched, other->client->process, false);
        other->client->record.held = false;
        other->level = 0;
        other->threshold = 16;
        other->batch_size = 8;
    }
    FUZZ_CHECK(xs_sched_queue_hints(other->sched)->priority == 0 && other->threshold == 16 &&
               !other->client->record.held);
    (void)xs_sched_run(g_server.sched, g_server.now_ns);
    free(text);
    return 0;
}
