/* SPDX-License-Identifier: Apache-2.0 */
/* One decision of one view: the stages in their order, the policy among them; watches; and when to look again. */
#include "sched/internal.h"
#include "sched/stage.h"

#include "base/static_probe.h"

/* Unwatched entities may have become idle unnoticed, and their queues may have received service. */
static void check_unwatched(struct xs_view *v, bool service, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->nready == 0 || e->nwatched > 0 || !e->before.run)
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
static void let_providers_run(struct xs_view *v)
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
        v->dirty |= xs_entity_gathers(e); /* that ends now */
        xs_entity_tell_inflight(s, e);
    }
}

/* Something more important waits for its first ready queue, whether it runs or not. If the device only writes
 * its completions, no ring shows the end of that wait. */
static bool inherited_rank(const struct xs_entity *e)
{
    const struct xs_sched_queue *q = XS_CONTAINER_OF(e->ready.next, struct xs_sched_queue, link);

    return e->intra && e->nready > 0 && q->client && q->inherit_priority > q->hints.priority;
}

uint64_t xs_view_ask(struct xs_sched *s, struct xs_view *v, const struct xs_policy_params *params, uint64_t now_ns)
{
    struct xs_policy_view pv = {
        .now_ns = xs_view_clock(v, now_ns), .params = params, .entities = v->entities, .n = v->n, .memo = v->memo,
        .next_ns = UINT64_MAX,
    };

    s->c.work += v->n;
    s->policy->decide(&pv);
    let_providers_run(v);
    return pv.next_ns == UINT64_MAX ? UINT64_MAX : XS_MAX(pv.next_ns, pv.now_ns + XS_TIMER_MIN_NS);
}

void xs_policy_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    enum xs_why waits = xs_sched_policy_flags(s) & XS_POLICY_BY_RANK ? XS_WHY_RANK : XS_WHY_TURN;

    v->some_intra = v->some_space = false;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        v->some_intra |= e->intra;
        v->some_space |= e->presence->group->space != 0 || e->on_lanes;
        xs_entity_update_hints(e, now_ns);
        e->pe.running = e->before.run;
        e->now.ready = e->pe.ready;
        e->pe.run = false;
        e->pe.why = NULL;
    }
    s->c.decisions++;
    v->next_ns = xs_view_ask(s, v, &s->config.params, now_ns);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        uint8_t bound = e->now.why; /* by a stage before this one */
        bool run = e->pe.run && bound == XS_WHY_FREE;

        e->now = (struct xs_verdict){
            .run = run, .chosen = run, .ready = e->now.ready,
            .why = (uint8_t)(run ? XS_WHY_FREE : bound ? bound : e->pe.why ? XS_WHY_OTHER : waits)};
    }
}

static void set_watches(struct xs_view *v, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        /* an entity that loses and binds its gang elsewhere: only while it has work here */
        if (v->contended && ((e->now.run && !e->now.lane) || e->gang.loses) && e->nready > 0) {
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

/* Calls one hook of each stage that has anything to do. @param which  constant, so that each use has its calls alone */
enum hook { FACTS, JUDGE, APPLIED };
static inline __attribute__((always_inline)) void each_stage(enum hook which, struct xs_sched *s, struct xs_view *v,
                                                             uint64_t now_ns)
{
#define XS_STAGE(name, timer, active, facts, judge, applied) \
    if (active)                                       \
        (which == FACTS ? facts : which == JUDGE ? judge : applied)(s, v, now_ns);
#include "sched/stages.def"
#undef XS_STAGE
}

/* Each stage says what it has to say. */
static void judge_all(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->dirty = false;
    for (size_t t = 0; t < XS_TIMERS_OF_JUDGES; t++)
        v->at_ns[t] = UINT64_MAX;
    each_stage(JUDGE, s, v, now_ns);
}

void xs_view_decide(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    if (v->resettle)
        resettle(v, now_ns);
    for (unsigned round = 0; round < XS_ROUNDS && v->dirty; round++) {
        bool was = v->contended;

        each_stage(FACTS, s, v, now_ns);
        /* A policy that reads service needs true facts before it charges any entity. For others it is
         * enough to look when a decision would suspend something: programs that share a device in
         * peace need not ring at each submit. */
        if (xs_sched_uses_service(s) && several_ready(v))
            check_unwatched(v, !was, now_ns);
        judge_all(s, v, now_ns);
        if (v->contended && !was && !xs_sched_uses_service(s)) {
            check_unwatched(v, false, now_ns);
            if (v->dirty)
                judge_all(s, v, now_ns);
        }
        tell_standing(s, v);
        xs_view_apply(s, v, now_ns);
        each_stage(APPLIED, s, v, now_ns);
        XS_PROBE2(decision, v->n, v->contended);
        set_watches(v, now_ns); /* may find that something ended meanwhile: dirty again */
    }
    xs_view_plan_look(v, now_ns);
}

static bool lends(const struct xs_view *v)
{
    for (size_t i = 0; v->some_intra && i < v->n; i++)
        if (inherited_rank(xs_entity_of(v->entities[i])))
            return true;
    return false;
}

/* Nothing waits, but the scheduler suspends some idle entities for others that run, which nothing watches. A
 * look now and then finds their end, so that no word stays closed for nothing. */
static void plan_verify(struct xs_view *v, uint64_t now_ns)
{
    uint64_t *at_ns = &v->at_ns[XS_TIMER_VERIFY];
    bool held = false, pages = false;

    if (!v->contended && lends(v)) { /* something runs only because others wait for it */
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

        held = held || !e->before.run;
        if (e->before.run && e->nready > 0)
            pages = pages || XS_CONTAINER_OF(e->ready.next, struct xs_sched_queue, link)->client;
    }
    if (held && pages)
        *at_ns = now_ns + XS_VERIFY_NS;
}

static uint64_t next_timer(struct xs_view *v)
{
    size_t n = v->contended ? XS_TIMERS : XS_TIMER_CONTENDED;

    v->soonest_ns = UINT64_MAX;
    for (size_t t = 0; t < n; t++)
        v->soonest_ns = XS_MIN(v->soonest_ns, v->at_ns[t]);
    return XS_MIN(v->soonest_ns, xs_view_timer(v));
}

/* Some timer is due. */
static void fire(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
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

            if (e->nready && e->before.run)
                xs_entity_check(e, now_ns);
            if (e->nready && (e->before.run || e->turn.draining) && xs_sched_uses_service(s))
                xs_entity_read_service(e, now_ns);
        }
        v->dirty = true;
    }
    if (now_ns >= v->soonest_ns || v->stalled)
        fire(s, v, now_ns);
    if (v->dirty || v->resettle) {
        xs_view_decide(s, v, now_ns);
    } else {
        if (now_ns >= v->at_ns[XS_TIMER_BEGIN]) {
            xs_turns_charge(s, v, now_ns);
            xs_turns_note(s, v, now_ns);
        }
        xs_view_plan_look(v, now_ns);
    }
    if (v->dirty)
        return v->soonest_ns = now_ns;
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
