/* SPDX-License-Identifier: Apache-2.0 */
#include "http/admission.h"

#include "base/clock.h"
#include "base/str.h"
#include "http/http_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WHOLE        1000u /* thousandths */
#define LITTLE       10u   /* a program without work is not active if it had less than this of the device */
#define YOUNG_S      2     /* of a younger program the server does not know yet how much it takes */
#define SWITCH_WORTH 20u   /* a slice is so many switches long: see struct xs_policy_params */

/* A program's part on the device. */
struct device_part {
    bool here, ready;
    int32_t priority;
    uint32_t utilization;
    uint64_t ready_since_ns, service_ns, inflight_us;
};

struct admission_view {
    const struct xs_request *r;
    const struct device_part *parts; /* as r->clients */
    uint64_t now_ns;
    int64_t now_s;
};

static uint32_t percent(uint32_t millis)
{
    return (millis + 5) / 10;
}

static void say(struct xs_admission *a, const char *format, ...) XS_PRINTF(2, 3);

static void say(struct xs_admission *a, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(a->reason, sizeof(a->reason), format, ap);
    va_end(ap);
}

int xs_admission_parse_share(const char *text, uint32_t *ret_millis)
{
    uint32_t millis = 0, unit = WHOLE;
    bool digit = false;

    for (; *text >= '0' && *text <= '9' && millis <= WHOLE; text++, digit = true)
        millis = millis * 10 + (uint32_t)(*text - '0') * WHOLE;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, digit = true) {
            unit /= 10;
            millis += (uint32_t)(*text - '0') * unit;
        }
    if (*text || !digit || millis == 0 || millis > WHOLE)
        return -EINVAL;
    *ret_millis = millis;
    return 0;
}

/* @return one for each of r->clients, the caller's; NULL: out of memory */
static struct device_part *parts_of(const struct xs_request *r, XDevice device)
{
    struct device_part *parts = calloc(r->n_clients + 1, sizeof(*parts));

    for (size_t i = 0; parts && i < r->n_queues; i++) {
        const struct xs_queue_record *q = &r->queues[i];
        const struct xs_client_record *c = q->status.device == device ? xs_request_client(r, q->session) : NULL;
        struct device_part *p = c ? &parts[c - r->clients] : NULL;

        if (!p)
            continue;
        if (!p->here || q->hints.priority > p->priority)
            p->priority = q->hints.priority;
        if (q->status.ready && (!p->ready || q->status.ready_since_ns < p->ready_since_ns))
            p->ready_since_ns = q->status.ready_since_ns;
        p->here = true;
        p->ready |= q->status.ready;
        p->utilization = XS_MAX(p->utilization, (uint32_t)q->hints.utilization);
        p->service_ns += q->status.service_ns;
        p->inflight_us = XS_MAX(p->inflight_us, (uint64_t)q->inflight_us);
    }
    return parts;
}

/* The average part of the device that a program had since it joined. */
static uint32_t had(const struct admission_view *v, size_t i)
{
    uint64_t age_s = (uint64_t)XS_MAX(v->now_s - v->r->clients[i].joined_s, (int64_t)1);

    return (uint32_t)XS_MIN(v->parts[i].service_ns / age_s / (XS_NS_PER_S / WHOLE), (uint64_t)WHOLE);
}

static bool is_active(const struct admission_view *v, size_t i)
{
    return v->parts[i].here && !v->r->clients[i].held && v->parts[i].priority > PRIORITY_NO_EXECUTE &&
           (v->parts[i].ready || had(v, i) >= LITTLE);
}

/* The part that it takes where it may have the whole device. All of it, if it has had work without a
 * pause for as long as the asker would wait. */
static uint32_t takes(const struct admission_view *v, size_t i)
{
    const struct device_part *p = &v->parts[i];
    bool young = v->now_s - v->r->clients[i].joined_s < YOUNG_S;

    uint64_t works_ns = v->now_ns - XS_MIN(p->ready_since_ns, v->now_ns);

    if (p->ready && (young || works_ns >= v->r->params.admission.within_us * XS_NS_PER_US))
        return WHOLE;
    return had(v, i);
}

static uint32_t rest_of(uint64_t taken)
{
    return WHOLE - (uint32_t)XS_MIN(taken, (uint64_t)WHOLE);
}

static void by_priority(const struct admission_view *v, struct xs_admission *ret)
{
    uint64_t more = 0, equal = 0;
    uint32_t urgent = 0, alike = 0, rest;

    for (size_t i = 0; i < v->r->n_clients; i++) {
        if (!is_active(v, i))
            continue;
        if (v->parts[i].priority > v->r->params.admission.priority) {
            more += takes(v, i);
            urgent++;
        } else if (v->parts[i].priority == v->r->params.admission.priority) {
            equal += takes(v, i);
            alike++;
        }
    }
    rest = rest_of(more);
    ret->share_millis = XS_MAX(rest / (alike + 1), rest - (uint32_t)XS_MIN(equal, (uint64_t)rest));
    say(ret, "%" PRIu32 " more important and %" PRIu32 " equally important programs leave %" PRIu32 " percent of the device",
        urgent, alike, percent(ret->share_millis));
}

static void by_turns(const struct admission_view *v, struct xs_admission *ret)
{
    bool of_processes = v->r->state.policy_reads & XS_POLICY_READS_PROCESS_UTILIZATION;
    uint64_t asked = 0;

    for (size_t i = 0; i < v->r->n_clients; i++) {
        int32_t mine = of_processes ? v->r->clients[i].utilization : (int32_t)v->parts[i].utilization;

        if (v->parts[i].here && mine > 0)
            asked += (uint32_t)mine;
    }
    ret->share_millis = rest_of(asked * 10);
    say(ret, "programs here ask for %" PRIu64 " percent of the device", asked);
}

static void by_what_is_unused(const struct admission_view *v, struct xs_admission *ret)
{
    uint64_t taken = 0;

    for (size_t i = 0; i < v->r->n_clients; i++)
        taken += is_active(v, i) ? takes(v, i) : 0;
    ret->share_millis = rest_of(taken);
    say(ret, "the policy %.32s does not go by priority or share: %" PRIu32 " percent of the device are unused",
        v->r->state.policy_name, percent(ret->share_millis));
}

/* 99 of 100 preemptions took no longer. @return UINT64_MAX: longer than the histogram's bounds */
static uint64_t usual_most_us(const struct xs_latency *l)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i + 1 < XS_LATENCY_BUCKETS; i++) {
        seen += l->buckets[i];
        if (seen * 100 >= l->count * 99)
            return XS_MIN(xs_latency_bound_ns(i), l->max_ns) / XS_NS_PER_US;
    }
    return UINT64_MAX;
}

/* The commands on the device must leave it. Under a policy that gives turns, those of the others come
 * first. */
static uint64_t wait_us(const struct admission_view *v, const struct xs_admission *a)
{
    const struct xs_policy_params *params = &v->r->state.params;
    const struct xs_latency *preemption = &v->r->state.preemption;
    uint64_t inflight_us = 0, leave_us, turns_ns, shortest;

    if (!a->active)
        return 0;
    for (size_t i = 0; i < v->r->n_clients; i++)
        if (is_active(v, i))
            inflight_us = XS_MAX(inflight_us, v->parts[i].inflight_us);
    leave_us = preemption->count ? usual_most_us(preemption) : inflight_us;
    if (leave_us == UINT64_MAX || !(v->r->state.policy_flags & XS_POLICY_TURNS))
        return leave_us;
    if (params->timeslice_ns == UINT64_MAX)
        return UINT64_MAX;
    shortest = params->timeslice_ns / WHOLE * v->r->params.admission.share_millis;
    turns_ns = params->timeslice_ns;
    if (shortest && shortest < SWITCH_WORTH * params->switch_ns)
        turns_ns = turns_ns * (SWITCH_WORTH * params->switch_ns) / shortest;
    return leave_us + turns_ns / XS_NS_PER_US;
}

/* Memory belongs to a program and not to a queue: each device of a program counts all of it. */
static void memory(const struct admission_view *v, const struct xs_device_row *row, struct xs_admission *ret)
{
    uint64_t all, taken = 0;

    if (!row || row->state.memory_bytes < 0)
        return;
    all = (uint64_t)row->state.memory_bytes;
    for (size_t i = 0; i < v->r->n_clients; i++) {
        const struct xs_client_record *c = &v->r->clients[i];

        if (v->parts[i].here) /* a program may still take memory up to a limit below the device's */
            taken += XS_MIN(c->memory_limit < all ? XS_MAX(c->memory_limit, c->memory_used) : c->memory_used, all);
    }
    taken = XS_MAX(taken, (uint64_t)XS_MAX(row->state.memory_used_bytes, (int64_t)0));
    ret->memory_known = true;
    ret->memory_left_bytes = all - XS_MIN(taken, all);
}

static void count(const struct admission_view *v, struct xs_admission *ret)
{
    for (size_t i = 0; i < v->r->n_clients; i++) {
        if (!v->parts[i].here)
            continue;
        ret->more += v->parts[i].priority > v->r->params.admission.priority;
        ret->equal += v->parts[i].priority == v->r->params.admission.priority;
        ret->less += v->parts[i].priority < v->r->params.admission.priority;
        ret->active += is_active(v, i);
    }
}

void xs_admission_judge(const struct xs_request *r, XDevice device, const struct xs_device_row *row, uint64_t now_ns,
                        int64_t now_s, struct xs_admission *ret)
{
    struct device_part *parts = parts_of(r, device);
    struct admission_view v = {.r = r, .parts = parts, .now_ns = now_ns, .now_s = now_s};

    *ret = (struct xs_admission){.wait_us = UINT64_MAX};
    if (!parts) {
        say(ret, "the server is out of memory");
        return;
    }
    count(&v, ret);
    if (r->state.policy_flags & XS_POLICY_TURNS)
        by_turns(&v, ret);
    else if ((r->state.policy_flags & XS_POLICY_BY_RANK) && (r->state.policy_reads & XS_POLICY_READS_PRIORITY))
        by_priority(&v, ret);
    else
        by_what_is_unused(&v, ret);
    ret->wait_us = wait_us(&v, ret);
    memory(&v, row, ret);
    ret->admitted = ret->share_millis >= r->params.admission.share_millis;
    if (ret->admitted && ret->wait_us > r->params.admission.within_us) {
        ret->admitted = false;
        if (ret->wait_us == UINT64_MAX)
            say(ret, "nothing bounds how long it would wait for the device");
        else
            say(ret, "it may wait %" PRIu64 " us for the device", ret->wait_us);
    }
    if (ret->admitted && ret->memory_known && ret->memory_left_bytes < r->params.admission.memory_bytes) {
        ret->admitted = false;
        say(ret, "the device has %" PRIu64 " bytes of memory left", ret->memory_left_bytes);
    }
    free(parts);
}

static json_t *of_device(XDevice device, const struct xs_admission *a)
{
    json_t *o = json_pack("{s:I, s:b, s:s, s:f}", "device", (json_int_t)device, "admitted", (int)a->admitted,
                          "reason", a->reason, "share", a->share_millis / (double)WHOLE);

    json_object_set_new(o, "programs", json_pack("{s:i, s:i, s:i, s:i}", "more", (int)a->more, "equal", (int)a->equal,
                                                 "less", (int)a->less, "active", (int)a->active));
    if (a->wait_us != UINT64_MAX)
        json_object_set_new(o, "wait_us", json_integer((json_int_t)a->wait_us));
    if (a->memory_known)
        json_object_set_new(o, "memory_left_bytes", json_integer((json_int_t)a->memory_left_bytes));
    return o;
}

static bool is_better(const struct xs_admission *a, const struct xs_admission *than)
{
    return a->admitted != than->admitted ? a->admitted : a->share_millis > than->share_millis;
}

json_t *xs_admission_json(const struct xs_request *r)
{
    struct xs_devices *d = xs_devices_of(r);
    const char *nobody = r->params.admission.one_device ? "no program uses this device" : "no program uses a device";
    struct xs_admission best = {.admitted = d != NULL}, one;
    uint64_t now_ns = xs_now_ns();
    int64_t now_s = (int64_t)time(NULL);
    json_t *list = json_array(), *o;
    bool any = false;

    for (size_t i = 0; d && i < d->n; i++) {
        if (r->params.admission.one_device && d->rows[i].device != r->params.admission.device)
            continue;
        xs_admission_judge(r, d->rows[i].device, &d->rows[i], now_ns, now_s, &one);
        json_array_append_new(list, of_device(d->rows[i].device, &one));
        if (!any || is_better(&one, &best))
            best = one;
        any = true;
    }
    if (!any) /* xserver knows a device from the programs that use it */
        say(&best, "%s", d ? nobody : "the server is out of memory");
    o = json_pack("{s:b, s:s, s:s}", "admitted", (int)best.admitted, "reason", best.reason, "policy",
                  r->state.policy_name);
    json_object_set_new(o, "priority", json_integer(r->params.admission.priority));
    json_object_set_new(o, "share", json_real(r->params.admission.share_millis / (double)WHOLE));
    json_object_set_new(o, "within_ms", json_integer((json_int_t)(r->params.admission.within_us / 1000)));
    json_object_set_new(o, "devices", list);
    free(d);
    return o;
}
