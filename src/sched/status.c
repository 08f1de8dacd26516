/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a queue, for users. */
#include "sched/internal.h"

#include "base/str.h"

#include <string.h>

/* ---- why it waits ---- */

/* Whoever has work and runs on the device: the most important one. @return NULL: none */
static const struct xs_entity *runs_instead(const struct xs_entity *of)
{
    const struct xs_view *v = of->view;
    const struct xs_entity *best = NULL;

    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e != of && e->before.run && !e->before.lane && e->pe.ready &&
            (!best || e->pe.hints.priority > best->pe.hints.priority))
            best = e;
    }
    return best;
}

static const struct xs_entity *drains(const struct xs_entity *of)
{
    const struct xs_view *v = of->view;

    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e != of && xs_entity_end_awaited(e))
            return e;
    }
    return NULL;
}

static const struct xs_sched_process *process_of(const struct xs_entity *e)
{
    const struct xs_list *any;

    if (!e)
        return NULL;
    any = xs_list_empty(&e->ready) ? &e->idle : &e->ready;
    return xs_list_empty(any) ? NULL : XS_CONTAINER_OF(any->next, struct xs_sched_queue, link)->process;
}

unsigned xs_sched_queue_reason(const struct xs_sched_queue *q)
{
    return xs_queue_why(q);
}

void xs_sched_queue_why(const struct xs_sched_queue *q, struct xs_sched_queue_why *ret)
{
    const struct xs_entity *e = q->entity;
    const struct xs_view *v = e->view;

    *ret = (struct xs_sched_queue_why){.until_ns = UINT64_MAX};
    switch (xs_queue_why(q)) {
    case XS_WHY_TURN:
        ret->until_ns = xs_sched_outside(e->sched, xs_view_timer(v));
        ret->who = process_of(runs_instead(e));
        break;
    case XS_WHY_RANK:
    case XS_WHY_LANE:
        ret->who = process_of(runs_instead(e));
        break;
    case XS_WHY_DRAIN:
        ret->until_ns = xs_sched_outside(e->sched, e->sched->now_ns + XS_DRAIN_NS);
        ret->who = process_of(drains(e));
        break;
    case XS_WHY_SHARE:
        ret->until_ns = xs_sched_outside(e->sched, v->at_ns[XS_TIMER_GRANT]);
        ret->who = process_of(runs_instead(e));
        break;
    case XS_WHY_OTHER:
        xs_str_copy(ret->own, sizeof(ret->own), e->pe.why ? e->pe.why : "");
        break;
    default:
        break;
    }
}

/* ---- its counts ---- */

void xs_sched_queue_status(struct xs_sched_queue *q, uint64_t now_ns, struct xs_sched_queue_status *ret)
{
    uint64_t d, service_ns;

    now_ns += q->process->sched->ahead_ns;
    service_ns = xs_queue_service_ns(q, now_ns);
    d = now_ns > q->charged_ns ? now_ns - q->charged_ns : 0;
    memset(ret, 0, sizeof(*ret));
    ret->handle = q->handle;
    ret->device = q->entity->presence->device->device;
    ret->cell = q->cell;
    ret->permitted = q->permitted;
    ret->ready = q->ready;
    ret->ready_since_ns = q->ready_since_ns;
    ret->why = (uint8_t)xs_queue_why(q);
    ret->gathers = !q->permitted && ret->why == XS_WHY_GATHER;
    ret->gather = (uint8_t)xs_gather_state(q->entity);
    ret->waiting_ns = q->waiting_ns + (q->ready && !q->permitted && !ret->gathers ? d : 0);
    ret->gathered_ns = q->gathered_ns + (q->ready && ret->gathers ? d : 0);
    ret->suspensions = q->suspensions;
    ret->preemptions = q->preemptions;
    ret->entered = q->entered;
    ret->completed = q->completed;
    ret->lane = q->permitted && q->lane > XS_LANE_MAKE ? XS_LANE_WIDTH(q->lane) : 0;
    if (ret->lane && q->client) {
        uint32_t all = atomic_load(&q->client->multiprocessors);

        ret->reserve = all > ret->lane && all <= XS_LANE_WIDTH(UINT32_MAX) ? all - ret->lane : 0;
    }
    if (q->client) { /* the scheduler does not watch a lone process: the status reads its words */
        uint64_t told, entered_ns;
        uint64_t entered = atomic_load(&q->client->entered);
        uint64_t completed = atomic_load(&q->client->completed);
        uint64_t marked = atomic_load(&q->client->marked);

        ret->entered = XS_MAX(entered, q->entered);
        ret->completed = XS_MAX(XS_MIN(XS_MAX(completed, marked), ret->entered), q->completed);
        if (!q->process->absent)
            ret->ready = ret->completed < ret->entered && !(q->inferred && q->inferred_entered == ret->entered);
        /* relaxed: values by themselves */
        told = atomic_load_explicit(&q->client->est_completed_ns, memory_order_relaxed);
        entered_ns = atomic_load_explicit(&q->client->est_entered_ns, memory_order_relaxed);
        if (ret->ready && entered_ns > told)
            ret->inflight_ns = XS_MIN(entered_ns - told, XS_ESTIMATE_MAX_NS);
    }
    ret->service_ns = service_ns;
    ret->running_ns = q->running_ns + (q->ready && q->permitted ? xs_queue_ran_ns(q, service_ns, now_ns) : 0);
    /* the program may report the device time late, and it may be less than the time that passed: a
     * count does not fall */
    ret->running_ns = q->told_running_ns = XS_MAX(ret->running_ns, q->told_running_ns);
}
