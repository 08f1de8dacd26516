/* SPDX-License-Identifier: Apache-2.0 */
/* The event for the status page, each second. Its size has a bound for any number of programs. */
#include "http/http_json.h"

#include "answers/answer_json.h"
#include "host/user_names.h"
#include "xsched/types.h"

#include <stdlib.h>

#define PROGRAMS 256u /* the most that a page shows */
#define QUEUES   8u   /* ... of one program */

/* The part of a program's queues that the status page shows. */
struct shown {
    int32_t priority, level; /* the highest ones */
    bool has[XS_SCHED_STATES];
    unsigned n;
    const struct xs_queue_record *queues[QUEUES];
};

static const char *const k_states[XS_SCHED_STATES] = {
    [XS_SCHED_IDLE] = "idle", [XS_SCHED_RUNNING] = "run", [XS_SCHED_BESIDE] = "beside", [XS_SCHED_WAITING] = "wait",
};

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)XS_MIN(value, (uint64_t)INT64_MAX));
}

static json_t *queue_of(const struct xs_queue_record *q)
{
    const struct xs_sched_queue_status *st = &q->status;

    return json_pack("{s:o, s:o, s:i, s:i, s:s, s:o, s:o, s:o}", "handle", number(st->handle), "device", number(st->device),
                     "priority", (int)q->hints.priority, "level", (int)q->level, "state", k_states[xs_sched_state_of(st)],
                     "service_us", number(st->service_ns / XS_NS_PER_US), "lane", number(st->lane), "reserve",
                     number(st->reserve));
}

/* That of the queue that has most of the device. */
static enum xs_sched_state state_of(const struct shown *its)
{
    static const enum xs_sched_state k_order[] = {XS_SCHED_RUNNING, XS_SCHED_BESIDE, XS_SCHED_WAITING};

    for (unsigned i = 0; i < XS_ARRAY_LEN(k_order); i++)
        if (its->has[k_order[i]])
            return k_order[i];
    return XS_SCHED_IDLE;
}

static json_t *program(const struct xs_client_record *c, const struct shown *shown)
{
    json_t *o = xs_json_client(c), *queues = json_array();
    char name[XS_USER_NAME_BYTES];

    for (unsigned i = 0; i < XS_MIN(shown->n, QUEUES); i++)
        json_array_append_new(queues, queue_of(shown->queues[i]));
    json_object_set_new(o, "shown_queues", queues);
    json_object_set_new(o, "priority", json_integer(shown->priority));
    json_object_set_new(o, "level", json_integer(shown->level));
    xs_user_name(c->uid, name);
    json_object_set_new(o, "user", json_string(name));
    json_object_set_new(o, "state",
                        json_string(c->held ? "held" : k_states[state_of(shown)]));
    return o;
}

static void look_at(struct shown *its, const struct xs_queue_record *q)
{
    its->priority = XS_MAX(its->priority, q->hints.priority);
    its->level = XS_MAX(its->level, q->level);
    its->has[xs_sched_state_of(&q->status)] = true;
    if (its->n < QUEUES)
        its->queues[its->n] = q;
    its->n++;
}

/* What the asker may see of the points until now. */
static json_t *history(const struct xs_request *r)
{
    json_t *points = json_array();

    for (size_t i = 0; i < r->n_loads; i++) {
        const struct xs_load_point *p = &r->loads[i];
        json_t *programs = json_array(), *o;

        for (uint32_t k = 0; k < p->n; k++)
            if (r->asker.all || (r->asker.known && p->programs[k].uid == r->asker.uid))
                json_array_append_new(programs, json_pack("[o, i]", number(p->programs[k].session), (int)p->programs[k].millis));
        o = json_pack("{s:o, s:o}", "ago_us", number((r->now_ns - p->time_ns) / XS_NS_PER_US), "programs", programs);
        if (r->asker.all) {
            json_object_set_new(o, "others", json_integer(p->others_millis));
            json_object_set_new(o, "mean_ns", number(p->mean_ns));
            json_object_set_new(o, "p99_ns", number(p->p99_ns));
        }
        json_array_append_new(points, o);
    }
    return points;
}

json_t *xs_json_event(const struct xs_request *r)
{
    json_t *programs = json_array(), *devices = xs_json_devices(r), *o;
    struct shown *shown = calloc(PROGRAMS, sizeof(*shown));
    uint64_t count[XS_SCHED_STATES] = {0};

    for (size_t i = 0; shown && i < PROGRAMS; i++)
        shown[i].priority = PRIORITY_NO_EXECUTE;
    for (size_t i = 0; i < r->n_queues; i++) {
        const struct xs_queue_record *q = &r->queues[i];
        const struct xs_client_record *c = xs_request_client(r, q->session);

        if (shown && c && c - r->clients < (ptrdiff_t)PROGRAMS)
            look_at(&shown[c - r->clients], q);
        count[xs_sched_state_of(&q->status)]++;
    }
    for (size_t i = 0; shown && i < r->n_clients && i < PROGRAMS; i++)
        json_array_append_new(programs, program(&r->clients[i], &shown[i]));
    free(shown);
    o = json_pack("{s:o, s:{s:o, s:o, s:o, s:o}, s:O, s:o, s:b}", "status", xs_json_status(r), "queues",
                  "idle", number(count[XS_SCHED_IDLE]), "running", number(count[XS_SCHED_RUNNING]), "beside",
                  number(count[XS_SCHED_BESIDE]), "waiting", number(count[XS_SCHED_WAITING]),
                  "devices", json_object_get(devices, "devices"), "programs", programs,
                  "more", r->n_clients > PROGRAMS);
    if (r->loads)
        json_object_set_new(o, "history", history(r));
    json_decref(devices);
    return o;
}
