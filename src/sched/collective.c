/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: kernels that run until others like them run, on other devices, in other queues and processes. Were
 * one of them held while another has begun, that one would occupy its device for as long. Who takes part in which is
 * not known here, so one that is under way anywhere keeps all running that ever took part. */
#include "sched/internal.h"

static bool rank(const struct xs_sched_process *p)
{
    return !xs_list_empty(&p->rank_link);
}

bool xs_collective_rank(const struct xs_entity *e)
{
    XS_LIST_FOR(p, &e->presence->group->processes, struct xs_sched_process, group_link) {
        if (rank(p))
            return true;
    }
    return false;
}

static bool under_way(const struct xs_sched_queue *q)
{
    const struct xs_client_cell *c = q->client;
    uint64_t number = c ? atomic_load(&c->collective) : 0;

    /* what cannot be yet is no reason: numbers are the process's own */
    return number && number <= atomic_load(&c->entered) &&
           number > XS_MAX(atomic_load(&c->completed), atomic_load(&c->marked));
}

static bool any_under_way(struct xs_sched *s)
{
    XS_LIST_FOR(p, &s->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->queues, struct xs_sched_queue, process_link) {
            s->c.work++;
            if (under_way(q))
                return true;
        }
    }
    return false;
}

static void recheck(struct xs_sched *s)
{
    XS_LIST_FOR(p, &s->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->queues, struct xs_sched_queue, process_link)
            q->entity->view->recheck = true;
    }
}

static void tell(struct xs_sched *s, struct xs_sched_process *p)
{
    if (p->server)
        atomic_store(&p->server->h.collectives, XS_COLLECTIVES_KNOWN | (s->ranks_told ? XS_COLLECTIVES_AWAITED : 0));
}

void xs_collective_met(struct xs_sched_process *p)
{
    struct xs_sched *s = p->sched;

    if (rank(p)) {
        xs_collective_look(s);
        return;
    }
    if (!p->client || atomic_load(&p->client->h.collectives) == 0)
        return;
    xs_list_add(&s->ranks, &p->rank_link);
    tell(s, p);
    xs_collective_look(s);
    recheck(s);
}

void xs_collective_look(struct xs_sched *s)
{
    bool now = any_under_way(s);

    if (s->collective == now)
        return;
    s->collective = now;
    recheck(s);
}

/* Only where one of them is held it matters when the next one begins. seq_cst pairs with the process, which
 * stores the number and then reads this word. */
static void tell_ranks(struct xs_sched *s, bool held)
{
    if (s->ranks_told == held)
        return;
    s->ranks_told = held;
    XS_LIST_FOR(p, &s->ranks, struct xs_sched_process, rank_link)
        tell(s, p);
    atomic_thread_fence(memory_order_seq_cst);
    if (held)
        xs_collective_look(s);
}

static bool held_anywhere(struct xs_sched *s)
{
    XS_LIST_FOR(p, &s->ranks, struct xs_sched_process, rank_link) {
        XS_LIST_FOR(q, &p->queues, struct xs_sched_queue, process_link) {
            if (!q->entity->pe.run)
                return true;
        }
    }
    return false;
}

void xs_collective_let_run(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->collective_ns = UINT64_MAX;
    if (xs_list_empty(&s->ranks))
        return;
    tell_ranks(s, s->collective || held_anywhere(s));
    if (!s->collective)
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->pe.run && xs_collective_rank(e)) {
            e->pe.run = true;
            v->collective_ns = now_ns + XS_COLLECTIVE_NS;
        }
    }
}
