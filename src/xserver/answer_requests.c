/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the requests of request.h (status, suspend, set a hint, ...), in the main loop's thread. Looking at all queues goes
 * in bounded steps, so that decisions are not late because somebody looks. */
#include "xserver/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "xserver/handles.h"
#include "xserver/procinfo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_A_STEP  128
#define CLASSES_A_STEP 32

static void answer(struct xs_server *s, struct xs_request *r, int status, const char *format, ...)
    XS_PRINTF(4, 5);

static void answer(struct xs_server *s, struct xs_request *r, int status, const char *format, ...)
{
    va_list ap;

    r->status = status;
    va_start(ap, format);
    vsnprintf(r->text, sizeof(r->text), format, ap);
    va_end(ap);
    xs_mailbox_answer(&s->mailbox, r);
}

/* Whether what belongs to a user is the asker's to see and to change. */
static bool may_user(const struct xs_request *r, uint32_t uid)
{
    return r->asker.all || (r->asker.known && uid == r->asker.uid);
}

static bool may(const struct xs_request *r, const struct xs_client *c)
{
    return may_user(r, c->peer.uid);
}

/* ---- looking: at what is the asker's own, unless it may see all ---- */

static bool add_queue(struct xs_server *s, struct xs_request *r, const struct xs_server_queue *q)
{
    struct xs_queue_record *to;

    if (r->n_queues == r->room_queues) {
        size_t room = r->room_queues ? r->room_queues * 2 : 64;

        to = realloc(r->queues, room * sizeof(*to));
        if (!to)
            return false;
        r->queues = to;
        r->room_queues = room;
    }
    to = &r->queues[r->n_queues++];
    memset(to, 0, sizeof(*to));
    xs_sched_queue_status(q->sched, s->now_ns, &to->status);
    to->hints = *xs_sched_queue_hints(q->sched);
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
    return true;
}

static bool add_clients(struct xs_server *s, struct xs_request *r)
{
    r->clients = calloc(s->n_clients ? s->n_clients : 1, sizeof(*r->clients));
    if (!r->clients)
        return false;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) /* in order of session */
        if (r->n_clients < s->n_clients && may(r, c))
            r->clients[r->n_clients++] = c->record;
    return true;
}

static bool add_ended(struct xs_server *s, struct xs_request *r)
{
    r->ended = calloc(XS_HISTORY_LENGTH, sizeof(*r->ended));
    if (!r->ended)
        return false;
    for (uint32_t i = 0; i < s->history.n; i++) {
        const struct xs_client_record *record = xs_history_at(&s->history, i);

        if (may_user(r, record->uid))
            r->ended[r->n_ended++] = *record;
    }
    return true;
}

static void look_at_state(struct xs_server *s, struct xs_request *r)
{
    const struct xs_policy_ops *policy = xs_sched_policy(s->sched);

    r->state = s->counts;
    r->state.uptime_ns = s->now_ns - s->started_ns;
    xs_sched_counters(s->sched, &r->state.sched);
    if (s->lv3)
        xs_lv3_counts(s->lv3, &r->state.lv3);
    r->state.lv3.offs = s->kfd_counts.offs;
    r->state.lv3.ons = s->kfd_counts.ons;
    r->state.lv3.off_ns = s->kfd_counts.off_ns;
    r->state.lv3.on_ns = s->kfd_counts.on_ns;
    r->state.lv3.denied += s->kfd_counts.denied;
    r->state.params = *xs_sched_params(s->sched);
    r->state.policy = policy->type;
    xs_str_copy(r->state.policy_name, sizeof(r->state.policy_name), policy->name);
}

static void walk_begin(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *marker = calloc(1, sizeof(*marker));

    if (!marker || !add_clients(s, r) || (r->kind == XS_REQ_CLIENTS && !add_ended(s, r))) {
        free(marker);
        answer(s, r, 503, "out of memory");
        return;
    }
    if (r->kind == XS_REQ_METRICS)
        look_at_state(s, r);
    marker->is_marker = true;
    marker->in_server.prev = &s->queues; /* at the front */
    marker->in_server.next = s->queues.next;
    s->queues.next->prev = &marker->in_server;
    s->queues.next = &marker->in_server;
    r->walk = marker;
    r->next = s->walking;
    s->walking = r;
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
        if (q->is_marker || q->client->dead || !may(r, q->client))
            continue;
        if (r->kind != XS_REQ_CLIENTS && !add_queue(s, r, q)) {
            r->status = 503;
            return true;
        }
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

void xs_requests_walk(struct xs_server *s)
{
    for (struct xs_request **at = &s->walking; *at;) {
        struct xs_request *r = *at;
        struct xs_server_queue *marker = r->walk;

        if (!walk_step(s, r)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        xs_list_remove(&marker->in_server);
        free(marker);
        xs_mailbox_answer(&s->mailbox, r);
    }
}

static void look_at_queue(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *q = xs_handles_get(s, r->params.handle);

    if (!q || !may(r, q->client)) {
        answer(s, r, 404, "XQueue not found");
        return;
    }
    r->clients = calloc(1, sizeof(*r->clients));
    if (!r->clients || !add_queue(s, r, q)) {
        answer(s, r, 503, "out of memory");
        return;
    }
    xs_client_describe(s, q->client, r->clients);
    r->n_clients = 1;
    answer(s, r, 200, "success");
}

static bool passes(void *ctx, uint32_t uid)
{
    return may_user(ctx, uid);
}

/* Events of queues since a number; from the first question on they are kept. */
static void timeline(struct xs_server *s, struct xs_request *r)
{
    uint64_t since;

    r->events = calloc(XS_TIMELINE_ANSWER, sizeof(*r->events));
    if (!r->events || xs_timeline_want(&s->timeline, s->now_ns) < 0) {
        answer(s, r, 503, "out of memory");
        return;
    }
    s->house_ns = s->now_ns;
    look_at_state(s, r);
    since = XS_MIN(r->params.since, s->timeline.count); /* "now", or a number of another server */
    r->n_events = xs_timeline_copy(&s->timeline, since, passes, r, r->events, &r->events_next, &r->events_lost);
    r->events_end = s->timeline.count;
    r->events_now_ns = s->now_ns;
    answer(s, r, 200, "success");
}

/* ---- changing ---- */

/* The queue that the request names, if the asker may change it; else the request is answered. */
static struct xs_server_queue *queue_of(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *q = xs_handles_get(s, r->params.handle);

    if (!q) {
        answer(s, r, 404, "XQueue not found");
        return NULL;
    }
    if (!may(r, q->client)) {
        answer(s, r, 403, "the queue is another user's");
        return NULL;
    }
    return q;
}

/* Calls `change` for each joined session of a process. @return false when it was answered */
static bool each_of_pid(struct xs_server *s, struct xs_request *r,
                        void (*change)(struct xs_server *s, struct xs_client *c, struct xs_request *r))
{
    bool any = false;

    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        if (c->peer.pid != r->params.pid)
            continue;
        if (!may(r, c)) {
            answer(s, r, 403, "the process is another user's");
            return false;
        }
        any = true;
    }
    if (!any) {
        answer(s, r, 404, "no process %d is joined", (int)r->params.pid);
        return false;
    }
    XS_LIST_FOR(c, &s->clients, struct xs_client, link)
        if (c->peer.pid == r->params.pid)
            change(s, c, r);
    return true;
}

static void change_queue(struct xs_server *s, struct xs_server_queue *q, const struct xs_request *r, uint64_t now_ns)
{
    const struct xs_request_params *p = &r->params;
    struct xs_dated_hints dated = xs_server_queue_hints(q);
    const struct xs_hints before = dated.hints;
    struct xs_hints *h = &dated.hints;

    switch (p->hint) {
    case XS_HINT_PRIORITY:
        h->priority = (int32_t)p->value;
        dated.changed_ns[XS_PART_PRIORITY] = now_ns;
        break;
    case XS_HINT_UTILIZATION:
        h->utilization = (int32_t)p->value;
        dated.changed_ns[XS_PART_UTILIZATION] = now_ns;
        break;
    case XS_HINT_DEADLINE:
        h->deadline_us = p->value;
        dated.changed_ns[XS_PART_DEADLINE] = now_ns;
        break;
    case XS_HINT_LAXITY:
        h->laxity_us = p->value;
        h->lax_priority = p->lax_priority == INT32_MIN ? PRIORITY_DEFAULT : p->lax_priority;
        h->critical_priority = p->critical_priority == INT32_MIN ? h->priority : p->critical_priority;
        dated.changed_ns[XS_PART_LAXITY] = now_ns;
        break;
    default:
        return;
    }
    if (!r->asker.all)
        xs_client_bound_hints(q->client, &before, h);
    xs_server_queue_set_hints(s, q, &dated);
    q->send_hints = true;
    xs_client_tell(s, q); /* it says them again when it joins anew */
}

static void change_process(struct xs_server *s, struct xs_client *c, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    uint64_t now_ns = xs_now_ns(); /* not the round's: what the program did before it asked came before */

    if (p->hint == XS_HINT_UTILIZATION) { /* the process as a whole; its queues keep theirs */
        c->record.utilization = (int32_t)p->value;
        c->record.utilization_set = true;
        xs_sched_process_set_utilization(s->sched, c->process, (int32_t)p->value);
        return;
    }
    if (p->hint == XS_HINT_PRIORITY) {
        c->record.priority_set = true;
        c->record.priority =
            r->asker.all ? (int32_t)p->value : xs_standing_clamp(&c->standing, (int32_t)p->value);
        c->record.priority_ns = now_ns;
    }
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client)
        change_queue(s, q, r, now_ns);
}

static void hold_process(struct xs_server *s, struct xs_client *c, struct xs_request *r)
{
    c->record.held = r->params.hold;
    xs_sched_process_set_held(s->sched, c->process, r->params.hold);
}

static void mark_windows(struct xs_server *s)
{
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        bool active = false;

        XS_LIST_FOR(w, &s->windows, struct xs_window, link)
            active |= w->pid == c->peer.pid; /* NOLINT(clang-analyzer-unix.Malloc): who is freed was taken off before */
        if (active == c->record.window)
            continue;
        c->record.window = active;
        xs_sched_process_set_window(s->sched, c->process, active);
    }
}

/* The window of `pid` is the active one of that display now; 0: that of no program of ours. */
static void activate(struct xs_server *s, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_window *window = NULL;
    size_t displays = 0;
    bool own = r->asker.all || (!p->pid && r->asker.known), taken = false;

    XS_LIST_FOR(w, &s->windows, struct xs_window, link) {
        displays++;
        if (!strcmp(w->display, p->display))
            window = w;
    }
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        own |= c->peer.pid == p->pid && may(r, c);
        taken |= window && c->peer.pid == window->pid && !may(r, c);
    }
    if (!own || taken) {
        answer(s, r, 403, own ? "another user's program has the active window of that display"
                              : "the process is another user's, or not joined");
        return;
    }
    if (!p->pid) {
        if (window) {
            xs_list_remove(&window->link);
            free(window);
            mark_windows(s);
        }
        answer(s, r, 200, "success");
        return;
    }
    if (!window && displays < 64) {
        window = calloc(1, sizeof(*window));
        if (window) {
            xs_str_copy(window->display, sizeof(window->display), p->display);
            xs_list_add(&s->windows, &window->link);
        }
    }
    if (!window) {
        answer(s, r, 503, "too many displays");
        return;
    }
    window->pid = p->pid;
    mark_windows(s);
    answer(s, r, 200, "success");
}

static void hint(struct xs_server *s, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_policy_params params = *xs_sched_params(s->sched);
    struct xs_server_queue *q;

    switch (p->hint) {
    case XS_HINT_TIMESLICE:
    case XS_HINT_K:
        if (!r->asker.all) {
            answer(s, r, 403, "only an operator may change this for everybody");
            return;
        }
        if (p->hint == XS_HINT_K)
            params.k = (uint32_t)p->value;
        else
            params.timeslice_ns =
                (uint64_t)p->value == TIMESLICE_UNLIMITED ? UINT64_MAX : (uint64_t)p->value * XS_NS_PER_US;
        xs_sched_set_params(s->sched, &params);
        answer(s, r, 200, "success");
        return;
    case XS_HINT_WINDOW:
        activate(s, r);
        return;
    default:
        break;
    }
    if (!p->handle) {
        if (each_of_pid(s, r, change_process))
            answer(s, r, 200, "success");
        return;
    }
    q = queue_of(s, r);
    if (q) {
        change_queue(s, q, r, xs_now_ns());
        answer(s, r, 200, "success");
    }
}

static void configure(struct xs_server *s, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_server_queue *q = queue_of(s, r);

    if (!q)
        return;
    if ((p->batch_size ? p->batch_size : q->batch_size) > (p->threshold ? p->threshold : q->threshold)) {
        answer(s, r, 400, "batch size must not be above the threshold");
        return;
    }
    if (p->level && q->levels && !(q->levels & 1u << p->level)) {
        answer(s, r, 400, "level %d is not available on this queue", (int)p->level);
        return;
    }
    if (!p->level && !p->threshold && !p->batch_size) {
        answer(s, r, 200, "no change");
        return;
    }
    q->config.handle = q->handle;
    xs_lv3_touch(s, q->device);
    if (p->level)
        q->level = q->config.level = p->level; /* the program says another one if it takes another */
    if (p->threshold)
        q->threshold = q->config.threshold = p->threshold;
    if (p->batch_size)
        q->batch_size = q->config.batch_size = p->batch_size;
    q->send_config = true;
    xs_client_tell(s, q);
    answer(s, r, 200, "success");
}

static void set_policy(struct xs_server *s, struct xs_request *r)
{
    const struct xs_policy_ops *policy = xs_policy_by_type(r->params.policy);

    if (!r->asker.all) {
        answer(s, r, 403, "only an operator may change the policy");
        return;
    }
    if (!policy) {
        answer(s, r, 400, "there is no policy %d", (int)r->params.policy);
        return;
    }
    if (policy != xs_sched_policy(s->sched))
        xs_server_set_policy(s, policy);
    answer(s, r, 200, "success");
}

/* What CHPF goes by. A bounded part of the programs each time. */
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

void xs_requests_handle(struct xs_server *s, struct xs_request *r)
{
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
    case XS_REQ_STATUS:
    case XS_REQ_POLICY:
        look_at_state(s, r);
        answer(s, r, 200, "success");
        return;
    case XS_REQ_SET_POLICY:
        set_policy(s, r);
        return;
    case XS_REQ_CONFIG:
        configure(s, r);
        return;
    case XS_REQ_HINT:
        hint(s, r);
        return;
    case XS_REQ_HOLD:
        if (each_of_pid(s, r, hold_process))
            answer(s, r, 200, "success");
        return;
    }
    answer(s, r, 500, "unknown request");
}
