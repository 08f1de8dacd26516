/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of the pages to ready queues. The process writes those words, so the scheduler copies
 * each word once and judges it. Numbers only grow, nothing completes that did not enter, and no queue
 * received more device time than has passed. */
#include "sched/internal.h"

#include <string.h>

#define NO_EXECUTE  (-256)

static uint64_t sub_sat(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The highest priority of the threads that wait for the queue, and of the queues that wait for it on
 * the device. */
static int32_t read_inherit(const struct xs_client_cell *c, uint64_t completed, int32_t most)
{
    uint64_t lent = atomic_load(&c->lent);
    int32_t p = NO_EXECUTE;

    if (atomic_load(&c->inherit))
        p = XS_MAX(p, atomic_load(&c->inherit_priority));
    if (XS_LENT_NUMBER(lent) > completed)
        p = XS_MAX(p, XS_LENT_PRIORITY(lent));
    return XS_MIN(p, most);
}

static void take_service(struct xs_sched_queue *q, uint64_t est_completed_ns, uint64_t now_ns)
{
    uint64_t service = sub_sat(est_completed_ns, q->service_base_ns);

    service = XS_MIN(service, sub_sat(now_ns, q->added_ns));
    if (service > q->service_ns) {
        if (!xs_entity_is_timed(q->entity)) /* a timed entity pays for the time for which it had the device */
            q->entity->pe.service_ns += service - q->service_ns;
        q->service_ns = service;
    }
}

bool xs_queue_read(struct xs_sched_queue *q, uint64_t now_ns)
{
    const struct xs_client_cell *c = q->client;
    uint64_t entered, returned, completed, marked, est_entered, est_completed;
    uint32_t marked_to;
    int32_t inherit;
    bool moved;

    if (!c)
        return false;
    q->process->sched->c.work++;
    /* seq_cst: pairs with the submitter, which counts entered and then looks at armed, while we
     * store armed and then come here */
    entered = atomic_load(&c->entered);
    returned = atomic_load(&c->returned);
    completed = atomic_load(&c->completed);
    marked = atomic_load(&c->marked);
    marked_to = atomic_load(&c->marked_to);
    est_completed = atomic_load_explicit(&c->est_completed_ns, memory_order_relaxed); /* a value by itself */
    est_entered = atomic_load_explicit(&c->est_entered_ns, memory_order_relaxed);     /* likewise */

    q->marks = q->marks || marked != 0;
    entered = XS_MAX(entered, q->entered);
    q->told = XS_MIN(completed, entered);
    completed = XS_MIN(XS_MAX(completed, marked), entered);
    completed = XS_MAX(completed, q->completed);
    if (XS_UNLIKELY(q->process->intra || q->process->space)) {
        uint32_t lanes = atomic_load(&c->lanes);

        q->entity->view->dirty |= lanes != q->lanes;
        q->lanes = lanes;
    }
    inherit = read_inherit(c, completed, q->process->priority_most);
    q->sleepers = atomic_load(&c->waiters);   /* seq_cst: as entered */
    returned = XS_MIN(XS_MAX(returned, completed), entered);
    moved = entered != q->entered || completed != q->completed;
    if (XS_UNLIKELY(q->tells_waits))
        xs_gather_read(q, entered, moved);
    if (completed != q->completed && q->entity->now.chosen)
        q->entity->view->progress_ns = now_ns;
    if (moved)
        q->changed_ns = now_ns;
    q->entered = entered;
    q->covered = marked_to && (int32_t)(marked_to - (uint32_t)entered) >= 0;
    q->returned = returned;
    q->completed = completed;
    q->est_left_ns = 0;
    if (completed < entered)
        q->est_left_ns = XS_MIN(sub_sat(est_entered, est_completed), XS_ESTIMATE_MAX_NS);
    take_service(q, est_completed, now_ns);
    if (inherit != q->inherit_priority) {
        int32_t before = xs_queue_priority(q);

        q->inherit_priority = inherit;
        if (xs_queue_priority(q) != before) {
            q->entity->hints_stale = true;
            q->entity->view->dirty = true;
        }
    }
    return moved;
}

/* If a submitter never reports completions, its queue stays ready for ever. So a queue counts as idle
 * that is quiet for long beyond its estimate while others wait, with no thread inside a call and no
 * mark on its way. */
static bool seems_idle(struct xs_sched_queue *q, uint64_t now_ns)
{
    const struct xs_entity *e = q->entity;

    if (q->inherit_priority != NO_EXECUTE) {
        q->inferred = false;      /* something waits for it: it may itself wait for a suspended
                                     queue; the waiter shows its end */
        return false;
    }
    if (q->inferred && q->inferred_entered == q->entered)
        return true;
    q->inferred = false;
    if (!e->view->contended || !e->before.run || q->returned != q->entered || q->covered)
        return false;
    /* from when it could run: the time in which it was suspended does not count */
    if (!xs_queue_is_overdue(q, q->since_ns, now_ns))
        return false;
    q->inferred = true;
    q->inferred_entered = q->entered;
    return true;
}

static bool is_ready(struct xs_sched_queue *q, uint64_t now_ns)
{
    bool closed = !q->permitted || q->limit != XS_PERMIT_OPEN;

    if (XS_UNLIKELY(q->process->ended))
        return false;
    if (XS_UNLIKELY(q->process->absent)) /* what it has on the device has ended, told or not */
        return q->sleepers || q->returned != q->entered;
    /* a thread that waits for a permit wants the device, even before it has entered a command */
    return (q->sleepers && closed) || (q->completed < q->entered && !seems_idle(q, now_ns));
}

/* Alone it needs none, since nothing suspends it; but one whose memory is out waits until its work is known. */
static bool must_ring(const struct xs_sched_queue *q)
{
    return q->entity->view->n > 1 || q->process->absent;
}

bool xs_queue_settle(struct xs_sched_queue *q, uint64_t now_ns)
{
    bool was = q->ready, moved, has_work;

    if (!q->client)
        return false;
    moved = xs_queue_read(q, now_ns);
    has_work = is_ready(q, now_ns);
    if (has_work && xs_queue_has_room(q)) {
        xs_queue_set_state(q, true, now_ns);
    } else {
        struct xs_entity *e = q->entity;

        if (!was && moved && e->linger.until_ns) /* had work for a moment while its entity lingers */
            e->linger.until_ns = now_ns + XS_MAX(e->linger.us * XS_NS_PER_US, e->sched->config.linger_ns);
        xs_queue_set_state(q, false, now_ns);
        if (q->armed != XS_ARMED_SUBMIT && must_ring(q)) {
            xs_queue_arm(q, XS_ARMED_SUBMIT);
            moved |= xs_queue_read(q, now_ns);
            has_work = is_ready(q, now_ns);
            if (has_work && xs_queue_has_room(q))
                xs_queue_set_state(q, true, now_ns);
        }
        if (XS_UNLIKELY(has_work && !q->ready))
            xs_queue_put_off(q, now_ns);
    }
    if (q->ready && !q->watched) {
        bool awaited = xs_entity_end_awaited(q->entity) ||
                       XS_UNLIKELY(q->process->sched->ranks && xs_collective_end_awaited(q->entity));

        xs_queue_arm(q, awaited ? XS_ARMED_IDLE : 0);
    }
    if (!q->ready && !must_ring(q))
        xs_queue_arm(q, 0);
    return moved || was != q->ready || q->entity->view->dirty;
}

uint64_t xs_queue_service_ns(const struct xs_sched_queue *q, uint64_t now_ns)
{
    uint64_t told;

    if (!q->client)
        return q->service_ns;
    told = atomic_load_explicit(&q->client->est_completed_ns, memory_order_relaxed); /* a value by itself */
    return XS_MAX(q->service_ns, XS_MIN(sub_sat(told, q->service_base_ns), sub_sat(now_ns, q->added_ns)));
}

uint64_t xs_queue_ran_ns(const struct xs_sched_queue *q, uint64_t service_ns, uint64_t now_ns)
{
    uint64_t d = sub_sat(now_ns, q->charged_ns);

    if (!q->watched && q->client && service_ns)
        d = XS_MIN(d, sub_sat(service_ns, q->charged_service_ns));
    return d;
}

void xs_queue_charge(struct xs_sched_queue *q, uint64_t now_ns)
{
    uint64_t service_ns = xs_queue_service_ns(q, now_ns); /* a suspension does not read all queues first */

    if (q->ready && q->permitted) {
        q->running_ns += xs_queue_ran_ns(q, service_ns, now_ns);
    } else if (q->ready) {
        uint64_t waited_ns = sub_sat(now_ns, q->charged_ns);

        unsigned why = xs_queue_why(q);

        *(why == XS_WHY_GATHER ? &q->gathered_ns : &q->waiting_ns) += waited_ns;
        q->process->sched->c.waiting_ns[why] += waited_ns;
    }
    q->charged_ns = now_ns;
    q->charged_service_ns = service_ns;
}

void xs_queue_charge_time(struct xs_sched_queue *q, uint64_t now_ns)
{
    xs_queue_charge(q, now_ns);
    q->since_ns = now_ns;
}

static bool timed(const struct xs_sched_queue *q)
{
    return q->hints.deadline_us >= 0 || q->hints.laxity_us >= 0;
}

/* The ready list begins with a queue of the highest priority. The scheduler watches the first queue,
 * and the end of that one changes the entity's standing. */
void xs_entity_link_ready(struct xs_entity *e, struct xs_sched_queue *q)
{
    int32_t p = xs_queue_priority(q);

    e->nready++;
    e->ntimed += timed(q);
    e->view->dirty = true;
    if (q->permitted != e->before.run)
        xs_list_add(&e->view->pending, &q->pending_link);
    if (e->nready == 1 || p > e->pe.hints.priority) {
        xs_list_add(e->ready.next, &q->link); /* in front */
        e->hints_stale = e->hints_stale || e->ntimed > 0;
        if (!e->hints_stale) {
            e->pe.hints.priority = p;
            e->pe.hints.deadline_us = -1;
            e->pe.hints.laxity_us = -1;
            e->nready_top = 1;
        }
        return;
    }
    xs_list_add(&e->ready, &q->link);
    if (e->ntimed > 0)
        e->hints_stale = true;
    else if (p == e->pe.hints.priority)
        e->nready_top++;
}

void xs_entity_unlink_ready(struct xs_entity *e, struct xs_sched_queue *q)
{
    e->nready--;
    e->view->dirty = true;
    xs_list_remove(&q->pending_link);
    if (q->watched) {
        q->watched = false;
        e->nwatched--;
    }
    if (e->ntimed > 0 || e->nready == 0 || e->hints_stale ||
        (xs_queue_priority(q) == e->pe.hints.priority && --e->nready_top == 0))
        e->hints_stale = true;
    e->ntimed -= timed(q);
    xs_list_remove(&q->link);
    if (e->nready == 0)
        e->dried_ns = e->sched->now_ns;
}

void xs_entity_wakes(struct xs_entity *e, uint64_t now_ns)
{
    e->pe.ready_since_ns = now_ns;
    xs_linger_wakes(e, now_ns);
}

void xs_queue_set_state(struct xs_sched_queue *q, bool ready, uint64_t now_ns)
{
    struct xs_entity *e = q->entity;
    struct xs_sched *s = e->sched;

    if (q->ready == ready)
        return;
    xs_queue_charge_time(q, now_ns);
    s->c.work++;
    q->ready = ready;
    if (ready)
        q->ready_since_ns = now_ns;
    if (!q->barred) {
        if (ready) {
            xs_list_remove(&q->link);
            xs_entity_link_ready(e, q);
            if (e->nready == 1)
                xs_entity_wakes(e, now_ns);
        } else {
            xs_entity_unlink_ready(e, q);
            xs_list_add(e->idle.next, &q->link); /* in front: most recently used */
        }
    }
    if (s->ops.on_ready)
        s->ops.on_ready(s->ctx, q, ready, now_ns);
}

void xs_queue_update_barred(struct xs_sched_queue *q, uint64_t now_ns)
{
    bool barred = q->process->held || q->process->absent || q->hints.priority <= NO_EXECUTE;
    struct xs_entity *e = q->entity;

    if (q->barred == barred)
        return;
    if (q->ready && !barred && e->nready >= XS_READY_MOST) { /* while barred it did not count */
        xs_queue_set_state(q, false, now_ns);
        xs_entity_put_off(e);
    }
    if (q->ready && barred) {
        xs_queue_charge(q, now_ns); /* while it still counts as watched */
        xs_entity_unlink_ready(e, q);
        xs_list_add(e->idle.next, &q->link);
        if (e->nready == 0)
            e->pe.ready = false; /* it did not become idle, so it does not linger */
    }
    xs_idle_hints_remove(e, q);
    q->barred = barred;
    xs_idle_hints_add(e, q);
    if (q->ready && !barred) {
        xs_list_remove(&q->link);
        xs_entity_link_ready(e, q);
        if (e->nready == 1)
            xs_entity_wakes(e, now_ns);
    }
    if (!q->ready && !barred) { /* to the closed ones in front, where its entity's next turn finds it */
        xs_list_remove(&q->link);
        xs_list_add(e->idle.next, &q->link);
    }
    e->hints_stale = true;
    e->view->dirty = true;
    xs_queue_permit(q, e->before.run && !barred, now_ns);
}

static uint64_t after_us(uint64_t from_ns, int64_t us)
{
    return (uint64_t)us > (UINT64_MAX - from_ns) / XS_NS_PER_US ? UINT64_MAX
                                                                 : from_ns + (uint64_t)us * XS_NS_PER_US;
}

/* Folds the laxity hints of several queues into those of one: the priority now, the next moment at
 * which some queue becomes critical, and the highest priority then. */
static void fold_laxity(struct xs_entity *e, struct xs_hints *h, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;
    int32_t lax = NO_EXECUTE, critical = NO_EXECUTE;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        uint64_t at;

        if (q->hints.laxity_us < 0)
            continue;
        at = after_us(q->ready_since_ns, q->hints.laxity_us);
        if (at > now_ns)
            next = XS_MIN(next, at);
    }
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        const struct xs_hints *o = &q->hints;
        int32_t now_p, next_p;

        if (o->laxity_us < 0) {
            now_p = next_p = xs_queue_priority(q);
        } else {
            uint64_t at = after_us(q->ready_since_ns, o->laxity_us);

            now_p = XS_MAX(at <= now_ns ? o->critical_priority : o->lax_priority, q->inherit_priority);
            next_p = XS_MAX(at <= next ? o->critical_priority : o->lax_priority, q->inherit_priority);
        }
        lax = XS_MAX(lax, now_p);
        critical = XS_MAX(critical, next_p);
    }
    h->lax_priority = lax;
    h->critical_priority = next == UINT64_MAX ? lax : critical;
    h->laxity_us = next == UINT64_MAX ? 0 : (int64_t)((next - e->pe.ready_since_ns + 999) / XS_NS_PER_US);
    e->stale_at_ns = next;
}

void xs_entity_update_hints(struct xs_entity *e, uint64_t now_ns)
{
    struct xs_hints *h = &e->pe.hints;
    uint64_t deadline = UINT64_MAX;
    bool lax = false;

    if (e->rest_stale)
        xs_idle_hints_update(e);
    h->utilization = e->rest.utilization;
    if (!e->hints_stale && now_ns < e->stale_at_ns)
        return;
    e->hints_stale = false;
    e->stale_at_ns = UINT64_MAX;
    if (e->nready == 0) {
        /* while it lingers it keeps the standing that it had */
        if (!e->linger.until_ns || now_ns >= e->linger.until_ns)
            *h = e->rest;
        else
            e->hints_stale = true;
        return;
    }
    h->priority = NO_EXECUTE;
    h->deadline_us = -1;
    h->laxity_us = -1;
    h->lax_priority = h->critical_priority = 0;
    e->nready_top = 0;
    e->sched->c.work += e->nready;
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        int32_t p = xs_queue_priority(q);

        if (p > h->priority) {
            h->priority = p;
            e->nready_top = 0;
        }
        e->nready_top += p == h->priority;
        if (q->hints.deadline_us >= 0)
            deadline = XS_MIN(deadline, after_us(q->ready_since_ns, q->hints.deadline_us));
        lax = lax || q->hints.laxity_us >= 0;
    }
    if (deadline != UINT64_MAX)
        h->deadline_us = (int64_t)((deadline - XS_MIN(e->pe.ready_since_ns, deadline)) / XS_NS_PER_US);
    if (lax)
        fold_laxity(e, h, now_ns);
}

void xs_entity_read_service(struct xs_entity *e, uint64_t now_ns)
{
    bool in_flight = false;

    XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link) {
        xs_queue_read(q, now_ns);
        in_flight = in_flight || q->completed < q->returned;
    }
    if (!in_flight)
        e->turn.draining = false;
}
