/* SPDX-License-Identifier: Apache-2.0 */
/* From verdicts to words: the one place where an entity changes between running and waiting. */
#include "sched/internal.h"
#include "sched/stage.h"

static bool may_run(const struct xs_view *v, const struct xs_entity *e)
{
    return e->now.run || v->stalled;
}

/* Notes what it does from now on. @param run  which may differ from the verdict */
static void note(struct xs_entity *e, bool run)
{
    bool as_said = run == e->now.run;

    e->before = e->now;
    e->before.run = run;
    if (!as_said)
        e->before.why = run ? XS_WHY_CIRCLE : XS_WHY_DRAIN;
}

static void suspend(struct xs_entity *e, uint64_t now_ns)
{
    note(e, false);
    e->before.just = true;
    xs_entity_unwatch(e);
    xs_entity_drain(e, now_ns);
    xs_entity_apply(e, now_ns);
}

/* The time up to now counts for the reason for which it waited. */
static void resume(struct xs_entity *e, uint64_t now_ns)
{
    e->before.run = true;
    xs_entity_begins(e, now_ns);
    xs_entity_apply(e, now_ns);
}

/* One that stays as it is may do so for another reason. */
static void stay(struct xs_entity *e, uint64_t now_ns)
{
    if (!e->before.run && !e->now.run && e->now.why != e->before.why)
        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
            xs_queue_charge(q, now_ns);
    note(e, e->before.run);
}

/* Queues that became ready while their word was another. @param wait  no entity resumes now, else its turn does it */
static void settle_pending(struct xs_view *v, bool wait, uint64_t now_ns)
{
    while (!xs_list_empty(&v->pending)) {
        struct xs_sched_queue *q = XS_CONTAINER_OF(v->pending.next, struct xs_sched_queue, pending_link);
        struct xs_entity *e = q->entity;

        xs_list_remove(&q->pending_link);
        if (wait || e->before.run == may_run(v, e))
            xs_queue_permit(q, e->before.run && !q->barred, now_ns);
    }
}

/* Suspends first, since that takes mere stores. Then resumes, which may have to wake threads. Then closes idle queues of
 * suspended entities. */
void xs_view_apply(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool wait;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->before.run && !may_run(v, e))
            suspend(e, now_ns);
    }
    wait = xs_view_drains(s, v, now_ns) && !v->stalled;
    settle_pending(v, wait, now_ns);
    xs_view_stand(s, v, wait, now_ns);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->before.run && may_run(v, e) && !wait)
            resume(e, now_ns);
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->before.just)
            xs_entity_close_idle(e, now_ns);
        stay(e, now_ns);
    }
}
