/* SPDX-License-Identifier: Apache-2.0 */
/* Life, settings and status of the decision driver. */
#include "sched/sched.h"

#include "base/futex.h"
#include "sched/internal.h"

#include <string.h>

void xs_sched_config_defaults(struct xs_sched_config *c)
{
    memset(c, 0, sizeof(*c));
    c->linger_ns = 100 * XS_NS_PER_US;
    c->gather = XS_SCHED_GATHER_LEARNT;
    c->stall_ns = 1 * XS_NS_PER_S;
    c->inflight_alone_us = 2000;
    c->inflight_shared_us = XS_INFLIGHT_SHARED_US;
    c->inflight_top_us = 8000;
    c->user_share = 50;
    c->params.timeslice_ns = TIMESLICE_DEFAULT * XS_NS_PER_US;
    c->params.k = 1;
}

struct xs_sched *xs_sched_new(const struct xs_policy_ops *policy, const struct xs_sched_config *config,
                              const struct xs_sched_ops *ops, void *ctx)
{
    struct xs_pages *pages = config ? config->pages : NULL;
    struct xs_sched *s = policy ? xs_pages_alloc(pages, sizeof(*s)) : NULL;

    if (!s)
        return NULL;
    s->policy = policy;
    s->pages = pages;
    if (config)
        s->config = *config;
    else
        xs_sched_config_defaults(&s->config);
    if (ops)
        s->ops = *ops;
    s->ctx = ctx;
    xs_list_init(&s->processes);
    xs_list_init(&s->groups);
    xs_list_init(&s->closed);
    xs_list_init(&s->rescans);
    xs_list_init(&s->collective_groups);
    xs_list_init(&s->host.pending);
    xs_list_init(&s->host.stakes);
    xs_view_stop_timers(&s->host);
    return s;
}

void xs_sched_free(struct xs_sched *s)
{
    if (!s)
        return;
    memset(&s->ops, 0, sizeof(s->ops)); /* the owner is going */
    while (!xs_list_empty(&s->processes))
        xs_sched_process_remove(s, XS_CONTAINER_OF(s->processes.next, struct xs_sched_process, link),
                                s->now_ns);
    xs_map_fini(&s->devices_by_id);
    xs_pages_free(s->pages, s->devices);
    xs_pages_free(s->pages, s->host.entities);
    xs_pages_free(s->pages, s);
}

/* ---- policy ---- */

static void view_reset(struct xs_view *v)
{
    memset(v->memo, 0, sizeof(v->memo));
    xs_view_stop_timers(v);
    v->look_step_ns = 0;
    v->stands_since_ns = v->stood_ns = 0;
    v->contended = v->stalled = false;
    v->dirty = v->resettle = true;
    v->some_gather = true;                         /* of entities that come from another view, too */
    xs_view_reset_stakes(v);
    while (!xs_list_empty(&v->pending))
        xs_list_remove(v->pending.next);
}

void xs_sched_set_policy(struct xs_sched *s, const struct xs_policy_ops *policy)
{
    if (!policy)
        return;
    s->policy = policy;
    view_reset(&s->host);
    s->contended_views = 0;
    for (size_t i = 0; i < s->devices_n; i++) {
        if (s->devices[i])
            view_reset(&s->devices[i]->view);
    }
    for (size_t i = 0; i < s->host.n; i++) {
        struct xs_entity *e = xs_entity_of(s->host.entities[i]);

        memset(e->pe.memo, 0, sizeof(e->pe.memo));
        memset(e->pe.process->memo, 0, sizeof(e->pe.process->memo));
        e->view = xs_sched_is_host(s) ? &s->host : &e->presence->device->view;
        e->linger.until_ns = 0;
        e->gang.loses = false;
        e->hints_stale = true;
        xs_entity_unwatch(e);
        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
            if (q->permitted != e->before.run)
                xs_list_add(&e->view->pending, &q->pending_link);
        }
    }
}

const struct xs_policy_ops *xs_sched_policy(const struct xs_sched *s)
{
    return s->policy;
}

static void all_dirty(struct xs_sched *s)
{
    s->host.dirty = true;
    for (size_t i = 0; i < s->devices_n; i++) {
        if (s->devices[i])
            s->devices[i]->view.dirty = true;
    }
}

void xs_sched_set_params(struct xs_sched *s, const struct xs_policy_params *params)
{
    s->config.params = *params;
    all_dirty(s);
}

void xs_sched_set_user_share(struct xs_sched *s, uint64_t percent)
{
    if (s->config.user_share == percent)
        return;
    s->config.user_share = percent;
    all_dirty(s);
}

bool xs_sched_gives_turns(const struct xs_sched *s)
{
    return xs_sched_turns(s);
}

const struct xs_policy_params *xs_sched_params(const struct xs_sched *s)
{
    return &s->config.params;
}

/* ---- processes ---- */

struct xs_sched_process *xs_sched_process_add(struct xs_sched *s, const struct xs_sched_process_info *info,
                                              void *user)
{
    struct xs_sched_process *p = xs_pages_alloc(s->pages, sizeof(*p));

    if (!p)
        return NULL;
    xs_list_init(&p->link);
    xs_list_init(&p->group_link);
    xs_list_init(&p->closed_link);
    xs_list_init(&p->rescan_link);
    xs_list_init(&p->rank_link);
    xs_list_init(&p->queues);
    xs_list_init(&p->busy);
    p->sched = s;
    p->id = info->id;
    p->intra = info->intra;
    p->space = info->space;
    p->exempt = info->exempt;
    p->priority_most = PRIORITY_MAX;
    p->drain = info->drain;
    p->clock_ahead_ns = info->clock_ahead_ns;
    if (info->client && info->server) {
        p->client = info->client;
        p->server = info->server;
        p->bell_seen = atomic_load(&p->client->h.bell_count);
    }
    p->user = user;
    p->utilization = -1;
    if (!xs_group_join(s, p, info)) {
        xs_pages_free(s->pages, p);
        return NULL;
    }
    xs_list_add(&s->processes, &p->link);
    s->c.processes++;
    return p;
}

void xs_sched_process_end(struct xs_sched *s, struct xs_sched_process *p)
{
    (void)s;
    p->ended = true;
    p->rescan_left = 0;
    xs_list_remove(&p->rescan_link);
    xs_collective_gone(p);
    p->collective = NULL;
    xs_group_update(p->group);
}

void xs_sched_process_remove(struct xs_sched *s, struct xs_sched_process *p, uint64_t now_ns)
{
    while (!xs_list_empty(&p->queues)) {
        struct xs_sched_queue *q = XS_CONTAINER_OF(p->queues.next, struct xs_sched_queue, process_link);

        xs_sched_queue_remove(s, q, now_ns);
    }
    xs_list_remove(&p->link);
    xs_list_remove(&p->closed_link);
    xs_list_remove(&p->rescan_link);
    xs_collective_gone(p);
    xs_group_leave(s, p);
    s->c.processes--;
    xs_pages_free(s->pages, p->cells);
    xs_pages_free(s->pages, p);
}

void *xs_sched_process_user(const struct xs_sched_process *p)
{
    return p->user;
}

void xs_sched_process_set_utilization(struct xs_sched *s, struct xs_sched_process *p, int32_t percent)
{
    (void)s;
    p->utilization = percent < 0 ? -1 : XS_MIN(percent, 100);
    xs_group_update(p->group);
}

void xs_sched_process_set_cpu_class(struct xs_sched *s, struct xs_sched_process *p, int32_t class_priority)
{
    (void)s;
    if (p->cpu_class == class_priority)
        return;
    p->cpu_class = class_priority;
    xs_group_update(p->group);
}

void xs_sched_process_set_exempt(struct xs_sched *s, struct xs_sched_process *p, bool exempt)
{
    (void)s;
    if (p->exempt == exempt)
        return;
    p->exempt = exempt;
    xs_group_update(p->group);
}

void xs_sched_process_set_weight(struct xs_sched *s, struct xs_sched_process *p, uint32_t weight)
{
    (void)s;
    weight = XS_MAX(weight, 1u);
    if (p->group->weight == weight)
        return;
    p->group->weight = weight;
    xs_group_update(p->group);
}

void xs_sched_process_set_priority_most(struct xs_sched_process *p, int32_t priority)
{
    p->priority_most = XS_MIN(priority, PRIORITY_MAX);
}

void xs_sched_process_set_window(struct xs_sched *s, struct xs_sched_process *p, bool active)
{
    (void)s;
    if (p->window == active)
        return;
    p->window = active;
    xs_group_update(p->group);
}

void xs_sched_process_say_held(struct xs_sched_process *p, bool held)
{
    p->held = held;
}

void xs_sched_process_say_absent(struct xs_sched_process *p, bool absent)
{
    p->absent = absent;
}

void xs_sched_queue_follow_held(struct xs_sched *s, struct xs_sched_queue *q)
{
    xs_queue_update_barred(q, s->now_ns);
    xs_queue_settle(q, s->now_ns); /* a queue whose memory goes out is idle, until it rings */
}

void xs_sched_process_set_held(struct xs_sched *s, struct xs_sched_process *p, bool held)
{
    xs_sched_process_say_held(p, held);
    XS_LIST_FOR(q, &p->queues, struct xs_sched_queue, process_link)
        xs_queue_update_barred(q, s->now_ns);
}

void xs_sched_process_set_inflight(struct xs_sched *s, struct xs_sched_process *p, uint64_t us)
{
    if (p->inflight_us == us)
        return;
    p->inflight_us = us;
    XS_LIST_FOR(q, &p->queues, struct xs_sched_queue, process_link)
        xs_queue_tell_inflight(s, q);
}

/* ---- queues ---- */

static int cells_reserve(struct xs_sched_process *p, uint32_t cell)
{
    struct xs_sched_queue **a;
    size_t n = p->ncells ? p->ncells : 8;

    if (cell < p->ncells)
        return 0;
    while (n <= cell)
        n *= 2;
    a = xs_pages_grow(p->sched->pages, p->cells, p->ncells * sizeof(*a), n * sizeof(*a));
    if (!a)
        return -1;
    p->cells = a;
    p->ncells = n;
    return 0;
}

struct xs_sched_queue *xs_sched_queue_add(struct xs_sched *s, struct xs_sched_process *p, uint64_t handle,
                                          XDevice device, uint32_t cell, const struct xs_hints *hints,
                                          uint64_t now_ns, void *user)
{
    struct xs_sched_queue *q;

    now_ns = xs_sched_clock(s, now_ns);
    if (cell >= XS_PAGE_QUEUES || device == UINT64_MAX || cells_reserve(p, cell) < 0 || p->cells[cell])
        return NULL;
    q = xs_pages_alloc(s->pages, sizeof(*q));
    if (!q)
        return NULL;
    xs_list_init(&q->link);
    xs_list_init(&q->process_link);
    xs_list_init(&q->pending_link);
    xs_list_init(&q->busy_link);
    q->process = p;
    q->handle = handle;
    q->cell = cell;
    q->hints = *hints;
    q->later = xs_hints_later_none;
    q->inherit_priority = PRIORITY_NO_EXECUTE;
    q->limit = XS_PERMIT_OPEN;
    q->user = user;
    q->added_ns = q->since_ns = q->charged_ns = q->changed_ns = now_ns;
    if (xs_queue_attach(s, q, device) < 0) {
        xs_pages_free(s->pages, q);
        return NULL;
    }
    p->cells[cell] = q;
    xs_list_add(&p->queues, &q->process_link);
    p->nqueues++;
    s->c.queues++;
    if (p->client) {
        q->client = &p->client->cells[cell];
        q->server = &p->server->cells[cell];
        q->service_base_ns = atomic_load_explicit(&q->client->est_completed_ns, memory_order_relaxed);
        atomic_store(&q->server->armed, 0);
        atomic_store(&q->server->permitted, XS_PERMIT_OPEN);
        xs_queue_tell_inflight(s, q);
    }
    if (XS_UNLIKELY(p->collective))
        xs_collective_update_busy(q); /* until the scheduler arms it to ring */
    xs_queue_update_barred(q, now_ns);
    if (!q->entity->before.run)
        xs_queue_permit(q, false, now_ns);
    xs_queue_settle(q, now_ns);
    /* it may have had collectives before it joined */
    if (p->client && XS_UNLIKELY(xs_process_takes_part(p)))
        xs_collective_met(p);
    return q;
}

void xs_sched_queue_remove(struct xs_sched *s, struct xs_sched_queue *q, uint64_t now_ns)
{
    now_ns = xs_sched_clock(s, now_ns);
    xs_queue_permit(q, true, now_ns); /* frees the threads that wait there */
    xs_queue_limit(q, XS_PERMIT_OPEN, now_ns);
    xs_queue_tell_lane(q, XS_LANE_OFF);
    xs_queue_arm(q, 0);
    xs_queue_detach(s, q);
    q->process->cells[q->cell] = NULL;
    q->process->nqueues--;
    xs_list_remove(&q->process_link);
    xs_list_remove(&q->busy_link);
    s->c.queues--;
    xs_pages_free(s->pages, q);
}

void xs_sched_queue_set_hints(struct xs_sched *s, struct xs_sched_queue *q, const struct xs_hints *hints)
{
    struct xs_entity *e = q->entity;
    bool linked = q->ready && !q->barred;

    if (linked) /* its place in the list and the counts follow from the hints */
        xs_entity_unlink_ready(e, q);
    xs_idle_hints_remove(e, q);
    q->hints = *hints;
    xs_idle_hints_add(e, q);
    if (linked)
        xs_entity_link_ready(e, q);
    if (e->nready == 0) /* else the ready queues count, and linking updated them */
        e->hints_stale = true;
    e->view->dirty = true;
    xs_queue_update_barred(q, s->now_ns);
}

void xs_sched_queue_set_later(struct xs_sched_queue *q, const struct xs_hints_later *later)
{
    if (memcmp(&q->later, later, sizeof(*later)) == 0) /* always, where there are none */
        return;
    xs_idle_hints_remove(q->entity, q);
    q->later = *later;
    xs_idle_hints_add(q->entity, q);
    q->entity->view->dirty = true;
}

const struct xs_hints_later *xs_sched_queue_later(const struct xs_sched_queue *q)
{
    return &q->later;
}

void xs_sched_queue_set_gated(struct xs_sched_queue *q, bool gated)
{
    q->gated = gated;
}

bool xs_sched_queue_granted(const struct xs_sched_queue *q)
{
    return q->entity->now.why == XS_WHY_GRANT && q->entity->before.run;
}

const struct xs_hints *xs_sched_queue_hints(const struct xs_sched_queue *q)
{
    return &q->hints;
}

void *xs_sched_queue_user(const struct xs_sched_queue *q)
{
    return q->user;
}

/* ---- facts from outside ---- */

void xs_sched_queue_set_ready(struct xs_sched *s, struct xs_sched_queue *q, bool ready, uint64_t now_ns)
{
    if (!q->client)
        xs_queue_set_state(q, ready, xs_sched_clock(s, now_ns));
}

void xs_sched_queue_set_service(struct xs_sched *s, struct xs_sched_queue *q, uint64_t service_ns)
{
    (void)s;
    if (q->client || service_ns <= q->service_ns)
        return;
    q->entity->pe.service_ns += service_ns - q->service_ns;
    q->service_ns = service_ns;
    if (q->entity->now.chosen)
        q->entity->view->progressed = true;
}

uint64_t xs_sched_work(const struct xs_sched *s)
{
    return s->c.work;
}

void xs_sched_counters(const struct xs_sched *s, struct xs_sched_counters *ret)
{
    *ret = s->c;
}
