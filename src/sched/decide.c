/* SPDX-License-Identifier: Apache-2.0 */
/* One decision of one view: facts, policy, stall, permits, watches. */
#include "sched/internal.h"

#include "base/log.h"
#include "base/static_probe.h"

#define STOPPED_LOOKS 64u                 /* queues at which it looks for a stopped process */
#define TIMER_MIN_NS (1 * XS_NS_PER_US)   /* if a policy sets its timer to now, the next call comes after
                                             this time */

/* An entity that became idle counts as ready for a moment while the scheduler suspends others for it.
 * Programs leave gaps between commands, and without this the two sides would thrash. */
static void settle_entity(struct xs_sched *s, struct xs_view *v, struct xs_entity *e, uint64_t now_ns)
{
    bool ready = e->nready > 0;

    if (!ready && e->pe.ready && e->pe.run && !e->beside.runs && v->contended && s->config.linger_ns &&
        !e->presence->group->ended) {
        if (e->linger_until_ns == 0)
            e->linger_until_ns = now_ns + XS_MAX(e->linger_ns, s->config.linger_ns);
        ready = now_ns < e->linger_until_ns;
        e->lingered = !ready;
        if (ready)
            xs_view_wake_at(v, XS_TIMER_LINGER, e->linger_until_ns);
    }
    if (!ready || e->nready > 0)
        e->linger_until_ns = 0;
    e->pe.ready = ready;
}

/* Unwatched entities may have become idle unnoticed, and their queues may have received service. */
static void check_unwatched(struct xs_view *v, bool service, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->nready == 0 || e->nwatched > 0 || !e->applied)
            continue;
        xs_entity_check(e, now_ns);
        if (e->nready == 0) {
            e->pe.ready = false; /* some time ago: it does not linger */
            v->dirty = true;
        } else if (service) {
            xs_entity_read_service(e, now_ns);
        }
    }
}

static bool several_ready(const struct xs_view *v)
{
    size_t ready = 0;

    for (size_t i = 0; i < v->n && ready < 2; i++)
        ready += xs_entity_of(v->entities[i])->nready > 0;
    return ready >= 2;
}

/* A queue for which something more important in the same process waits runs while that one runs. Only
 * where queues are entities of their own: a gang runs as one anyway. */
void xs_view_let_providers_run(struct xs_view *v)
{
    if (!v->some_intra)
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        struct xs_sched_queue *q;

        if (!e->intra || e->nready == 0 || e->pe.run)
            continue;
        q = XS_CONTAINER_OF(e->ready.next, struct xs_sched_queue, link);
        if (q->inherit_priority <= q->hints.priority)
            continue;
        for (size_t k = 0; k < v->n; k++) {
            struct xs_entity *o = xs_entity_of(v->entities[k]);

            if (o->pe.run && o->pe.ready && o->pe.process == e->pe.process && o != e &&
                o->pe.hints.priority <= q->inherit_priority) {
                e->pe.run = true;
                break;
            }
        }
    }
}

/* No decision suspends an entity for others where none is more important: its bound need not
 * be tight, and a tight one would only slow it. If all entities have one standing, no entity is above
 * the others, but they share by turns. */
static void tell_standing(struct xs_sched *s, struct xs_view *v)
{
    int32_t highest = INT32_MIN, lowest = INT32_MAX;

    for (size_t i = 0; i < v->n; i++) {
        int32_t p = xs_entity_of(v->entities[i])->rest.priority;

        highest = XS_MAX(highest, p);
        lowest = XS_MIN(lowest, p);
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool top = e->rest.priority == highest && highest > lowest;

        if (e->top == top)
            continue;
        e->top = top;
        xs_entity_tell_inflight(s, e);
    }
}

/* A gang with queues on several devices runs on all of them or on none: half of a collective waits for
 * the other half. Where it loses on one device it does not count on the others. Not under policies
 * that give turns: turns on two devices do not coincide. */
static bool gangs_are_bound(const struct xs_sched *s)
{
    return !xs_sched_is_host(s) && xs_sched_policy_flags(s) & XS_POLICY_BY_RANK && !s->unbound;
}

static bool on_several_devices(const struct xs_entity *e)
{
    const struct xs_list *presences = &e->presence->group->presences;

    return !e->intra && presences->next->next != presences;
}

static bool loses_elsewhere(const struct xs_entity *e)
{
    XS_LIST_FOR(pr, &e->presence->group->presences, struct xs_presence, link) {
        if (pr->gang && pr->gang != e && pr->gang->loses)
            return true;
    }
    return false;
}

void xs_group_recheck(struct xs_group *g, const struct xs_view *but)
{
    XS_LIST_FOR(pr, &g->presences, struct xs_presence, link) {
        if (&pr->device->view != but)
            pr->device->view.recheck = true;
    }
}

static void bind_gangs(struct xs_sched *s, struct xs_view *v)
{
    bool bind = gangs_are_bound(s);

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->bound = bind && on_several_devices(e) && loses_elsewhere(e);
        if (e->bound)
            e->pe.ready = false;
    }
}

static void tell_bound(struct xs_sched *s, struct xs_view *v)
{
    bool bind = gangs_are_bound(s);

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool loses = bind && e->pe.ready && !e->applied && on_several_devices(e);

        if (e->loses == loses)
            continue;
        e->loses = loses;
        xs_group_recheck(e->presence->group, v);
    }
}

/* Something more important waits for its first ready queue, whether it runs or not. If the device only writes
 * its completions, no ring shows the end of that wait. */
static bool inherited_rank(const struct xs_entity *e)
{
    const struct xs_sched_queue *q = XS_CONTAINER_OF(e->ready.next, struct xs_sched_queue, link);

    return e->intra && e->nready > 0 && q->client && q->inherit_priority > q->hints.priority;
}

static bool any_intra(const struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (xs_entity_of(v->entities[i])->intra)
            return true;
    return false;
}

static uint64_t next_stall_check(const struct xs_sched *s, const struct xs_view *v, uint64_t now_ns)
{
    uint64_t ns;

    if (s->config.stall_ns == 0)
        return UINT64_MAX;
    ns = any_intra(v) ? XS_MIN(s->config.stall_ns, XS_INFER_NS) : s->config.stall_ns;

    return now_ns + (s->ops.is_stopped ? XS_MIN(ns, XS_STOPPED_NS) : ns);
}

static void ask_policy(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    struct xs_policy_view pv = {
        .now_ns = xs_view_clock(v, now_ns), .params = &s->config.params, .entities = v->entities, .n = v->n,
        .memo = v->memo, .next_ns = UINT64_MAX,
    };
    bool contended = false, running = false, changed = false;

    if (XS_UNLIKELY(s->ranks))
        xs_collective_look(s); /* may find that something ended */
    v->lent = v->some_intra = v->some_space = false;
    v->at_ns[XS_TIMER_LINGER] = v->at_ns[XS_TIMER_COLLECTIVE] = UINT64_MAX;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        settle_entity(s, v, e, now_ns);
        v->some_intra |= e->intra;
        v->some_space |= e->presence->group->space != 0 || e->on_lanes;
        xs_entity_update_hints(e, now_ns);
        e->decided = e->chosen;
        e->pe.running = e->applied;
        e->pe.run = false;
    }
    bind_gangs(s, v);
    v->dirty = false;
    s->c.decisions++;
    s->c.work += v->n;
    s->policy->decide(&pv);
    xs_view_let_providers_run(v);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->pe.run = e->chosen = e->pe.run && !e->bound;
        e->granted = false;
    }
    if (XS_UNLIKELY(v->nstakes > 1))
        xs_view_grant(s, v, &pv, now_ns);
    if (XS_UNLIKELY(s->ranks || v->some_kept))
        xs_collective_let_run(s, v, now_ns);
    v->at_ns[XS_TIMER_BESIDE] = UINT64_MAX;
    if (XS_UNLIKELY(v->some_intra || v->some_space))
        xs_view_let_run_beside(s, v, now_ns);
    tell_standing(s, v);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        contended = contended || (e->nready > 0 && (!e->pe.run || e->beside.runs));
        running = running || (e->nready > 0 && e->pe.run);
        e->chosen = e->chosen || e->kept;
        if (e->chosen && !e->decided)
            e->chosen_ns = now_ns;
        changed = changed || e->decided != e->chosen; /* a grant is no reason to judge a stall anew */
        v->lent = v->lent || (v->some_intra && inherited_rank(e));
    }
    v->next_ns = pv.next_ns == UINT64_MAX ? UINT64_MAX : XS_MAX(pv.next_ns, pv.now_ns + TIMER_MIN_NS);
    if (changed || !v->contended || !running || !contended) {
        v->progress_ns = now_ns;
        v->at_ns[XS_TIMER_STALL] = next_stall_check(s, v, now_ns);
        v->stalled = false;
    }
    if (v != &s->host)
        s->contended_views = s->contended_views + contended - v->contended;
    v->contended = contended;
}

static bool holds_any(const struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->nready > 0 && !e->pe.run)
            return true;
    }
    return false;
}

/* Queues of one process that run while the scheduler suspends others of it, because more important ones wait
 * for them. If the scheduler suspended them or took them for idle, their waiters would wait on. They may be
 * complete without a sign: their stream takes no mark from outside, and the thread that would notice stands
 * at another queue's gate. Or they wait for a suspended queue. */
static bool waits_for_suspended(const struct xs_view *v, uint64_t now_ns)
{
    bool lifted = false;

    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->pe.run || e->beside.runs || e->nready == 0)
            continue;
        if (!e->intra)
            return false;
        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
            if (!q->client || q->returned != q->entered || !xs_queue_is_overdue(q, q->since_ns, now_ns))
                return false;
            lifted = lifted || q->inherit_priority > q->hints.priority;
        }
    }
    return lifted;
}

/* Of the entities that have the device: whether the processes of all their ready queues are stopped.
 * @param look  asks the owner; else by what it said last, of one queue each */
static bool are_stopped(struct xs_sched *s, const struct xs_view *v, bool look)
{
    struct xs_sched_process *last = NULL;
    unsigned n = 0;

    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->pe.run || e->beside.runs || e->nready == 0)
            continue;
        XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
            if (++n > STOPPED_LOOKS)
                return false;
            if (q->process == last)
                continue;
            last = q->process;
            if (look)
                last->stopped = s->ops.is_stopped(s->ctx, last);
            if (!last->stopped)
                return false;
            if (!look)
                break;
        }
    }
    return last != NULL;
}

static void stall(struct xs_sched *s, struct xs_view *v)
{
    v->stalled = true;
    v->progress_ns = 0;
    s->c.stalls++;
}

/* The urgent side may itself wait for a suspended process, in a way that the scheduler cannot see. If
 * it completes nothing for stall_ns, though its commands should have ended, the suspended ones run
 * until it does. The same holds, and sooner, where a signal has stopped it: it reports nothing then. */
static void judge_stall(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    uint64_t end, last;
    bool known;

    if (!v->contended || s->config.stall_ns == 0) {
        v->stalled = false;
        return;
    }
    if (v->at_ns[XS_TIMER_STALL] == UINT64_MAX) /* configured just now */
        v->at_ns[XS_TIMER_STALL] = next_stall_check(s, v, now_ns);
    if (v->stalled) {
        if (v->progress_ns != 0) {
            v->stalled = false;
            v->at_ns[XS_TIMER_STALL] = next_stall_check(s, v, v->progress_ns);
        }
        return;
    }
    known = s->ops.is_stopped && are_stopped(s, v, false);
    if (now_ns < v->at_ns[XS_TIMER_STALL] && !known)
        return;
    xs_view_running_progress(v, now_ns, &end);
    if (!v->dirty && waits_for_suspended(v, now_ns)) {
        stall(s, v);
        return;
    }
    if (s->ops.is_stopped && !v->dirty && holds_any(v) &&
        (known || (end <= now_ns && v->progress_ns + XS_STOPPED_NS <= now_ns)) && are_stopped(s, v, true)) {
        stall(s, v);
        return;
    }
    last = v->progress_ns + s->config.stall_ns;
    if (last > now_ns || end > now_ns || v->dirty || !holds_any(v)) {
        v->at_ns[XS_TIMER_STALL] = XS_MAX(holds_any(v) ? last : now_ns + s->config.stall_ns, end);
        if (any_intra(v))
            xs_view_wake_at(v, XS_TIMER_STALL, now_ns + XS_INFER_NS);
        if (s->ops.is_stopped)
            xs_view_wake_at(v, XS_TIMER_STALL, XS_MAX(v->progress_ns, now_ns) + XS_STOPPED_NS);
        v->at_ns[XS_TIMER_STALL] = XS_MAX(v->at_ns[XS_TIMER_STALL], now_ns + TIMER_MIN_NS);
        return;
    }
    stall(s, v);
    if (!s->stall_said) {
        s->stall_said = true;
        XS_WARN("urgent queues completed nothing for %u ms: suspended ones run until they do "
                "(they may depend on each other)", (unsigned)(s->config.stall_ns / XS_NS_PER_MS));
    }
}

static bool may_run(const struct xs_view *v, const struct xs_entity *e)
{
    return e->pe.run || v->stalled;
}

/* Suspends first, since that takes mere stores. Then resumes, which may have to wake threads. Then
 * closes idle queues of suspended entities. */
static void apply(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool wait;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->turned = e->applied != may_run(v, e);
        if (!e->turned || !e->applied)
            continue;
        e->applied = false;
        xs_entity_unwatch(e);
        xs_entity_drain(e, now_ns);
        xs_entity_apply(e, now_ns);
    }
    wait = xs_view_drains(s, v, now_ns) && !v->stalled;
    while (!xs_list_empty(&v->pending)) { /* became ready while their word was another */
        struct xs_sched_queue *q = XS_CONTAINER_OF(v->pending.next, struct xs_sched_queue, pending_link);
        struct xs_entity *e = q->entity;

        xs_list_remove(&q->pending_link);
        if (!e->turned || wait) /* else the entity's turn does it, below */
            xs_queue_permit(q, e->applied && !q->barred, now_ns);
    }
    xs_view_stand(s, v, wait, now_ns);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!e->turned || !may_run(v, e) || wait)
            continue;
        e->applied = true;
        xs_entity_begins(e, now_ns);
        xs_entity_apply(e, now_ns);
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->turned && !e->applied)
            xs_entity_close_idle(e, now_ns);
        e->turned = false;
    }
}

static void set_watches(struct xs_view *v, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        /* an entity that loses and binds its gang elsewhere: only while it has work here */
        if (v->contended && ((e->pe.run && !e->beside.runs) || e->loses) && e->nready > 0) {
            bool fresh = e->nwatched == 0;

            xs_entity_watch(e, now_ns);
            if (fresh && e->nready == 0)
                e->pe.ready = false; /* it became idle some time ago, maybe while suspended: no linger */
        } else {
            xs_entity_unwatch(e);
        }
    }
}

static void resettle(struct xs_view *v, uint64_t now_ns)
{
    v->resettle = false;
    v->dirty = true;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        XS_LIST_FOR_SAFE(q, &e->ready, struct xs_sched_queue, link)
            xs_queue_settle(q, now_ns);
        XS_LIST_FOR_SAFE(q, &e->idle, struct xs_sched_queue, link)
            xs_queue_settle(q, now_ns);
    }
}

void xs_view_decide(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    if (v->resettle)
        resettle(v, now_ns);
    xs_view_charge(s, v, now_ns);
    if (XS_UNLIKELY(v->some_put_off))
        xs_view_take_surplus(v, now_ns);
    if (XS_UNLIKELY(v->nstakes > 1))
        xs_view_charge_stakes(v, now_ns);
    for (unsigned round = 0; round < XS_ROUNDS && v->dirty; round++) {
        bool was = v->contended;

        /* A policy that reads service needs true facts before it charges any entity. For others it is
         * enough to look when a decision would suspend something: programs that share a device in
         * peace need not ring at each submit. */
        if (xs_sched_uses_service(s) && several_ready(v))
            check_unwatched(v, !was, now_ns);
        ask_policy(s, v, now_ns);
        if (v->contended && !was && !xs_sched_uses_service(s)) {
            check_unwatched(v, false, now_ns);
            if (v->dirty)
                ask_policy(s, v, now_ns);
        }
        judge_stall(s, v, now_ns);
        apply(s, v, now_ns);
        if (XS_UNLIKELY(v->some_kept || v->some_limited))
            xs_collective_limit(v, now_ns);
        tell_bound(s, v);
        XS_PROBE2(decision, v->n, v->contended);
        set_watches(v, now_ns); /* may find that something ended meanwhile: dirty again */
    }
    xs_view_note_owners(s, v, now_ns);
    if (XS_UNLIKELY(v->nstakes > 1))
        xs_view_note_stakes(s, v, now_ns);
    xs_view_plan_look(v, now_ns);
}

/* Nothing waits, but the scheduler suspends some idle entities for others that run, which nothing watches. A
 * look now and then finds their end, so that no word stays closed for nothing. */
static void plan_verify(struct xs_view *v, uint64_t now_ns)
{
    uint64_t *at_ns = &v->at_ns[XS_TIMER_VERIFY];
    bool held = false, pages = false;

    if (v->lent && !v->contended) { /* something runs only because others wait for it */
        if (*at_ns <= now_ns || *at_ns > now_ns + XS_LENT_LOOK_NS)
            *at_ns = now_ns + XS_LENT_LOOK_NS;
        return;
    }
    if (*at_ns != UINT64_MAX && *at_ns > now_ns && !v->contended)
        return;
    *at_ns = UINT64_MAX;
    if (v->contended)
        return;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        held = held || !e->applied;
        if (e->applied && e->nready > 0)
            pages = pages || XS_CONTAINER_OF(e->ready.next, struct xs_sched_queue, link)->client;
    }
    if (held && pages)
        *at_ns = now_ns + XS_VERIFY_NS;
}

static uint64_t next_timer(const struct xs_view *v)
{
    uint64_t next = xs_view_timer(v);
    size_t n = v->contended ? XS_TIMERS : XS_TIMER_CONTENDED;

    for (size_t t = 0; t < n; t++)
        next = XS_MIN(next, v->at_ns[t]);
    return next;
}

static uint64_t run_view(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    if (v->n == 0) {
        v->contended = false; /* the host's; an empty device is gone */
        return UINT64_MAX;
    }
    v->dirty = v->dirty || v->recheck;
    v->recheck = false;
    if (v->progressed) {
        v->progressed = false;
        v->progress_ns = now_ns;
    }
    if (now_ns >= xs_view_timer(v)) { /* the policy's timer: its facts should be true then */
        for (size_t i = 0; i < v->n; i++) {
            struct xs_entity *e = xs_entity_of(v->entities[i]);

            if (e->nready && e->applied)
                xs_entity_check(e, now_ns);
            if (e->nready && (e->applied || e->draining) && xs_sched_uses_service(s))
                xs_entity_read_service(e, now_ns);
        }
        v->dirty = true;
    }
    if (v->contended) {
        uint64_t end;

        if (v->stalled)
            xs_view_running_progress(v, now_ns, &end);
        if (v->stalled ? v->progress_ns != 0 : now_ns >= v->at_ns[XS_TIMER_STALL])
            v->dirty = true;
        if (now_ns >= v->at_ns[XS_TIMER_LOOK])
            xs_view_look(s, v, now_ns);
    }
    for (size_t t = 0; t < XS_TIMER_DECIDES; t++)
        v->dirty |= now_ns >= v->at_ns[t];
    if (now_ns >= v->at_ns[XS_TIMER_DRAIN] && !xs_view_drains(s, v, now_ns))
        v->dirty = true;
    if (now_ns >= v->at_ns[XS_TIMER_VERIFY])
        check_unwatched(v, false, now_ns);
    if (v->dirty || v->resettle) {
        xs_view_decide(s, v, now_ns);
    } else {
        if (now_ns >= v->at_ns[XS_TIMER_BEGIN]) {
            xs_view_charge(s, v, now_ns);
            xs_view_note_owners(s, v, now_ns);
        }
        xs_view_plan_look(v, now_ns);
    }
    if (v->dirty)
        return now_ns;
    plan_verify(v, now_ns);
    if (v->stalled)
        v->at_ns[XS_TIMER_STALL] = now_ns + XS_LOOK_MAX_NS;
    return next_timer(v);
}

static bool rechecks(const struct xs_sched *s)
{
    for (size_t i = 0; i < s->devices_n; i++)
        if (s->devices[i] && s->devices[i]->view.recheck)
            return true;
    return false;
}

static uint64_t run_devices(struct xs_sched *s, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < s->devices_n; i++) {
        uint64_t at = s->devices[i] ? run_view(s, &s->devices[i]->view, now_ns) : UINT64_MAX;

        next = XS_MIN(next, at);
    }
    return next;
}

/* @return when there is more to read; UINT64_MAX: nothing */
static uint64_t rescan_one(struct xs_sched *s, uint64_t now_ns)
{
    struct xs_sched_process *p;

    if (now_ns < s->rescan_ns)
        return s->rescan_ns;
    s->rescan_ns = now_ns + XS_RESCAN_NS;
    p = XS_CONTAINER_OF(s->rescans.next, struct xs_sched_process, rescan_link);
    xs_list_remove(&p->rescan_link); /* in turn */
    xs_list_add(&s->rescans, &p->rescan_link);
    xs_process_rescan(p, now_ns);
    return xs_list_empty(&s->rescans) ? UINT64_MAX : s->rescan_ns;
}

uint64_t xs_sched_run(struct xs_sched *s, uint64_t now_ns)
{
    uint64_t next, more;

    now_ns = xs_sched_clock(s, now_ns);
    more = XS_LIKELY(xs_list_empty(&s->rescans)) ? UINT64_MAX : rescan_one(s, now_ns);
    if (xs_sched_is_host(s)) {
        next = run_view(s, &s->host, now_ns);
        return xs_sched_outside(s, XS_MIN(next, more));
    }
    next = run_devices(s, now_ns);
    for (unsigned round = 0; round < XS_ROUNDS && rechecks(s); round++) {
        /* Gangs may bind each other in a circle. Then each device decides by itself, until something
         * happens there. */
        s->unbound = round == XS_ROUNDS - 1;
        next = run_devices(s, now_ns);
    }
    for (size_t i = 0; s->unbound && i < s->devices_n; i++)
        if (s->devices[i])
            s->devices[i]->view.recheck = false;
    s->unbound = false;
    return xs_sched_outside(s, XS_MIN(next, more));
}

bool xs_sched_contended(const struct xs_sched *s)
{
    if (xs_sched_is_host(s))
        return s->host.contended;
    return s->contended_views > 0;
}
