/* SPDX-License-Identifier: Apache-2.0 */
/* Which queues ring, and at which the scheduler looks by itself.
 *
 * Where more than one entity could run, idle queues ring at their next submit. While a ready entity is
 * suspended, the scheduler watches each running entity for its end. It watches one ready queue at a
 * time: the entity cannot become idle before that queue does. The queue rings when it is idle; for
 * devices that write their completions and ring nobody, the scheduler looks at it. If the ready queues
 * of an entity differ in standing, the scheduler watches all of them. When nothing waits, it watches
 * nothing. */
#include "sched/internal.h"

static void store_armed(struct xs_sched_queue *q)
{
    atomic_store(&q->server->armed, q->armed | (q->tells_waits ? XS_ARMED_WAITS : 0));
}

void xs_queue_arm(struct xs_sched_queue *q, uint32_t armed)
{
    if (q->armed == armed)
        return;
    q->armed = armed;
    if (XS_UNLIKELY(q->process->collective))
        xs_collective_update_busy(q);
    if (!q->server)
        return;
    /* seq_cst, and a fence before what the caller reads next: pairs with the process, which
     * counts entered (or completed) and then loads armed */
    store_armed(q);
    atomic_thread_fence(memory_order_seq_cst);
}

void xs_queue_tell_waits(struct xs_sched_queue *q, bool on)
{
    if (q->tells_waits == on || !q->server)
        return;
    q->tells_waits = on;
    store_armed(q);
}

static bool mixed(const struct xs_entity *e)
{
    return e->nready > 1 && (e->ntimed > 0 || e->nready_top < e->nready);
}

void xs_entity_watch(struct xs_entity *e, uint64_t now_ns)
{
    bool all = mixed(e);

    XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link) {
        if (!q->watched) {
            xs_queue_charge(q, now_ns); /* from now on the scheduler sees when it becomes idle */
            q->watched = true;
            e->nwatched++;
            xs_queue_arm(q, XS_ARMED_IDLE);
            xs_queue_settle(q, now_ns); /* may be idle already: this moves it, unwatched */
        }
        if (q->ready && (!all || e->nwatched >= XS_WATCH_MOST)) /* the most important ones stand in front */
            break;
    }
}

void xs_entity_unwatch(struct xs_entity *e)
{
    if (e->nwatched == 0)
        return;
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        if (!q->watched)
            continue;
        xs_queue_charge(q, e->sched->now_ns);
        q->watched = false;
        xs_queue_arm(q, 0);
    }
    e->nwatched = 0;
}

void xs_entity_check(struct xs_entity *e, uint64_t now_ns)
{
    XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link) {
        xs_queue_settle(q, now_ns);
        if (q->ready)
            break;
    }
}

/* If grants interrupt the entity, it still has at least an equal share of the time. */
static uint64_t expected_end(const struct xs_view *v, const struct xs_sched_queue *q)
{
    if (v->nstakes > 1)
        return XS_MAX(q->changed_ns, q->entity->chosen_ns) + q->est_left_ns * v->nstakes;
    return XS_MAX(q->changed_ns, q->since_ns) + q->est_left_ns;
}

bool xs_view_running_progress(struct xs_view *v, uint64_t now_ns, uint64_t *ret_end_ns)
{
    uint64_t before = v->progress_ns, end = 0;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->now.chosen)
            continue;
        XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link) {
            xs_queue_settle(q, now_ns);
            end = XS_MAX(end, expected_end(v, q));
        }
    }
    *ret_end_ns = end;
    return v->progress_ns != before;
}

/* Time from now to the first estimated end of a watched queue; UINT64_MAX: there is none. */
static uint64_t next_end(const struct xs_view *v, bool *ret_pages)
{
    uint64_t first = UINT64_MAX;

    *ret_pages = false;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
            uint64_t at;

            *ret_pages = *ret_pages || q->client;
            if (!q->watched)
                break; /* watched ones stand in front, or all are */
            if (!q->client)
                continue;
            at = q->marks ? XS_MIN(q->est_left_ns, XS_LOOK_FIRST_NS) : XS_LOOK_MAX_NS;
            first = XS_MIN(first, XS_MAX(at, XS_LOOK_MIN_NS));
        }
    }
    return first;
}

void xs_view_plan_look(struct xs_view *v, uint64_t now_ns)
{
    uint64_t first;
    bool pages;

    if (!v->contended) {
        v->look_step_ns = 0;
        v->at_ns[XS_TIMER_LOOK] = UINT64_MAX;
        return;
    }
    if (v->look_step_ns && v->at_ns[XS_TIMER_LOOK] > now_ns)
        return;
    first = next_end(v, &pages);
    if (!pages) { /* facts come without looking */
        v->at_ns[XS_TIMER_LOOK] = UINT64_MAX;
        v->look_step_ns = 0;
    } else if (first == UINT64_MAX) { /* nothing runs, but something is suspended: see xs_view_look */
        v->at_ns[XS_TIMER_LOOK] = now_ns + XS_HELD_LOOK_NS;
        v->look_step_ns = XS_LOOK_MAX_NS;
    } else if (v->look_step_ns == 0) {
        v->look_step_ns = XS_LOOK_MIN_NS;
        v->at_ns[XS_TIMER_LOOK] = now_ns + first;
    } else {
        v->at_ns[XS_TIMER_LOOK] = now_ns + XS_MAX(v->look_step_ns, XS_MIN(first, XS_LOOK_MAX_NS));
        v->look_step_ns = XS_MIN(v->look_step_ns * 2, XS_LOOK_MAX_NS);
    }
}

bool xs_queue_in_call(const struct xs_sched_queue *q)
{
    return q->entered - q->returned > q->sleepers; /* a thread that sleeps at the gate has entered its
                                                      command, as a rule */
}

void xs_queue_ask_for_mark(struct xs_sched *s, struct xs_sched_queue *q, uint64_t now_ns)
{
    if (!q->ready || !q->client || q->covered || xs_queue_in_call(q) || q->asked_returned == q->returned ||
        now_ns < q->changed_ns + XS_QUIET_NS || !s->ops.on_mark_wanted)
        return;
    q->asked_returned = q->returned;
    s->ops.on_mark_wanted(s->ctx, q);
}

void xs_view_look(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    uint64_t progress = v->progress_ns;
    bool held_too = now_ns >= v->held_look_ns;

    s->c.looks++;
    if (held_too)
        v->held_look_ns = now_ns + XS_HELD_LOOK_NS;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        s->c.work++;
        if (e->nwatched) {
            XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link) {
                if (!q->watched)
                    break;
                xs_queue_settle(q, now_ns);
                xs_queue_ask_for_mark(s, q, now_ns);
            }
        } else if (held_too && e->nready) {
            xs_entity_check(e, now_ns); /* its commands in flight may have been its last ones */
        }
    }
    if (v->progress_ns != progress)
        v->look_step_ns = 0; /* it goes on: wait for the estimated end again */
    else
        v->at_ns[XS_TIMER_LOOK] = 0;
}
