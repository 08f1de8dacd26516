/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time inside an urgent program (decision 0042). Between two steps others compute at once. Where the processor launches
 * more slowly than the device computes, the commands of a step gather behind the program's own gate, and others compute
 * on. The program opens the gate so early that the work is done when it waits for it, as steps.c has learnt. A moment before
 * that the others leave the device, and they stay away until that wait ends.
 *
 * A stream takes some hundred commands behind a gate. Where a step has more, the program opens the gate when the stream is
 * full. The device does that work, and then further commands gather.
 *
 * Where a helper thread waits and the program launches on, the gate opens before the graph of a step (step_graph.h), and the
 * step ends as the device has done all that came up to its end. The wait, which begins at some time, does not matter. */
#include "sched/internal.h"
#include "sched/stage.h"

#define QUEUES_MOST    16u                         /* of an entity whose commands gather */
#define HOLDS_LEAST_NS (2 * XS_NS_PER_MS)
#define HOLDS_TRUSTED_NS (8 * XS_NS_PER_MS)
#define HOLDS_MOST_NS  (100 * XS_NS_PER_MS)
#define OTHERS_NS      XS_NS_PER_S                 /* follows its steps for so long after others had work */
#define LOOK_NS        (50 * XS_NS_PER_US)         /* looks at a program, as long as it matters how far it is */
#define LIGHT_NS       (30 * XS_NS_PER_US)         /* what is left of so little work is no reason to stay */
#define PASSED_MOST    8u                          /* waits for earlier commands alone, before those count as ends of steps */

static const struct xs_list *list_of(const struct xs_entity *e, int i)
{
    return i ? &e->idle : &e->ready;
}

#define EACH_QUEUE(q, e) \
    for (int list_ = 0; list_ < 2; list_++) \
        XS_LIST_FOR(q, list_of(e, list_), struct xs_sched_queue, link)

/* The program opened its word. */
static bool has_opened(const struct xs_sched_queue *q)
{
    return !q->permitted && q->server && atomic_load(&q->server->permitted) == XS_PERMIT_OPEN;
}

static uint64_t waited_to(const struct xs_sched_queue *q)
{
    return atomic_load_explicit(&q->client->waited_to, memory_order_relaxed); /* stored before waited_ns, which was read */
}

void xs_gather_read(struct xs_sched_queue *q, uint64_t entered, bool moved)
{
    struct xs_gather *g = &q->entity->gather;
    uint64_t waited_ns = atomic_load(&q->client->waited_ns); /* seq_cst: then what the wait was for */
    bool ended = waited_ns > q->gather_waited_ns;

    q->awaited = atomic_load_explicit(&q->client->inherit, memory_order_relaxed);
    g->entered += entered - q->entered;
    if (ended) {
        uint64_t word = waited_to(q);

        g->waited_ns += waited_ns - q->gather_waited_ns;
        q->gather_waited_ns = waited_ns;
        g->last = word & XS_WAITED_LAST;
        g->helper = word & XS_WAITED_HELPER;
    }
    if (ended || (xs_entity_gathers(q->entity) && (moved || has_opened(q))))
        q->entity->view->dirty = true;
    if (g->steps && !xs_entity_gathers(q->entity) && has_opened(q))
        xs_queue_close_again(q);  /* it opened just as its commands ceased to gather */
}

/* Whether its waits are of use to the scheduler. */
static bool may_gather(const struct xs_sched *s, const struct xs_view *v, const struct xs_entity *e)
{
    return s->config.gather && xs_sched_policy_flags(s) & XS_POLICY_BY_RANK && !xs_sched_is_host(s) && e->top && !e->intra &&
           !e->presence->group->space && !s->ranks && !v->stalled && e->queues <= QUEUES_MOST &&
           !e->presence->group->ended;
}

static bool is_gated(const struct xs_entity *e)
{
    bool any = false;

    EACH_QUEUE(q, e) {
        if (!q->client || !q->gated)
            return false;
        any = true;
    }
    return any;
}

/* Others have work that could run meanwhile and leaves the device in time: what they have in flight stops at gates. */
static bool others_have_work(const struct xs_view *v, const struct xs_entity *e)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *o = xs_entity_of(v->entities[i]);

        if (o != e && o->nready > 0 && o->pe.hints.priority < e->rest.priority && is_gated(o))
            return true;
    }
    return false;
}

static void tell(struct xs_entity *e, uint32_t to, uint32_t ring_at)
{
    EACH_QUEUE(q, e)
        xs_queue_tell_gathers(q, to ? q->entered + to : 0, ring_at ? q->entered + ring_at : 0);
}

/* For tests: without anything learnt, and another number each time. */
static struct xs_step_plan any_plan(const struct xs_gather *g)
{
    return (struct xs_step_plan){.to = 1 + (uint32_t)(g->entered % 13), .lead = (uint32_t)(g->entered % 5),
                                 .off_ns = UINT64_MAX, .opens_ns = XS_NS_PER_MS};
}

static void begin_step(struct xs_entity *e, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;

    g->step_entered = g->ended = XS_MAX(g->ended, g->step_entered);
    g->seen_entered = g->helper ? g->step_entered : g->entered;
    g->step_waited_ns = g->seen_waited_ns = g->waited_ns;
    g->step_ns = now_ns;
    g->first_ns = g->entered > g->step_entered ? now_ns : 0;
    g->until_ns = g->lead_ns = 0;
    g->off_ns = UINT64_MAX;
    g->gathered = g->drains = g->expired = g->spoiled = g->observed = false;
    g->plan = (struct xs_step_plan){.off_ns = UINT64_MAX};
    if (g->steps)
        g->plan = e->sched->config.gather == XS_SCHED_GATHER_ALWAYS ? any_plan(g) : xs_steps_plan(g->steps);
}

static void release(struct xs_entity *e)
{
    if (!xs_entity_gathers(e))
        return;
    e->gather.phase = XS_GATHER_OPEN;
    tell(e, 0, 0);
}

/* They gather no more, and whether it runs is decided anew. */
static void stop(struct xs_entity *e)
{
    release(e);
    EACH_QUEUE(q, e)
        if (has_opened(q))
            xs_queue_close_again(q);
}

/* So many commands of this step came since it began. */
static uint64_t came(const struct xs_entity *e)
{
    return e->gather.entered - e->gather.seen_entered;
}

/* The one that has graphs; NULL: none has, or several have. */
static struct xs_sched_queue *graph_queue(const struct xs_entity *e)
{
    struct xs_sched_queue *with = NULL;
    unsigned n = 0;

    EACH_QUEUE(q, e)
        if (q->client && atomic_load_explicit(&q->client->graphs, memory_order_relaxed)) {
            with = q;
            n++;
        }
    return n == 1 ? with : NULL;
}

static bool has_graph(const struct xs_gather *g)
{
    return g->helped && xs_step_graph_is_known(&g->graph);
}

/* That of the step under way. */
static bool graph_came(const struct xs_gather *g)
{
    return has_graph(g) && g->graph.at > g->graph_before;
}

/* So many further commands gather before the gate opens. */
static uint32_t left(const struct xs_entity *e)
{
    const struct xs_gather *g = &e->gather;
    uint64_t come = came(e), to = g->plan.to;

    if (has_graph(g)) {
        come = g->graph_entered;
        to = g->plan.to ? xs_step_graph_next(&g->graph) - 1 : 0;
    }
    return to > come ? (uint32_t)(to - come) : 0;
}

static void look_graph(struct xs_entity *e, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;
    struct xs_sched_queue *q = graph_queue(e);

    if (q != g->graph_queue) {
        g->graph_queue = q;
        g->graph = (struct xs_step_graph){0};
    }
    if (!q)
        return;
    xs_step_graph_look(&g->graph, atomic_load_explicit(&q->client->graphs, memory_order_relaxed), now_ns);
    g->graph_entered = q->entered;
}

/* They gather for so long at most: some times as long as the last of them is expected to take. A processor that does something
 * else for some milliseconds is no reason to stop for long. */
static uint64_t patience_ns(const struct xs_entity *e)
{
    const struct xs_step_plan *p = &e->gather.plan;
    uint64_t opens_ns = p->to ? p->opens_ns * left(e) / p->to : 0, ns;

    ns = p->trusted ? XS_MAX(4 * opens_ns, HOLDS_TRUSTED_NS) : XS_MAX(2 * opens_ns, HOLDS_LEAST_NS);
    return XS_MIN(ns, HOLDS_MOST_NS);
}

static void hold(struct xs_entity *e)
{
    struct xs_gather *g = &e->gather;

    g->phase = XS_GATHER_HOLDS;
    g->until_ns = 0;
    g->gathered = true;
    g->drains = false;
    g->closes = true;
    g->awaited = g->others_left = false;
    tell(e, left(e), g->plan.lead && left(e) > g->plan.lead ? left(e) - g->plan.lead : 0);
}

static uint32_t waiters(const struct xs_entity *e)
{
    uint32_t n = 0;

    EACH_QUEUE(q, e)
        n += q->awaited;
    return n;
}

static bool may_hold(const struct xs_entity *e)
{
    return e->before.run && !e->view->granted && is_gated(e);
}

static uint32_t least(const struct xs_entity *e)
{
    return e->sched->config.gather == XS_SCHED_GATHER_ALWAYS ? 1 : XS_MAX(xs_steps_least(e->gather.steps), 1u);
}

/* Inside a step that has begun. */
static bool may_hold_more(const struct xs_entity *e)
{
    return may_hold(e) && left(e) >= least(e) && waiters(e) == 0;
}

/* Its words are open: it runs from now on. */
static void opened(struct xs_entity *e, uint64_t now_ns)
{
    e->gather.lead_ns = e->gather.phase == XS_GATHER_LEAVE ? now_ns - e->gather.left_ns : 0;
    release(e);
    e->before.run = true;
    EACH_QUEUE(q, e) {
        q->gather_opened = q->entered;
        xs_queue_permit(q, !q->barred, now_ns);
    }
    e->gather.drains = !e->gather.expired && !has_graph(&e->gather) && may_hold_more(e);
}

static bool any_opened(const struct xs_entity *e)
{
    EACH_QUEUE(q, e)
        if (has_opened(q))
            return true;
    return false;
}

/* Its gathered commands are complete, so that further ones may gather. */
static void look_drained(struct xs_entity *e, uint64_t now_ns)
{
    bool done = true;

    EACH_QUEUE(q, e) {
        xs_queue_read(q, now_ns);
        done = done && q->completed >= q->gather_opened;
    }
    if (!may_hold_more(e))
        e->gather.drains = false;
    else if (done)
        hold(e);
}

static void begin_following(struct xs_sched *s, struct xs_gather *g)
{
    g->steps = xs_pages_alloc(s->pages, sizeof(*g->steps));
    if (g->steps)
        g->steps->helped = s->config.gather == XS_SCHED_GATHER_HELPED;
}

static bool follow(struct xs_sched *s, struct xs_entity *e, bool on, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;

    if (on && !g->steps)
        begin_following(s, g);
    on = on && g->steps;
    if (on || g->follows)
        EACH_QUEUE(q, e)          /* also to those that came since */
            xs_queue_tell_waits(q, on);
    if (on == g->follows)
        return on;
    g->follows = on;
    stop(e);
    g->phase = XS_GATHER_OFF;
    if (g->steps)
        xs_steps_broke(g->steps);
    g->ended = g->entered;
    g->before_ns = 0;
    begin_step(e, now_ns);
    return on;
}

/* A wait is over: what had entered as it began, in all queues, makes the step. */
static void read_end(struct xs_entity *e, uint64_t now_ns)
{
    uint64_t since = 0;

    EACH_QUEUE(q, e) {
        xs_queue_read(q, now_ns);
        if (q->client)
            since += q->entered - XS_MIN(XS_WAITED_NUMBER(waited_to(q)), q->entered);
    }
    e->gather.ended = XS_MAX(e->gather.ended, e->gather.entered - XS_MIN(since, e->gather.entered));
    if (e->gather.helper && e->gather.graph_queue)
        xs_step_graph_waited(&e->gather.graph, XS_WAITED_NUMBER(waited_to(e->gather.graph_queue)));
}

/* The device has done what came of this step, and the rest of it is a wait. */
static bool ends_early(const struct xs_entity *e)
{
    const struct xs_gather *g = &e->gather;
    uint64_t last = xs_step_graph_last(&g->graph);

    if (g->phase != XS_GATHER_OPEN || !graph_came(g) || !last || g->graph_entered < last ||
        g->graph_queue->completed < g->graph.at)
        return false;
    EACH_QUEUE(q, e)
        if (q->completed < q->entered && q->est_left_ns > LIGHT_NS)
            return false;
    return true;
}

/* @param early  before the wait for it ends */
static void end_step(struct xs_sched *s, struct xs_entity *e, bool early, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;
    uint64_t first_ns = g->first_ns ? g->first_ns : now_ns;
    struct xs_step step;
    bool is_late;

    g->seen_waited_ns = g->waited_ns;
    read_end(e, now_ns);
    if (early)
        g->ended = g->entered;
    else if (g->early)            /* this wait was for the step before */
        g->ended = g->step_entered;
    g->early = early ? PASSED_MOST : g->early && !g->helper ? g->early - 1 : 0;
    step = (struct xs_step){.commands = (uint32_t)XS_MIN(g->ended - g->step_entered, (uint64_t)UINT32_MAX / 2),
                            .gap_ns = first_ns - XS_MIN(g->step_ns, first_ns), .ns = now_ns - first_ns,
                            .waited_ns = g->waited_ns - g->step_waited_ns, .gathered = g->gathered,
                            .period_ns = g->before_ns ? first_ns - XS_MIN(g->before_ns, first_ns) : 0,
                            .lead_ns = g->lead_ns, .alone = g->phase == XS_GATHER_ALONE, .helper = early || g->helper,
                            .graph = has_graph(g), .overdue = g->expired, .spoiled = g->spoiled};
    if (step.graph) {             /* the wait began now sooner and now later */
        step.commands = g->graph.length;
        step.period_ns = graph_came(g) ? g->graph.before_ns : 0;
    }
    if (g->ended <= g->step_entered) { /* a wait for what was complete */
        g->step_waited_ns = g->waited_ns;
        return;
    }
    /* A program that looks after earlier work goes on with this step, if it waits for its last commands now and then. */
    if (!early)
        g->passed = g->last ? 0 : XS_MIN(g->passed + 1, PASSED_MOST);
    if (g->passed && g->passed < PASSED_MOST && !early)
        return;
    g->helped = step.helper;
    xs_step_graph_ended(&g->graph);
    g->graph_before = g->graph.at;
    xs_steps_ended(g->steps, &step);
    release(e);
    g->phase = XS_GATHER_OFF;
    g->before_ns = first_ns;
    begin_step(e, now_ns);
    if (!g->asked && s->ops.on_gather && (g->plan.to || xs_steps_any(g->steps))) {
        g->asked = true;
        EACH_QUEUE(q, e)
            s->ops.on_gather(s->ctx, q->process);
    }
    if (g->plan.alone_ns) {
        g->phase = XS_GATHER_ALONE;
        g->back_ns = now_ns + g->plan.alone_ns;
    }
    is_late = g->plan.to && has_graph(g) && xs_step_graph_next(&g->graph) <= g->graph_entered;
    g->observed = g->helped && (g->plan.alone_ns || is_late);
    if (!left(e) || !may_hold(e))
        return;
    hold(e);
    if (g->plan.off_ns != UINT64_MAX)
        g->off_ns = now_ns + g->plan.off_ns;
}

/* The others leave the device a moment before the gate opens, as it is expected. */
static void look_leave(struct xs_entity *e, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;

    if (g->phase == XS_GATHER_HOLDS && !g->others_left &&
        (now_ns >= g->off_ns || (g->plan.lead && left(e) <= g->plan.lead))) {
        g->phase = XS_GATHER_LEAVE;
        g->others_left = true;
        g->left_ns = now_ns;
        g->off_ns = UINT64_MAX;
        g->back_ns = now_ns + 4 * XS_STEP_LEAD_NS;
    } else if (xs_entity_keeps_others_off(e) && now_ns >= g->back_ns) {
        if (e->nready > 0)
            opened(e, now_ns);    /* the others are off already */
        else
            g->phase = g->phase == XS_GATHER_LEAVE ? XS_GATHER_HOLDS : XS_GATHER_OFF;
    }
}

/* It matters how far it is, and it does not ring. */
static bool is_watched(const struct xs_gather *g)
{
    return g->observed || (has_graph(g) && (g->phase == XS_GATHER_OPEN || g->phase == XS_GATHER_LEAVE));
}

static void follow_entity(struct xs_sched *s, struct xs_view *v, struct xs_entity *e, uint64_t now_ns)
{
    struct xs_gather *g = &e->gather;

    if (others_have_work(v, e))
        g->others_ns = now_ns;
    if (!follow(s, e, g->others_ns && now_ns < g->others_ns + OTHERS_NS && may_gather(s, v, e), now_ns))
        return;
    if (v->granted) {
        g->drains = false;
        stop(e);
    }
    if (is_watched(g))
        EACH_QUEUE(q, e)
            xs_queue_read(q, now_ns);
    if (g->steps->helped)
        look_graph(e, now_ns);
    g->spoiled |= !e->before.run && !xs_entity_gathers(e) && e->nready > 0;
    g->expired |= xs_entity_gathers(e) && g->until_ns && now_ns >= g->until_ns;
    if (xs_entity_gathers(e) && (any_opened(e) || g->awaited || g->expired || graph_came(g)))
        opened(e, now_ns);
    if (g->waited_ns != g->seen_waited_ns)
        end_step(s, e, false, now_ns);
    if (ends_early(e))
        end_step(s, e, true, now_ns);
    if (g->drains && !g->expired)
        look_drained(e, now_ns);
    g->drains &= !g->expired;
    if (!g->first_ns && g->entered > g->step_entered)
        g->first_ns = now_ns;
    if (!g->until_ns && g->first_ns && xs_entity_gathers(e))
        g->until_ns = now_ns + patience_ns(e);
    look_leave(e, now_ns);
}

void xs_gather_facts(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->some_gather = false;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        follow_entity(s, v, e, now_ns);
        v->some_gather |= e->gather.follows;
    }
}

enum xs_sched_gather_state xs_gather_state(const struct xs_entity *e)
{
    return e->gather.follows ? xs_steps_state(e->gather.steps) : XS_SCHED_GATHER_NO;
}

void xs_gather_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    (void)s;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);
        const struct xs_gather *g = &e->gather;

        if (xs_entity_gathers(e) && g->until_ns)
            xs_view_wake_at(v, XS_TIMER_gather, g->until_ns);
        if (g->phase == XS_GATHER_HOLDS)
            xs_view_wake_at(v, XS_TIMER_gather, g->off_ns);
        if (xs_entity_keeps_others_off(e))
            xs_view_wake_at(v, XS_TIMER_gather, g->back_ns);
        if (g->drains || is_watched(g))
            xs_view_wake_at(v, XS_TIMER_gather, now_ns + LOOK_NS);
    }
}

/* A user has a grant, in which nothing gathers (user_share.c). A thread that began to wait before the word closed did not
 * open it: seq_cst pairs with wait_begin (xqueue/wait.c), which counts itself and then reads the word. */
void xs_gather_look(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    (void)s;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        v->dirty |= v->granted && xs_entity_gathers(e);
        if (!e->gather.closes)
            continue;
        e->gather.closes = false;
        EACH_QUEUE(q, e) {
            uint64_t entered = q->entered;

            xs_queue_read(q, now_ns);
            e->gather.awaited |= q->awaited && q->entered != entered;
        }
        v->dirty |= e->gather.awaited;
    }
}
