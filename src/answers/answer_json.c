/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/answer_json.h"

#include "answers/json_members.h"
#include "base/clock.h"
#include "base/platforms.h"
#include "base/settings/hint_rows.h"
#include "host/user_names.h"
#include "policy/policies.h"
#include "wire/wire.h"
#include "xsched/types.h"

#include <stdlib.h>
#include <string.h>

json_t *xs_json_error(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

static json_t *info_of(const char *text)
{
    return json_pack("{s:s}", "info", text);
}

/* Why it waits, or runs although it would not by the policy alone. */
static void set_why(json_t *o, const struct xs_queue_record *q)
{
    const struct xs_sched_queue_status *st = &q->status;
    char user[XS_USER_NAME_BYTES], text[256];
    struct xs_why_names names = {.pid = q->who_pid, .within_ns = UINT64_MAX};
    uint64_t now_ns;

    if (st->why == XS_WHY_FREE || !(st->ready || st->why == XS_WHY_HAND || st->why == XS_WHY_NEVER))
        return;
    if (q->who_pid && st->why == XS_WHY_SHARE) { /* the one reason that names a user */
        xs_user_name(q->who_uid, user);
        names.user = user;
    }
    if (q->until_ns != UINT64_MAX && q->until_ns > (now_ns = xs_now_ns()))
        names.within_ns = q->until_ns - now_ns;
    xs_why_text(st->why, &names, q->why_own, text, sizeof(text));
    xs_set_text(o, "why", xs_why_code(st->why));
    xs_set_text(o, "why_text", text);
    if (q->who_pid)
        xs_set_signed(o, "why_pid", q->who_pid);
}

static const char *const k_gather[XS_SCHED_GATHER_STATES] = {
    [XS_SCHED_GATHER_NO] = "no",           [XS_SCHED_GATHER_LEARNS] = "learns",       [XS_SCHED_GATHER_GATHERS] = "gathers",
    [XS_SCHED_GATHER_IRREGULAR] = "irregular", [XS_SCHED_GATHER_NO_USE] = "no use",
};

static json_t *queue(const struct xs_queue_record *q)
{
    const struct xs_sched_queue_status *st = &q->status;
    json_t *o = json_object();

    xs_set_int(o, "handle", st->handle);
    xs_set_int(o, "device", st->device);
    xs_set_signed(o, "level", q->level);
    xs_set_signed(o, "pid", q->pid);
    xs_set_signed(o, "threshold", q->threshold);
    xs_set_signed(o, "batch_size", q->batch_size);
    xs_set_bool(o, "ready", st->ready);
    xs_set_bool(o, "suspended", !st->permitted && !st->gathers);
#define QUEUE_HINT(symbol, number, field, type, without, unit, reads, process, name, ...) xs_set_signed(o, name, q->hints.field);
#define MORE(symbol, field, type, without, name, ...) xs_set_signed(o, name, q->hints.field);
#define LATER_HINT(since, fold, symbol, number, field, type, without, unit, reads, process, name, ...) \
    xs_set_signed(o, name, q->later.field);
#include "base/settings/hints.def"
    xs_set_text(o, "platform", xs_platform_name(q->platform));
    xs_set_int(o, "levels", q->levels);
    xs_set_int(o, "commands", st->entered);
    xs_set_int(o, "completed", st->completed);
    xs_set_int(o, "running_us", st->running_ns / XS_NS_PER_US);
    xs_set_int(o, "waiting_us", st->waiting_ns / XS_NS_PER_US);
    if (st->gather != XS_SCHED_GATHER_NO)
        xs_set_text(o, "gather", k_gather[st->gather]);
    xs_set_int(o, "gathered_us", st->gathered_ns / XS_NS_PER_US);
    xs_set_int(o, "service_us", st->service_ns / XS_NS_PER_US);
    xs_set_int(o, "held_us", q->held_ns / XS_NS_PER_US);
    xs_set_int(o, "suspensions", st->suspensions);
    xs_set_int(o, "preemptions", st->preemptions);
    xs_set_int(o, "inflight_us", q->inflight_us);
    xs_set_int(o, "lane", st->lane);
    xs_set_int(o, "reserve", st->reserve);
    xs_set_int(o, "waiters", q->waiters);
    set_why(o, q);
    return o;
}

static uint64_t left_us(uint64_t until_ns)
{
    uint64_t now_ns = xs_now_ns();

    return until_ns > now_ns ? (until_ns - now_ns) / XS_NS_PER_US : 0;
}

static json_t *swap(const struct xs_client_record *c)
{
    static const char *const k_states[] = {
        [XS_SWAP_RECORD_IN] = "in", [XS_SWAP_RECORD_GOES_OUT] = "goes out", [XS_SWAP_RECORD_OUT] = "out",
        [XS_SWAP_RECORD_COMES_IN] = "comes in"};
    json_t *o = json_object();

    xs_set_text(o, "state", k_states[c->swap]);
    xs_set_int(o, "bytes", c->swap_movable);
    xs_set_int(o, "moves", c->swap_moves);
    xs_set_int(o, "moved_bytes", c->swap_bytes);
    xs_set_int(o, "moved_us", c->swap_ns / XS_NS_PER_US);
    xs_set_text(o, "error", c->swap_why);
    return o;
}

static json_t *client(const struct xs_client_record *c)
{
    json_t *o = json_object();

    xs_set_signed(o, "pid", c->pid);
    xs_set_text(o, "cmdline", c->cmdline);
    xs_set_int(o, "uid", c->uid);
    xs_set_int(o, "queues", c->queues);
    xs_set_signed(o, "utilization", c->utilization);
    xs_set_bool(o, "held", c->held);
    if (c->memory_limit) {
        xs_set_int(o, "memory_used_bytes", c->memory_used);
        xs_set_int(o, "memory_limit_bytes", c->memory_limit);
    }
    if (c->swap != XS_SWAP_RECORD_NO)
        json_object_set_new(o, "swap", swap(c));
    if (c->held_until_ns)
        xs_set_int(o, "held_for_us", left_us(c->held_until_ns));
    xs_set_text(o, "group", c->group);
    xs_set_text(o, "share", c->space ? "space" : "time");
    if (c->mps_higher || c->mps_lower)
        xs_set_text(o, "mps_priority", c->mps_higher ? "higher" : "lower");
    xs_set_int(o, "session", c->session);
    return o;
}

json_t *xs_json_client(const struct xs_client_record *c)
{
    json_t *o = client(c);

    xs_set_signed(o, "pid_in_namespace", c->pid_in_namespace);
    xs_set_int(o, "protocol_minor", c->protocol_minor);
    xs_set_int(o, "queues_ever", c->queues_ever);
    xs_set_int(o, "commands", c->entered);
    xs_set_int(o, "held_us", c->held_ns / XS_NS_PER_US);
    xs_set_int(o, "running_us", c->running_ns / XS_NS_PER_US);
    xs_set_int(o, "waiting_us", c->waiting_ns / XS_NS_PER_US);
    xs_set_int(o, "gathered_us", c->gathered_ns / XS_NS_PER_US);
    xs_set_int(o, "service_us", c->service_ns / XS_NS_PER_US);
    xs_set_int(o, "suspensions", c->suspensions);
    xs_set_int(o, "preemptions", c->preemptions);
    xs_set_text(o, "container", c->container.id);
    xs_set_text(o, "pod", c->container.pod);
    xs_set_bool(o, "intra", c->intra);
    xs_set_bool(o, "window", c->window);
    xs_set_signed(o, "joined", c->joined_s);
    if (c->left_s) {
        xs_set_signed(o, "left", c->left_s);
        xs_set_text(o, "why", c->left_why);
    }
    return o;
}

/* As one part of a list. There may be very many: text takes a tenth of the memory of a tree. */
static void add_to_list(struct xs_text *to, bool first, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

    json_decref(o);
    to->failed = to->failed || !text;
    if (!first)
        xs_text_add_bytes(to, ",", 1);
    if (text)
        xs_text_add_bytes(to, text, strlen(text));
    free(text);
}

static void add_queues(const struct xs_request *r, struct xs_text *ret)
{
    xs_text_add(ret, "{\"xqueues\":[");
    for (size_t i = 0; i < r->n_queues; i++)
        add_to_list(ret, i == 0, queue(&r->queues[i]));
    xs_text_add(ret, "],\"processes\":[");
    for (size_t i = 0; i < r->n_clients; i++)
        add_to_list(ret, i == 0, client(&r->clients[i]));
    xs_text_add(ret, "]}");
}

static json_t *queue_and_program(const struct xs_request *r)
{
    return json_pack("{s:o, s:o}", "xqueue", queue(&r->queues[0]), "process",
                     xs_json_client(&r->clients[0]));
}

static void add_clients(const struct xs_request *r, struct xs_text *ret)
{
    xs_text_add(ret, "{\"clients\":[");
    for (size_t i = 0; i < r->n_clients; i++)
        add_to_list(ret, i == 0, xs_json_client(&r->clients[i]));
    xs_text_add(ret, "],\"ended\":[");
    for (size_t i = 0; i < r->n_ended; i++)
        add_to_list(ret, i == 0, xs_json_client(&r->ended[i]));
    xs_text_add(ret, "]}");
}

static void add_policy(json_t *list, int number, const char *name, const char *title)
{
    json_t *o = json_object();

    xs_set_signed(o, "policy", number);
    xs_set_text(o, "name", name);
    xs_set_text(o, "title", title);
    json_array_append_new(list, o);
}

static json_t *policy(const struct xs_request *r)
{
    json_t *available = json_array(),
           *o = json_pack("{s:i, s:s}", "policy", (int)r->state.policy, "name", r->state.policy_name);
    json_t *reads = json_array();
    const char *name;
    uint32_t flag;

    for (size_t i = 0; xs_policy_hint(i, &name, &flag); i++)
        if (r->state.policy_reads & flag)
            json_array_append_new(reads, json_string(name));
    if (r->state.policy_reads_known)
        json_object_set(o, "reads", reads);
    for (size_t i = 0; i < xs_policies_count; i++)
        add_policy(available, xs_policies[i]->type, xs_policies[i]->name, xs_policies[i]->title);
    if (r->state.loaded_name[0])
        add_policy(available, 0, r->state.loaded_name, r->state.loaded_title);
    json_object_set_new(o, "available", available);
    json_decref(reads);
    return o;
}

static json_t *level3(const struct xs_lv3_counts *c)
{
    json_t *o = json_object();

    xs_set_int(o, "groups", c->groups);
    xs_set_int(o, "slices", c->slices);
    xs_set_int(o, "offs", c->offs);
    xs_set_int(o, "ons", c->ons);
    xs_set_int(o, "denied", c->denied);
    xs_set_int(o, "failed", c->failed);
    xs_set_int(o, "slice_ns", c->slice_ns);
    xs_set_int(o, "off_ns", c->off_ns);
    xs_set_int(o, "on_ns", c->on_ns);
    return o;
}

static json_t *latency(const struct xs_latency *l)
{
    json_t *o = json_object(), *buckets = json_array();

    xs_set_int(o, "count", l->count);
    xs_set_int(o, "mean_ns", l->count ? l->sum_ns / l->count : 0);
    xs_set_int(o, "max_ns", l->max_ns);
    for (unsigned i = 0; i < XS_LATENCY_BUCKETS; i++) {
        json_t *b = json_object();

        /* the last bucket has no upper bound: null */
        json_object_set_new(b, "below_ns",
                            i + 1 < XS_LATENCY_BUCKETS ? json_integer((json_int_t)xs_latency_bound_ns(i))
                                                       : json_null());
        xs_set_int(b, "count", l->buckets[i]);
        json_array_append_new(buckets, b);
    }
    json_object_set_new(o, "buckets", buckets);
    return o;
}

/* Of the server as a whole: they show when others work. */
static void add_counters(json_t *o, const struct xs_status_record *st)
{
    xs_set_text(o, "log_file", st->log_file);
    xs_set_int(o, "entities", st->sched.entities);
    xs_set_int(o, "devices", st->sched.devices);
    xs_set_int(o, "decisions", st->sched.decisions);
    xs_set_int(o, "permits", st->sched.permits);
    xs_set_int(o, "holds", st->sched.holds);
    xs_set_int(o, "bells", st->sched.bells);
    xs_set_int(o, "rescans", st->sched.rescans);
    xs_set_int(o, "stalls", st->sched.stalls);
    xs_set_int(o, "joined", st->joined_ever);
    xs_set_int(o, "refused", st->refused);
    xs_set_int(o, "malformed", st->malformed);
    xs_set_int(o, "requests", st->requests);
    xs_set_int(o, "spins", st->spins);
    xs_set_int(o, "spin_us", st->spin_ns / XS_NS_PER_US);
    xs_set_int(o, "sleeps", st->sleeps);
    xs_set_int(o, "longest_round_us", st->longest_round_ns / XS_NS_PER_US);
    xs_set_int(o, "late_rounds", st->late_rounds);
    json_object_set_new(o, "decision_latency", latency(&st->decision));
    json_object_set_new(o, "preemption_latency", latency(&st->preemption));
    json_object_set_new(o, "level3", level3(&st->lv3));
}

json_t *xs_json_status(const struct xs_request *r)
{
    const struct xs_status_record *st = &r->state;
    json_t *o = json_object();

    xs_set_text(o, "version", XSCHED_VERSION);
    json_object_set_new(o, "protocol", json_sprintf("%u.%u", XS_WIRE_MAJOR, XS_WIRE_MINOR));
    xs_set_int(o, "uptime_us", st->uptime_ns / XS_NS_PER_US);
    xs_set_signed(o, "policy", st->policy);
    xs_set_text(o, "policy_name", st->policy_name);
    if (st->params.timeslice_ns == UINT64_MAX)
        xs_set_text(o, "timeslice_us", "UNLIMITED");
    else
        xs_set_int(o, "timeslice_us", st->params.timeslice_ns / XS_NS_PER_US);
    xs_set_int(o, "k", st->params.k);
    xs_set_int(o, "http_port", st->http_port);
    xs_set_bool(o, "whole_server", r->asker.all); /* else clients and queues are the asker's own */
    xs_set_int(o, "clients", st->sched.processes);
    xs_set_int(o, "queues", st->sched.queues);
    xs_set_bool(o, "early_death", st->early_death);
    if (r->asker.all)
        add_counters(o, st);
    return o;
}

static void add_timeline(const struct xs_request *r, struct xs_text *ret)
{
    static const char *const k_kinds[] = {
#define X(name) [XS_TIMELINE_##name] = #name,
        XS_TIMELINE_KINDS(X)
#undef X
    };

    json_t *name = json_string(r->state.policy_name); /* the name of a loaded policy may contain anything */
    char *policy = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;

    json_decref(name);
    xs_text_add(ret, "{\"policy\":%s,\"now_ns\":%llu,\"next\":%llu,\"end\":%llu,\"more\":%s,\"lost\":%llu,\"events\":[",
                policy ? policy : "\"?\"", (unsigned long long)r->events_now_ns, (unsigned long long)r->events_next,
                (unsigned long long)r->events_end, r->events_more ? "true" : "false", (unsigned long long)r->events_lost);
    free(policy);
    for (size_t i = 0; i < r->n_events; i++) {
        const struct xs_timeline_event *e = &r->events[i];

        xs_text_add(ret, "%s[%llu,\"%s\",%llu,%d,%d,", i ? "," : "", (unsigned long long)e->time_ns, k_kinds[e->kind],
                    (unsigned long long)e->handle, (int)e->pid, (int)e->value);
        if (e->kind == XS_TIMELINE_hold)
            xs_text_add(ret, "\"%s\"]", xs_why_code((unsigned)e->device));
        else if (e->kind == XS_TIMELINE_policy)
            xs_text_add(ret, "\"%s\"]", xs_policy_by_type(e->value) ? xs_policy_by_type(e->value)->name : "custom");
        else
            xs_text_add(ret, "%llu]", (unsigned long long)e->device);
    }
    xs_text_add(ret, "]}");
}

json_t *xs_json_answer(const struct xs_request *r, struct xs_text *ret_text)
{
    json_t *o;

    if (r->status != 200)
        return xs_json_error(r->text[0] ? r->text : "the server is ending or out of memory");
    switch (r->kind) {
    case XS_REQ_QUEUES:
        add_queues(r, ret_text);
        return NULL;
    case XS_REQ_QUEUE:
        return queue_and_program(r);
    case XS_REQ_CLIENTS:
        add_clients(r, ret_text);
        return NULL;
    case XS_REQ_TIMELINE:
        add_timeline(r, ret_text);
        return NULL;
    case XS_REQ_STATUS:
        return xs_json_status(r);
    case XS_REQ_POLICY:
        return policy(r);
    default:
        o = info_of(r->text);
        if (r->kind == XS_REQ_CONFIG && !r->params.level && !r->params.threshold && !r->params.batch_size) /* as the original */
            json_object_set_new(o, "warning", json_string("no change"));
        return o;
    }
}
