/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the requests of request.h that change something, in the main loop's thread. A change of a
 * process changes all its queues, which may be thousands. It goes in bounded steps, so that it does
 * not make decisions late. */
#include "xserver/server.h"

#include "base/str.h"
#include "sched/policy_load.h"
#include "xserver/windows.h"

#define CHANGES_A_STEP 32
#define DUE_A_LOOK     8u /* processes that one look resumes because their time is over */

/* The queue that the request names, if the asker may change it; else answers the request. */
static struct xs_server_queue *queue_of(struct xs_server *s, struct xs_request *r)
{
    struct xs_server_queue *q = xs_handles_get(s, r->params.handle);

    if (!q) {
        xs_requests_answer_no_queue(s, r);
        return NULL;
    }
    if (!xs_requests_may(r, q->client)) {
        xs_requests_answer(s, r, 403, "the queue is another user's");
        return NULL;
    }
    return q;
}

static void change_queue(struct xs_server *s, struct xs_server_queue *q, const struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_dated_hints dated = xs_server_queue_hints(q);
    const struct xs_hints before = dated.hints;
    struct xs_hints *h = &dated.hints;

    switch (p->hint) {
#define CASE(symbol, place)                                                                                              \
    case XS_HINT_##symbol:                                                                                               \
        dated.place = (__typeof__(dated.place))p->value;                                                                 \
        dated.changed_ns[XS_PART_##symbol] = r->began_ns;                                                                \
        break;
#define QUEUE_HINT(symbol, number, field, ...)              CASE(symbol, hints.field)
#define LATER_HINT(since, fold, symbol, number, field, ...) CASE(symbol, later.field)
#include "base/settings/hints.def"
    default:
        return;
    }
    if (p->hint == XS_HINT_LAXITY) {
        h->lax_priority = p->lax_priority == INT32_MIN ? PRIORITY_DEFAULT : p->lax_priority;
        h->critical_priority = p->critical_priority == INT32_MIN ? h->priority : p->critical_priority;
    }
    if (!r->asker.all)
        xs_client_bound_hints(q->client, &before, h);
    xs_server_queue_set_hints(s, q, &dated);
    q->send_hints = true;
    xs_client_tell(s, q); /* the program sends them again when it joins anew */
}

/* ---- a process: all queues of all of its sessions, a bounded number at a time ---- */

/* Changes the session as a whole, and its later queues. @return whether each queue changes as well */
static bool change_session(struct xs_server *s, struct xs_client *c, const struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;

    if (r->kind == XS_REQ_HOLD) {
        c->record.held = p->hold;
        c->record.held_until_ns = p->hold && p->for_ms ? s->now_ns + p->for_ms * XS_NS_PER_MS : 0;
        if (c->record.held_until_ns)
            xs_changes_end_at(s, c->record.held_until_ns);
        xs_sched_process_say_held(c->process, p->hold);
        return true;
    }
    if (r->kind == XS_REQ_FOLLOW)
        return true;
    if (p->hint == XS_HINT_UTILIZATION) { /* the process as a whole; its queues keep theirs */
        c->record.utilization = (int32_t)p->value;
        c->record.utilization_set = true;
        xs_sched_process_set_utilization(s->sched, c->process, (int32_t)p->value);
        return false;
    }
    if (p->hint == XS_HINT_PRIORITY) {
        c->record.priority_set = true;
        c->record.priority = r->asker.all ? (int32_t)p->value : xs_limits_clamp(&c->limits, (int32_t)p->value);
        c->record.priority_ns = r->began_ns;
    }
    return true;
}

static void change_one(struct xs_server *s, struct xs_server_queue *q, const struct xs_request *r)
{
    if (r->kind != XS_REQ_HINT)
        xs_sched_queue_follow_held(s->sched, q->sched);
    else
        change_queue(s, q, r);
}

/* The next session of the process that the request in progress names. @return false: there is none */
static bool next_session(struct xs_server *s, const struct xs_request *r)
{
    struct xs_list *bucket = xs_pid_bucket(s, r->params.pid);
    struct xs_changes *ch = &s->changes;

    /* in order of session; from the last one on, where that is still there */
    for (struct xs_list *at = ch->client ? ch->client->of_pid.next : bucket->next; at != bucket; at = at->next) {
        struct xs_client *c = XS_CONTAINER_OF(at, struct xs_client, of_pid);

        if (c->peer.pid != r->params.pid || c->session <= ch->session)
            continue;
        ch->client = c;
        ch->session = c->session;
        ch->at = c->queues.next;
        return true;
    }
    ch->client = NULL;
    ch->session = 0;
    return false;
}

void xs_requests_change_step(struct xs_server *s)
{
    struct xs_changes *ch = &s->changes;
    struct xs_request *r = ch->first;

    for (unsigned left = CHANGES_A_STEP; left > 0; left--) {
        struct xs_list *at = ch->at;

        if (ch->client && at != &ch->client->queues) {
            ch->at = at->next;
            change_one(s, XS_CONTAINER_OF(at, struct xs_server_queue, in_client), r);
        } else if (!next_session(s, r)) {
            ch->first = r->next;
            if (!ch->first)
                ch->last = &ch->first;
            xs_requests_answer(s, r, 200, "success");
            return;
        }
    }
}

/* As a request without an asker: many queues change in bounded steps. */
static bool change_by_itself(struct xs_server *s, enum xs_request_kind kind, const struct xs_client *due)
{
    struct xs_request *r = xs_request_new(kind);

    if (!r)
        return false;
    r->asker.all = true;
    r->own = true;
    r->params.pid = due->peer.pid;
    r->began_ns = r->step_ns = s->now_ns;
    xs_requests_change(s, r);
    return true;
}

void xs_changes_follow(struct xs_server *s, struct xs_client *c)
{
    if (change_by_itself(s, XS_REQ_FOLLOW, c))
        return;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client)
        xs_sched_queue_follow_held(s->sched, q->sched);
}

void xs_changes_end_at(struct xs_server *s, uint64_t at_ns)
{
    s->changes.due_ns = XS_MIN(s->changes.due_ns, at_ns);
    s->house_ns = XS_MIN(s->house_ns, at_ns);
}

uint64_t xs_changes_due(struct xs_server *s)
{
    uint64_t next = UINT64_MAX;
    unsigned resumed = 0;

    if (s->now_ns < s->changes.due_ns)
        return s->changes.due_ns;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link) {
        if (!c->record.held_until_ns)
            continue;
        if (c->record.held_until_ns > s->now_ns)
            next = XS_MIN(next, c->record.held_until_ns);
        else if (resumed++ == DUE_A_LOOK || !change_by_itself(s, XS_REQ_HOLD, c))
            return s->changes.due_ns = s->now_ns + XS_NS_PER_MS;
    }
    return s->changes.due_ns = next;
}

void xs_changes_queue_goes(struct xs_server *s, const struct xs_server_queue *q)
{
    if (s->changes.client && s->changes.at == &q->in_client)
        s->changes.at = q->in_client.next;
}

void xs_changes_client_goes(struct xs_server *s, const struct xs_client *c)
{
    if (s->changes.client == c)
        s->changes.client = NULL;
}

void xs_changes_end(struct xs_server *s)
{
    while (s->changes.first) {
        struct xs_request *r = s->changes.first;

        s->changes.first = r->next;
        xs_requests_answer(s, r, 503, "the server is ending");
    }
    s->changes.last = &s->changes.first;
}

/* Whether the asker may change the process that the request names; else answers it. */
static bool may_change_process(struct xs_server *s, struct xs_request *r)
{
    bool any = false;

    XS_FOR_SESSIONS(c, s, r->params.pid) {
        if (!xs_requests_may(r, c)) {
            xs_requests_answer(s, r, 403, "the process is another user's");
            return false;
        }
        any = true;
    }
    if (!any)
        xs_requests_answer(s, r, 404, "there is no joined process %d: `xcli list` shows those that are", (int)r->params.pid);
    return any;
}

static void change_process(struct xs_server *s, struct xs_request *r)
{
    bool queues = false;

    if (!may_change_process(s, r))
        return;
    XS_FOR_SESSIONS(c, s, r->params.pid)
        queues = change_session(s, c, r) || queues;
    if (!queues) {
        xs_requests_answer(s, r, 200, "success");
        return;
    }
    r->next = NULL;
    *s->changes.last = r;
    s->changes.last = &r->next;
    if (s->changes.first == r) /* most have few queues */
        xs_requests_change_step(s);
}

static void hint(struct xs_server *s, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_policy_params params = *xs_sched_params(s->sched);
    struct xs_server_queue *q;
    const char *wrong;

    switch (p->hint) {
    case XS_HINT_TIMESLICE:
    case XS_HINT_KDEADLINE:
        if (!r->asker.all) {
            xs_requests_answer(s, r, 403, "only an operator may change this for everybody");
            return;
        }
        if (p->hint == XS_HINT_KDEADLINE)
            params.k = (uint32_t)p->value;
        else
            params.timeslice_ns =
                (uint64_t)p->value == TIMESLICE_UNLIMITED ? UINT64_MAX : (uint64_t)p->value * XS_NS_PER_US;
        xs_sched_set_params(s->sched, &params);
        xs_requests_answer(s, r, 200, "success");
        return;
    case XS_HINT_WINDOW:
        wrong = xs_windows_activate(s, &r->asker, p->pid, p->display);
        xs_requests_answer(s, r, wrong ? 403 : 200, "%s", wrong ? wrong : "success");
        return;
    default:
        break;
    }
    if (!p->handle) {
        change_process(s, r);
        return;
    }
    q = queue_of(s, r);
    if (q) {
        change_queue(s, q, r);
        xs_requests_answer(s, r, 200, "success");
    }
}

static void configure(struct xs_server *s, struct xs_request *r)
{
    const struct xs_request_params *p = &r->params;
    struct xs_server_queue *q = queue_of(s, r);

    if (!q)
        return;
    if ((p->batch_size ? p->batch_size : q->batch_size) > (p->threshold ? p->threshold : q->threshold)) {
        xs_requests_answer(s, r, 400, "batch size must not be above the threshold");
        return;
    }
    if (p->level && q->levels && !(q->levels & 1u << p->level)) {
        xs_requests_answer(s, r, 400, "level %d is not available on this queue", (int)p->level);
        return;
    }
    if (!p->level && !p->threshold && !p->batch_size) {
        xs_requests_answer(s, r, 200, "no change");
        return;
    }
    q->config.handle = q->handle;
    xs_lv3_touch(s, q->device);
    if (p->level)
        q->level = q->config.level = p->level; /* the program reports another level if it takes another */
    if (p->threshold)
        q->threshold = q->config.threshold = p->threshold;
    if (p->batch_size)
        q->batch_size = q->config.batch_size = p->batch_size;
    q->send_config = true;
    xs_client_tell(s, q);
    xs_requests_answer(s, r, 200, "success");
}

static void swap(struct xs_server *s, struct xs_request *r)
{
    const char *wrong = NULL;
    bool moves = false;

    if (!may_change_process(s, r))
        return;
    XS_FOR_SESSIONS(c, s, r->params.pid) {
        const char *one = xs_swaps_by_hand(s, c, r->params.out);

        moves = moves || !one;
        wrong = one ? one : wrong;
    }
    if (moves)
        xs_requests_answer(s, r, 200, "success");
    else
        xs_requests_answer(s, r, 409, "%s", wrong);
}

/* A built-in one, or the one that the server loaded at its start or at a reload: no request loads another. */
static const struct xs_policy_ops *wanted_policy(const struct xs_server *s, const struct xs_request_params *p)
{
    const struct xs_policy_ops *policy =
        p->policy ? xs_policy_by_type(p->policy) : xs_policy_by_name(p->policy_name);

    if (!policy && !p->policy && s->module &&
        xs_str_equal_nocase(xs_policy_module_ops(s->module)->name, p->policy_name))
        policy = xs_policy_module_ops(s->module);
    return policy;
}

static void set_policy(struct xs_server *s, struct xs_request *r)
{
    const struct xs_policy_ops *policy = wanted_policy(s, &r->params);

    if (!r->asker.all) {
        xs_requests_answer(s, r, 403, "only an operator may change the policy");
        return;
    }
    if (!policy) {
        if (r->params.policy)
            xs_requests_answer(s, r, 400, "there is no policy %d", (int)r->params.policy);
        else
            xs_requests_answer(s, r, 400, "there is no policy '%s'", r->params.policy_name);
        return;
    }
    if (policy != xs_sched_policy(s->sched))
        xs_server_set_policy(s, policy);
    xs_requests_answer(s, r, 200, "success");
}

void xs_requests_change(struct xs_server *s, struct xs_request *r)
{
    switch (r->kind) {
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
    case XS_REQ_FOLLOW:
        change_process(s, r);
        return;
    case XS_REQ_SWAP:
        swap(s, r);
        return;
    default:
        xs_requests_answer(s, r, 500, "unknown request");
        return;
    }
}
