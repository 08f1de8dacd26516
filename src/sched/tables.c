/* SPDX-License-Identifier: Apache-2.0 */
/* The tables: groups, devices, entities and the views upon which policies decide. */
#include "sched/internal.h"

#include <errno.h>
#include <string.h>

/* ---- views ---- */

static int view_reserve(struct xs_pages *pages, struct xs_view *v)
{
    struct xs_policy_entity **a;
    size_t cap;

    if (v->n < v->cap)
        return 0;
    cap = v->cap ? v->cap * 2 : 8;
    a = xs_pages_grow(pages, v->entities, v->n * sizeof(*a), cap * sizeof(*a));
    if (!a)
        return -ENOMEM;
    v->entities = a;
    v->cap = cap;
    return 0;
}

int xs_view_insert(struct xs_view *v, struct xs_entity *e)
{
    int r = view_reserve(e->sched->pages, v);

    if (r < 0)
        return r;
    v->entities[v->n++] = &e->pe; /* ids grow, so the end is its place */
    v->dirty = true;
    if (v->n == 2)
        v->resettle = true; /* until now no queue had to ring */
    return 0;
}

void xs_view_remove(struct xs_view *v, struct xs_entity *e)
{
    size_t lo = 0, hi = v->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (v->entities[mid]->id < e->pe.id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo >= v->n || v->entities[lo] != &e->pe)
        return;
    v->n--;
    memmove(v->entities + lo, v->entities + lo + 1, (v->n - lo) * sizeof(*v->entities));
    v->dirty = true;
    if (v->n == 1)
        v->resettle = true;
}

static void view_init(struct xs_view *v)
{
    xs_list_init(&v->pending);
    xs_list_init(&v->stakes);
    xs_view_stop_timers(v);
}

/* ---- devices ---- */

/* A process has few devices, and the map allocates from the C library's heap. */
static struct xs_device *device_find(struct xs_sched *s, XDevice device)
{
    if (!s->pages)
        return xs_map_get(&s->devices_by_id, device + 1);
    for (size_t i = 0; i < s->devices_n; i++)
        if (s->devices[i] && s->devices[i]->device == device)
            return s->devices[i];
    return NULL;
}

static struct xs_device *device_get(struct xs_sched *s, XDevice device)
{
    struct xs_device *d = device_find(s, device);
    size_t i = s->devices_n;

    if (d)
        return d;
    d = xs_pages_alloc(s->pages, sizeof(*d));
    if (!d)
        return NULL;
    if (s->devices_free > 0) {
        for (i = 0; s->devices[i]; i++)
            ;
    } else if (s->devices_n == s->devices_cap) {
        size_t cap = s->devices_cap ? s->devices_cap * 2 : 8;
        struct xs_device **a = xs_pages_grow(s->pages, s->devices, s->devices_n * sizeof(*a), cap * sizeof(*a));

        if (!a) {
            xs_pages_free(s->pages, d);
            return NULL;
        }
        s->devices = a;
        s->devices_cap = cap;
    }
    if (!s->pages && xs_map_put(&s->devices_by_id, device + 1, d) < 0) {
        xs_pages_free(s->pages, d);
        return NULL;
    }
    if (i == s->devices_n)
        s->devices_n++;
    else
        s->devices_free--;
    s->devices[i] = d;
    d->device = device;
    d->index = (uint32_t)i;
    view_init(&d->view);
    s->c.devices++;
    return d;
}

static void device_put(struct xs_sched *s, struct xs_device *d)
{
    if (d->queues > 0 || d->view.n > 0)
        return;
    if (d->view.contended)
        s->contended_views--;
    if (!s->pages)
        xs_map_remove(&s->devices_by_id, d->device + 1);
    s->devices[d->index] = NULL;
    if (d->index == s->devices_n - 1)
        s->devices_n--;
    else
        s->devices_free++;
    while (s->devices_n > 0 && !s->devices[s->devices_n - 1]) {
        s->devices_n--;
        s->devices_free--;
    }
    s->c.devices--;
    xs_pages_free(s->pages, d->view.entities);
    xs_pages_free(s->pages, d);
}

/* ---- groups ---- */

void xs_group_update(struct xs_group *g)
{
    int32_t utilization = -1, cpu_class = INT32_MIN;
    bool window = false, exempt = true, any = false;
    enum xs_drain drain = XS_DRAIN_BY_POLICY;
    uint64_t space = UINT64_MAX;

    XS_LIST_FOR(p, &g->processes, struct xs_sched_process, group_link) {
        p->sched->host.dirty = true;
        if (p->ended)
            continue;
        any = true;
        utilization = XS_MAX(utilization, p->utilization);
        cpu_class = XS_MAX(cpu_class, p->cpu_class);
        window = window || p->window;
        exempt = exempt && p->exempt;
        space = space == UINT64_MAX || space == p->space ? p->space : 0;
        drain = XS_MAX(drain, p->drain);
    }
    XS_LIST_FOR(pr, &g->presences, struct xs_presence, link)
        pr->device->view.dirty = true;
    g->ended = !any;
    if (!any) { /* what they were stays, without a window */
        g->pp.window_active = false;
        return;
    }
    g->pp.utilization = utilization < 0 ? 100 : XS_MIN(utilization, 100);
    g->pp.sched_class_priority = cpu_class == INT32_MIN ? 0 : cpu_class;
    g->pp.window_active = window;
    g->drain = drain;
    g->exempt = exempt;
    g->space = space == UINT64_MAX ? 0 : space;
}

static struct xs_group *group_new(struct xs_sched *s, const char *name, const struct xs_sched_process_info *info)
{
    struct xs_group *g = xs_pages_alloc(s->pages, sizeof(*g));
    size_t n = name ? strlen(name) + 1 : 0;

    if (!g)
        return NULL;
    xs_list_init(&g->link);
    xs_list_init(&g->processes);
    xs_list_init(&g->presences);
    g->name = name ? xs_pages_alloc(s->pages, n) : NULL;
    if ((name && !g->name) || xs_collective_join(s, g, name ? name : info->job ? info->job : "") < 0) {
        xs_pages_free(s->pages, g->name);
        xs_pages_free(s->pages, g);
        return NULL;
    }
    g->pp.id = ++s->next_id;
    g->pp.uid = info->uid;
    g->user = info->user;
    g->weight = XS_MAX(info->weight, 1u);
    if (name) {
        memcpy(g->name, name, n);
        xs_list_add(&s->groups, &g->link);
    }
    return g;
}

struct xs_group *xs_group_join(struct xs_sched *s, struct xs_sched_process *p,
                               const struct xs_sched_process_info *info)
{
    const char *name = info->group;
    struct xs_group *g = NULL;

    if (name && *name) {
        XS_LIST_FOR(it, &s->groups, struct xs_group, link) {
            if (strcmp(it->name, name) == 0) {
                g = it;
                break;
            }
        }
    }
    if (!g)
        g = group_new(s, name && *name ? name : NULL, info);
    if (!g)
        return NULL;
    p->group = g;
    xs_list_add(&g->processes, &p->group_link);
    xs_group_update(g);
    return g;
}

void xs_group_leave(struct xs_sched *s, struct xs_sched_process *p)
{
    struct xs_group *g = p->group;

    xs_list_remove(&p->group_link);
    if (!xs_list_empty(&g->processes)) {
        xs_group_update(g);
        return;
    }
    xs_list_remove(&g->link);
    xs_collective_leave(s, g);
    xs_pages_free(s->pages, g->name);
    xs_pages_free(s->pages, g);
}

/* ---- entities ---- */

static struct xs_presence *presence_get(struct xs_sched *s, struct xs_group *g, struct xs_device *d)
{
    struct xs_presence *pr;

    XS_LIST_FOR(it, &g->presences, struct xs_presence, link) {
        if (it->device == d)
            return it;
    }
    pr = xs_pages_alloc(s->pages, sizeof(*pr));
    if (!pr)
        return NULL;
    pr->group = g;
    pr->device = d;
    xs_list_add(&g->presences, &pr->link);
    if (++d->groups == 2)
        xs_device_tell_inflight(s, d);
    return pr;
}

static void presence_put(struct xs_sched *s, struct xs_presence *pr)
{
    struct xs_device *d = pr->device;

    if (pr->queues > 0)
        return;
    xs_list_remove(&pr->link);
    if (--d->groups == 1)
        xs_device_tell_inflight(s, d);
    xs_pages_free(s->pages, pr);
}

static struct xs_entity *entity_new(struct xs_sched *s, struct xs_presence *pr, bool intra)
{
    struct xs_entity *e = xs_pages_alloc(s->pages, sizeof(*e));

    if (!e)
        return NULL;
    e->sched = s;
    e->presence = pr;
    e->intra = intra;
    e->now.run = e->now.chosen = e->pe.run = true; /* it was free until now */
    e->before = e->now;
    e->hints_stale = e->rest_stale = true;
    e->stale_at_ns = UINT64_MAX;
    xs_list_init(&e->ready);
    xs_list_init(&e->idle);
    e->pe.id = ++s->next_id;
    e->pe.device = pr->device->index;
    e->pe.process = &pr->group->pp;
    e->view = xs_sched_is_host(s) ? &s->host : &pr->device->view;
    if (xs_view_insert(&pr->device->view, e) < 0) {
        xs_pages_free(s->pages, e);
        return NULL;
    }
    if (xs_view_insert(&s->host, e) < 0) {
        xs_view_remove(&pr->device->view, e);
        xs_pages_free(s->pages, e);
        return NULL;
    }
    if (xs_stakes_join(s, e) < 0) {
        xs_view_remove(&pr->device->view, e);
        xs_view_remove(&s->host, e);
        xs_pages_free(s->pages, e);
        return NULL;
    }
    if (!intra)
        pr->gang = e;
    s->c.entities++;
    return e;
}

static void entity_put(struct xs_sched *s, struct xs_entity *e)
{
    if (e->queues > 0)
        return;
    xs_view_remove(&e->presence->device->view, e);
    xs_view_remove(&s->host, e);
    xs_stakes_leave(s, e);
    if (e->presence->gang == e)
        e->presence->gang = NULL;
    s->c.entities--;
    xs_pages_free(s->pages, e->rest_counts);
    xs_pages_free(s->pages, e->gather.steps);
    xs_pages_free(s->pages, e);
}

int xs_queue_attach(struct xs_sched *s, struct xs_sched_queue *q, XDevice device)
{
    struct xs_sched_process *p = q->process;
    struct xs_device *d = device_get(s, device);
    struct xs_presence *pr;
    struct xs_entity *e;

    if (!d)
        return -ENOMEM;
    pr = presence_get(s, p->group, d);
    if (!pr) {
        device_put(s, d);
        return -ENOMEM;
    }
    e = !p->intra && pr->gang ? pr->gang : entity_new(s, pr, p->intra);
    if (!e) {
        presence_put(s, pr);
        device_put(s, d);
        return -ENOMEM;
    }
    q->entity = e;
    q->permitted = true;
    xs_list_add(e->idle.next, &q->link);
    e->queues++;
    xs_idle_hints_join(e, q);
    e->hints_stale = e->hints_stale || e->nready == 0;
    e->view->dirty = true;
    pr->queues++;
    d->queues++;
    return 0;
}

void xs_queue_detach(struct xs_sched *s, struct xs_sched_queue *q)
{
    struct xs_entity *e = q->entity;
    struct xs_presence *pr = e->presence;
    struct xs_device *d = pr->device;

    if (q->ready && !q->barred)
        xs_entity_unlink_ready(e, q);
    else
        xs_list_remove(&q->link);
    xs_list_remove(&q->pending_link);
    e->queues--;
    xs_idle_hints_remove(e, q);
    e->hints_stale = e->hints_stale || e->nready == 0;
    e->view->dirty = true;
    pr->queues--;
    d->queues--;
    xs_group_recheck(pr->group, NULL);
    entity_put(s, e);
    presence_put(s, pr);
    device_put(s, d);
}
