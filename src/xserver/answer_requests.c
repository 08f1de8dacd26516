/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the requests of request.h (status, suspend, set a hint, ...), in the main loop's thread. A
 * look at all queues goes in bounded steps, so that it does not make decisions late. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "host/operators.h"
#include "host/procinfo.h"
#include "sched/policy_load.h"
#include "xserver/log_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_A_STEP  128
#define CLASSES_A_STEP 32

#define STEPS_A_ROUND  4 /* one of each snapshot in progress, so many in all, in turn */

static void note_step(struct xs_request *r)
{
    uint64_t now_ns = xs_now_ns();

    r->work_ns += now_ns - r->step_ns;
    r->step_ns = now_ns;
}

static void done(struct xs_server *s, struct xs_request *r)
{
    note_step(r);
    r->done = true;
    if (r->of)
        xs_asks_answer(s, r);
    else if (r->own)
        xs_request_free(r);
}

void xs_requests_answer(struct xs_server *s, struct xs_request *r, int status, const char *format, ...)
{
    va_list ap;

    r->status = status;
    va_start(ap, format);
    vsnprintf(r->text, sizeof(r->text), format, ap);
    va_end(ap);
    done(s, r);
}

void xs_requests_answer_no_queue(struct xs_server *s, struct xs_request *r)
{
    xs_requests_answer(s, r, 404, "there is no queue 0x%" PRIx64 ": `xcli list` shows those that are", r->params.handle);
}

/* Whether the asker may see and change the things of a user. */
static bool may_user(const struct xs_request *r, uint32_t uid)
{
    return r->asker.all || (r->asker.known && uid == r->asker.uid);
}

bool xs_requests_may(const struct xs_request *r, const struct xs_client *c)
{
    return may_user(r, c->peer.uid);
}

/* ---- looking: at the asker's own things, unless it may see all ---- */

/* The reason names another program to those who may see it. */
static void name_who(const struct xs_request *r, const struct xs_server_queue *q, struct xs_queue_record *to)
{
    struct xs_sched_queue_why why;
    const struct xs_client *c;

    xs_sched_queue_why(q->sched, &why);
    to->until_ns = why.until_ns;
    memcpy(to->why_own, why.own, sizeof(to->why_own));
    c = why.who ? xs_sched_process_user(why.who) : NULL;
    if (!c || !xs_requests_may(r, c))
        return;
    to->who_pid = c->peer.pid;
    to->who_uid = c->peer.uid;
}

/* Leaves out those that came after the asker made room. */
static void add_queue(struct xs_server *s, struct xs_request *r, const struct xs_server_queue *q)
{
    struct xs_queue_record *to;

    if (r->n_queues == r->room_queues)
        return;
    to = &r->queues[r->n_queues++];
    memset(to, 0, sizeof(*to));
    xs_sched_queue_status(q->sched, s->now_ns, &to->status);
    if (to->status.why != XS_WHY_FREE)
        name_who(r, q, to);
    to->hints = *xs_sched_queue_hints(q->sched);
    to->later = *xs_sched_queue_later(q->sched);
    to->pid = q->client->peer.pid;
    to->session = q->client->session;
    to->level = q->level;
    to->levels = q->levels;
    to->platform = q->platform;
    to->threshold = q->threshold;
    to->batch_size = q->batch_size;
    to->held_ns = atomic_load_explicit(&q->client->page->cells[q->cell].held_ns, memory_order_relaxed);
    to->waiters = atomic_load_explicit(&q->client->page->cells[q->cell].waiters, memory_order_relaxed);
    to->inflight_us =
        atomic_load_explicit(&q->client->server_page->cells[q->cell].inflight_us, memory_order_relaxed);
}

void xs_requests_need(struct xs_server *s, const struct xs_request *r, size_t *ret_queues, size_t *ret_clients)
{
    bool all = r->kind == XS_REQ_QUEUES || r->kind == XS_REQ_METRICS || r->kind == XS_REQ_CLIENTS;

    *ret_queues = *ret_clients = r->kind == XS_REQ_QUEUE;
    if (!all)
        return;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        if (!xs_requests_may(r, c))
            continue;
        ++*ret_clients;
        *ret_queues += r->kind == XS_REQ_CLIENTS ? 0 : c->record.queues;
    }
}

/* As many as there is room for: all of them, where the room was made in this round. */
static void add_clients(struct xs_server *s, struct xs_request *r)
{
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) { /* in order of session */
        if (r->n_clients == r->room_clients)
            return;
        if (!xs_requests_may(r, c))
            continue;
        r->clients[r->n_clients] = c->record;
        xs_client_memory(c, &r->clients[r->n_clients++]);
    }
}

static void add_ended(struct xs_server *s, struct xs_request *r)
{
    for (uint32_t i = 0; i < s->history.n; i++) {
        const struct xs_client_record *record = xs_history_at(&s->history, i);

        if (may_user(r, record->uid))
            r->ended[r->n_ended++] = *record;
    }
}

/* The server's own counters show when others work. An asker that may not see others sees its own
 * numbers, and else 0. */
static void count_own(struct xs_server *s, struct xs_request *r)
{
    r->state.early_death = s->counts.early_death;
    for (const struct xs_quota_user *u = s->quota.users; u; u = u->next) {
        if (u->key != r->asker.share_key)
            continue;
        r->state.sched.processes = u->used[XS_POOL_SESSIONS];
        r->state.sched.queues = u->used[XS_POOL_QUEUES];
    }
}

static void count_all(struct xs_server *s, struct xs_request *r)
{
    r->state = s->counts;
    xs_sched_counters(s->sched, &r->state.sched);
    if (s->level3.nvidia)
        xs_lv3_counts(s->level3.nvidia, &r->state.lv3);
    r->state.lv3.offs = s->level3.kfd_counts.offs;
    r->state.lv3.ons = s->level3.kfd_counts.ons;
    r->state.lv3.off_ns = s->level3.kfd_counts.off_ns;
    r->state.lv3.on_ns = s->level3.kfd_counts.on_ns;
    r->state.lv3.denied += s->level3.kfd_counts.denied;
}

static void look_at_state(struct xs_server *s, struct xs_request *r)
{
    const struct xs_policy_ops *policy = xs_sched_policy(s->sched);

    memset(&r->state, 0, sizeof(r->state));
    if (r->asker.all)
        count_all(s, r);
    else if (r->asker.known)
        count_own(s, r);
    if (r->asker.all)
        xs_str_copy(r->state.log_file, sizeof(r->state.log_file), xs_log_file_path());
    r->state.http_port = s->http_port;
    r->state.uptime_ns = s->now_ns - s->started_ns;
    r->state.params = *xs_sched_params(s->sched);
    r->state.policy = policy->type;
    r->state.policy_flags = policy->flags;
    r->state.policy_reads_known = xs_policy_reads(policy, &r->state.policy_reads);
    xs_str_copy(r->state.policy_name, sizeof(r->state.policy_name), policy->name);
    if (s->module) {
        const struct xs_policy_ops *loaded = xs_policy_module_ops(s->module);

        snprintf(r->state.loaded_name, sizeof(r->state.loaded_name), "%s", loaded->name);
        snprintf(r->state.loaded_title, sizeof(r->state.loaded_title), "%s",
                 loaded->title ? loaded->title : "");
    }
}

static void walk_begin(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *marker;

    add_clients(s, r);
    marker = calloc(1, sizeof(*marker));
    if (!marker) {
        xs_requests_answer(s, r, 503, "out of memory");
        return;
    }
    if (r->kind == XS_REQ_CLIENTS)
        add_ended(s, r);
    if (r->kind == XS_REQ_METRICS)
        look_at_state(s, r);
    if (r->loads) {
        r->n_loads = xs_loads_copy(&s->loads, r->loads);
        r->now_ns = s->now_ns;
    }
    marker->is_marker = true;
    marker->in_server.prev = &s->queues; /* at the front */
    marker->in_server.next = s->queues.next;
    s->queues.next->prev = &marker->in_server;
    s->queues.next = &marker->in_server;
    r->walk = marker;
    r->next = s->walking;
    s->walking = r;
    note_step(r);
}

/* @return true when it is complete */
static bool walk_step(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *marker = r->walk;

    for (int i = 0; i < QUEUES_A_STEP; i++) {
        struct xs_list *next = marker->in_server.next;
        struct xs_server_queue *q = XS_CONTAINER_OF(next, struct xs_server_queue, in_server);
        struct xs_client_record *record;

        if (next == &s->queues) {
            r->status = 200;
            return true;
        }
        xs_list_remove(&marker->in_server);
        marker->in_server.prev = next; /* behind it */
        marker->in_server.next = next->next;
        next->next->prev = &marker->in_server;
        next->next = &marker->in_server;
        marker->order = q->order;
        if (q->is_marker || !q->client->process || !xs_requests_may(r, q->client))
            continue;
        if (r->kind != XS_REQ_CLIENTS && !q->client->dead)
            add_queue(s, r, q);
        if (r->kind != XS_REQ_QUEUES && (record = xs_request_client(r, q->client->session)) != NULL)
            xs_client_counts_of_queue(s, q, record);
    }
    return false;
}

void xs_requests_queue_goes(struct xs_server *s, const struct xs_server_queue *q)
{
    for (struct xs_request *r = s->walking; r; r = r->next) {
        const struct xs_server_queue *marker = r->walk;
        struct xs_client_record *record = NULL;

        if (r->kind != XS_REQ_QUEUES && q->order > marker->order)
            record = xs_request_client(r, q->client->session);
        if (record)
            xs_client_counts_of_queue(s, q, record);
    }
}

void xs_requests_client_goes(struct xs_server *s, const struct xs_client *c)
{
    for (struct xs_request *r = s->walking; r; r = r->next) {
        struct xs_client_record *record = r->kind == XS_REQ_QUEUES ? NULL : xs_request_client(r, c->session);

        if (record)
            *record = c->record;
    }
}

/* Takes it out of those in progress. */
static void walk_end(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *marker = r->walk;
    struct xs_request **at = &s->walking;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    xs_list_remove(&marker->in_server);
    free(marker);
    r->walk = NULL;
}

void xs_requests_walk(struct xs_server *s)
{
    int n = 0;

    for (const struct xs_request *r = s->walking; r && n < STEPS_A_ROUND; r = r->next)
        n++;
    while (n-- > 0 && s->walking) {
        struct xs_request *r = s->walking, **last = &s->walking;

        r->step_ns = xs_now_ns();
        if (walk_step(s, r)) {
            walk_end(s, r);
            done(s, r);
            continue;
        }
        note_step(r);
        s->walking = r->next; /* to the end */
        while (*last)
            last = &(*last)->next;
        *last = r;
        r->next = NULL;
    }
}

void xs_requests_walk_end(struct xs_server *s)
{
    while (s->walking) {
        struct xs_request *r = s->walking;

        walk_end(s, r);
        r->status = 503;
        done(s, r);
    }
}

void xs_requests_abandon(struct xs_server *s, struct xs_request *r)
{
    r->of = NULL;
    r->own = true;
    if (!r->walk)
        return; /* a change goes on to its end */
    walk_end(s, r);
    xs_request_free(r);
}

static void look_at_queue(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *q = xs_handles_get(s, r->params.handle);

    if (!q || !xs_requests_may(r, q->client)) {
        xs_requests_answer_no_queue(s, r);
        return;
    }
    add_queue(s, r, q);
    xs_client_describe(s, q->client, r->clients);
    r->n_clients = 1;
    xs_requests_answer(s, r, 200, "success");
}

static bool passes(void *ctx, uint32_t uid)
{
    return may_user(ctx, uid);
}

/* Events of queues since a number. The first question starts the ring. */
static void timeline(struct xs_server *s, struct xs_request *r)
{
    uint64_t since;

    if (xs_timeline_want(&s->timeline, s->now_ns) < 0) {
        xs_requests_answer(s, r, 503, "out of memory");
        return;
    }
    s->house_ns = s->now_ns;
    look_at_state(s, r);
    since = r->params.since;
    if (!r->asker.all && since != UINT64_MAX)
        since = xs_timeline_unveil(s->handles.secret, since);
    since = XS_MIN(since, s->timeline.count); /* "now", or a number of another server */
    r->n_events = xs_timeline_copy(&s->timeline, since, passes, r, r->events, &r->events_next, &r->events_lost);
    r->events_end = s->timeline.count;
    r->events_more = r->events_next < r->events_end;
    if (!r->asker.all) {
        r->events_lost = r->events_lost > 0;
        r->events_next = xs_timeline_veil(s->handles.secret, r->events_next, xs_hash_u64(s->now_ns));
        r->events_end = r->events_next;
    }
    r->events_now_ns = s->now_ns;
    xs_requests_answer(s, r, 200, "success");
}

/* The CPU classes for CHPF. Reads a bounded part of the programs each time. */
void xs_requests_cpu_classes(struct xs_server *s)
{
    int looked = 0;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        int32_t class_priority;

        if (c->session <= s->class_session)
            continue;
        if (looked++ == CLASSES_A_STEP)
            return;
        s->class_session = c->session;
        if (xs_proc_cpu_class(c->peer.pid, &class_priority) == 0)
            xs_sched_process_set_cpu_class(s->sched, c->process, class_priority);
    }
    s->class_session = 0; /* all done: start over at the next look */
}

/* With the token its holder may change everything, as who asks may anyway. */
static void settings(struct xs_server *s, struct xs_request *r)
{
    if (!r->asker.all) {
        xs_requests_answer(s, r, 403, "only an operator may see this");
        return;
    }
    r->settings.operators = xs_operators_group();
    r->settings.http = s->options.http;
    r->settings.share_by_pod = strcmp(s->options.share_by, "pod") == 0;
    xs_str_copy(r->settings.token, sizeof(r->settings.token), s->options.token);
    xs_requests_answer(s, r, 200, "success");
}

void xs_requests_handle(struct xs_server *s, struct xs_request *r)
{
    r->began_ns = r->step_ns = xs_now_ns();
    switch (r->kind) {
    case XS_REQ_QUEUES:
    case XS_REQ_CLIENTS:
    case XS_REQ_METRICS:
        walk_begin(s, r);
        return;
    case XS_REQ_QUEUE:
        look_at_queue(s, r);
        return;
    case XS_REQ_TIMELINE:
        timeline(s, r);
        return;
    case XS_REQ_SETTINGS:
        settings(s, r);
        return;
    case XS_REQ_STATUS:
    case XS_REQ_POLICY:
        look_at_state(s, r);
        xs_requests_answer(s, r, 200, "success");
        return;
    default:
        xs_requests_change(s, r);
        return;
    }
}
