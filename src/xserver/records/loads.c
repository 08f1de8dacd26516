/* SPDX-License-Identifier: Apache-2.0 */
#include "xserver/records/loads.h"

#include "xserver/server.h"

#include <stdlib.h>
#include <string.h>

/* @param looks  queues at which it may still look */
static bool used(struct xs_server *s, struct xs_client *c, unsigned *looks, uint64_t *ret_ns)
{
    uint64_t now = c->record.service_ns, before = c->load.ns; /* of queues that are gone */
    bool known = c->load.known;

    if (c->record.queues > *looks)
        return false;
    *looks -= c->record.queues;
    XS_LIST_FOR(q, &c->queues, struct xs_server_queue, in_client) {
        struct xs_sched_queue_status st;

        xs_sched_queue_status(q->sched, s->now_ns, &st);
        now += st.service_ns;
    }
    c->load.ns = now;
    c->load.known = true;
    *ret_ns = known && now > before ? now - before : 0;
    return true;
}

/* Programs report more than the time that passed where their threads wait for a CPU. */
static void scale(struct xs_load_point *p, uint64_t most)
{
    uint64_t sum = p->others_millis;

    for (uint32_t i = 0; i < p->n; i++)
        sum += p->programs[i].millis;
    if (sum <= most)
        return;
    for (uint32_t i = 0; i < p->n; i++)
        p->programs[i].millis = (uint32_t)(p->programs[i].millis * most / sum);
    p->others_millis = (uint32_t)(p->others_millis * most / sum);
}

static void add(struct xs_load_point *p, const struct xs_client *c, uint64_t millis)
{
    uint32_t least = 0;

    if (millis == 0)
        return;
    if (p->n < XS_LOADS_PROGRAMS) {
        least = p->n++;
    } else { /* in the place of the smallest one */
        for (uint32_t i = 1; i < p->n; i++)
            if (p->programs[i].millis < p->programs[least].millis)
                least = i;
        if (p->programs[least].millis >= millis) {
            p->others_millis += (uint32_t)millis;
            return;
        }
        p->others_millis += p->programs[least].millis;
    }
    p->programs[least] = (struct xs_load){.session = c->session, .uid = c->peer.uid, .millis = (uint32_t)millis};
}

static void decisions(struct xs_server *s, struct xs_load_point *p)
{
    const struct xs_latency *now = &s->counts.decision;
    struct xs_latency *before = &s->loads.decision;
    uint64_t count = now->count - before->count, seen = 0;
    unsigned i = 0;

    if (count) {
        for (; i < XS_LATENCY_BUCKETS - 1; i++) {
            seen += now->buckets[i] - before->buckets[i];
            if (seen * 100 >= count * 99)
                break;
        }
        p->mean_ns = (now->sum_ns - before->sum_ns) / count;
        p->p99_ns = i < XS_LATENCY_BUCKETS - 1 ? xs_latency_bound_ns(i) : now->max_ns;
    }
    *before = *now;
}

void xs_loads_look(struct xs_server *s)
{
    struct xs_loads *l = &s->loads;
    struct xs_sched_counters counters;
    struct xs_load_point *p, *last;
    unsigned looks = XS_LOADS_QUEUES;
    uint64_t passed_ns, ns;

    if (XS_LIKELY(s->now_ns < l->next_ns) || (!l->ring && xs_list_empty(&s->clients)))
        return;
    l->next_ns = s->now_ns + XS_NS_PER_S;
    if (!l->ring)
        l->ring = calloc(XS_LOADS_LENGTH, sizeof(*l->ring));
    if (!l->ring)
        return;
    last = l->count ? &l->ring[(l->count - 1) % XS_LOADS_LENGTH] : NULL;
    passed_ns = XS_MAX(last ? s->now_ns - last->time_ns : 0, 1ull);
    p = &l->ring[l->count++ % XS_LOADS_LENGTH];
    memset(p, 0, sizeof(*p));
    p->time_ns = s->now_ns;
    XS_LIST_FOR(c, &s->clients, struct xs_client, link)
        if (!used(s, c, &looks, &ns))
            break;
        else if (last)
            add(p, c, XS_MIN(ns * 1000 / passed_ns, (uint64_t)c->n_devices * 1000));
    xs_sched_counters(s->sched, &counters);
    scale(p, counters.devices * 1000);
    decisions(s, p);
}

size_t xs_loads_copy(const struct xs_loads *l, struct xs_load_point *ret)
{
    size_t n = l->ring ? (size_t)XS_MIN(l->count, (uint64_t)XS_LOADS_LENGTH) : 0;

    for (size_t i = 0; i < n; i++)
        ret[i] = l->ring[(l->count - n + i) % XS_LOADS_LENGTH];
    return n;
}
