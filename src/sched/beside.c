/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that run beside a more important one, confined to a part of the device's multiprocessors: of
 * their own process, or of another one in the same MPS server.
 *
 * A policy suspends a queue for as long as a more important one is active. That is right where the
 * urgent program waits for the device. Where the program launches more slowly than the device
 * computes, the device idles in between. Then other kernels there cost the urgent queue nothing, as
 * long as they leave multiprocessors free for its next kernel.
 *
 * One number of the urgent queue shows which of the two it is: the share of its active time in which
 * its threads waited for the device. Above HIGH the others lose a step (wide lane, narrow lane,
 * suspended), below LOW they gain one.
 *
 * The same number tells what the others cost. The threads need as long for their launches whether
 * others run or not, and only their waits grow. So the time that a piece of work takes is in inverse
 * proportion to the part without waits: where this was 0.9 by itself and is 0.75 beside others, work
 * takes 1.2 times as long. If it takes more than SLOWER, the others lose a step, and the next try comes
 * later each time. To know the part by itself, the scheduler suspends the others for a moment at first
 * and every AGAIN_NS.
 *
 * A program may launch for a while and then wait for a while, as a language model does with its prompt
 * and its tokens. A step that it allows in the first phase hurts it in the second one until the number
 * has followed. So a try takes a stretch below LOW, and a longer one after each try that ended above HIGH:
 * then the first phase is too short for it. */
#include "sched/internal.h"
#include "sched/stage.h"

#define LOOK_NS      (5 * XS_NS_PER_MS)
#define AVERAGE_NS   (20 * XS_NS_PER_MS)    /* the share follows a change within about this time */
#define GAP_NS       (1 * XS_NS_PER_MS)     /* a pause of less than that between two launches counts as well */
#define SETTLE_NS    (10 * XS_NS_PER_MS)    /* judges a step after this time at the earliest */
#define TRY_NS       (20 * XS_NS_PER_MS)    /* from one step to a wider one, the first time */
#define TRY_SLOWED_NS (2 * XS_NS_PER_S)     /* ... after a step that slowed the urgent one */
#define TRY_MOST_NS  (8 * XS_NS_PER_S)
#define LOW_MOST_NS  (1 * XS_NS_PER_S)      /* of the stretch below LOW that a try takes */
#define STABLE_NS    (2 * XS_NS_PER_S)      /* a step that lasts so long was no mistake */
#define CHANGE_NS    (1 * XS_NS_PER_MS)
#define ONE          1024                   /* shares */
#define LOW          350
#define HIGH         600
#define SLOWER       1106                   /* 1.08 */
#define ENOUGH_NS    (100 * XS_NS_PER_MS)   /* so much active time says how large the part without waits is */
#define AGAIN_NS     (10 * XS_NS_PER_S)     /* of its active time with others beside it */

static bool is_active(const struct xs_entity *e)
{
    return e->now.run && e->pe.ready;
}

/* Of an entity that is one queue (struct xs_sched_process_info.intra). */
static struct xs_sched_queue *queue_of(const struct xs_entity *e)
{
    const struct xs_list *in = xs_list_empty(&e->ready) ? &e->idle : &e->ready;

    return xs_list_empty(in) ? NULL : XS_CONTAINER_OF(in->next, struct xs_sched_queue, link);
}

static uint64_t space_of(const struct xs_entity *e)
{
    return e->presence->group->space;
}

/* Whether there is anything beside which it could run. */
static bool has_company(const struct xs_entity *e)
{
    return e->intra || space_of(e);
}

/* Kernels of both can run at one time: they are of one context, or of two in one MPS server. */
static bool are_together(const struct xs_entity *a, const struct xs_entity *b)
{
    if (a->intra && b->intra && a->pe.process == b->pe.process)
        return true;
    return space_of(a) && space_of(a) == space_of(b) && a->presence->group->user == b->presence->group->user;
}

/* What threads waited since the last look. */
struct waits {
    uint64_t ended_ns;  /* waits that have ended, with what they took before that look */
    uint64_t so_far_ns; /* the part since that look, with waits that go on; a long one shows at once */
};

/* @param from_ns  the last look at its entity: a queue without that look has nothing to compare with
 * @param dt_ns  since then */
static void add_waits(struct waits *w, struct xs_sched_queue *q, uint64_t from_ns, uint64_t dt_ns)
{
    const struct xs_client_cell *c = q->client;
    uint64_t total, new = 0, before;

    if (!c)
        return;
    total = atomic_load_explicit(&c->waited_ns, memory_order_relaxed); /* a value by itself */
    if (!dt_ns || q->waited_at_ns != from_ns) {
        q->waited_ahead_ns = 0;
    } else {
        new = total > q->waited_ns ? total - q->waited_ns : 0;
        w->ended_ns += new;
        before = XS_MIN(new, q->waited_ahead_ns);
        q->waited_ahead_ns -= before;
        new -= before;
        if (atomic_load(&c->inherit) && new < dt_ns) { /* a thread waits now, and will report it at the
                                                          end of the wait */
            q->waited_ahead_ns += dt_ns - new;
            new = dt_ns;
        }
    }
    q->waited_ns = total;
    q->waited_at_ns = from_ns + dt_ns;
    w->so_far_ns += XS_MIN(new, dt_ns);
}

/* The waits of its threads: those that wait for a queue that is ready, or was a moment ago. One thread
 * may wait for one queue after the other. If two wait at one moment, the time counts twice, which errs
 * on the safe side. */
static struct waits threads_waited(struct xs_entity *e, uint64_t dt_ns)
{
    uint64_t from_ns = e->beside.seen_ns;
    struct waits w = {0};
    unsigned n = 0;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        add_waits(&w, q, from_ns, dt_ns);
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (n++ >= XS_IDLE_CLOSES)
            break;
        add_waits(&w, q, from_ns, dt_ns);
    }
    w.so_far_ns = XS_MIN(w.so_far_ns, dt_ns);
    return w;
}

/* The sums cover 0.1 s and more, so a wait that began before them, or has not ended, changes them little. */
static void add_time(struct xs_beside_time *t, uint64_t active_ns, uint64_t waited_ns)
{
    if (t->active_ns > 3 * ENOUGH_NS) { /* the last of it counts most */
        t->active_ns /= 2;
        t->waited_ns /= 2;
    }
    t->active_ns += active_ns;
    t->waited_ns += waited_ns;
}

static uint64_t launched_us(const struct xs_beside_time *t)
{
    return (t->active_ns - XS_MIN(t->waited_ns, t->active_ns)) / XS_NS_PER_US;
}

/* Whether its work takes more than SLOWER times as long as by itself. */
static bool is_slowed(const struct xs_beside *b)
{
    const struct xs_beside_time *alone = &b->alone, *here = &b->here;

    if (alone->active_ns < ENOUGH_NS || here->active_ns < ENOUGH_NS)
        return false;
    /* launched(alone) / active(alone) > SLOWER * launched(here) / active(here) */
    return launched_us(alone) * (here->active_ns / XS_NS_PER_US) * ONE >
           launched_us(here) * (alone->active_ns / XS_NS_PER_US) * SLOWER;
}

static void go_to(struct xs_beside *b, enum xs_beside_step to, uint64_t now_ns)
{
    if (to == XS_BESIDE_SUSPENDED) {
        b->alone = (struct xs_beside_time){0};
        b->others_ns = b->low_ns = 0;
    }
    b->here = (struct xs_beside_time){0};
    b->step = to;
    b->back = XS_BESIDE_SUSPENDED;
    b->since_ns = now_ns;
}

static void judge_alone(struct xs_beside *b, uint64_t stood_ns, uint64_t now_ns)
{
    if (b->alone.active_ns < ENOUGH_NS || b->share >= LOW)
        return;
    if (b->back)
        go_to(b, b->back, now_ns);
    else if (stood_ns >= b->try_ns[XS_BESIDE_SUSPENDED] && b->low_ns >= b->low_wanted_ns)
        go_to(b, XS_BESIDE_NARROW, now_ns);
}

static void judge(struct xs_beside *b, uint64_t now_ns)
{
    uint64_t stood = now_ns - b->since_ns;
    enum xs_beside_step was = b->step;
    bool slowed;

    if (was == XS_BESIDE_SUSPENDED) {
        judge_alone(b, stood, now_ns);
        return;
    }
    if (stood >= STABLE_NS)
        b->try_ns[was - 1] = b->low_wanted_ns = TRY_NS;
    slowed = is_slowed(b);
    if (stood >= SETTLE_NS && (b->share > HIGH || slowed)) {
        b->try_ns[was - 1] = XS_MIN(XS_MAX(2 * b->try_ns[was - 1], slowed ? TRY_SLOWED_NS : 0), TRY_MOST_NS);
        if (!slowed && was == XS_BESIDE_NARROW)
            b->low_wanted_ns = XS_MIN(2 * b->low_wanted_ns, LOW_MOST_NS);
        go_to(b, was - 1, now_ns);
    } else if (b->others_ns >= AGAIN_NS) {
        go_to(b, XS_BESIDE_SUSPENDED, now_ns);
        b->back = was;
    } else if (b->share < LOW && was < XS_BESIDE_WIDE && stood >= b->try_ns[was]) {
        go_to(b, was + 1, now_ns);
    }
}

/* Adds the waits of its threads since the last look to what is known of it. @param until_ns  while it was active */
static void average(struct xs_entity *e, uint64_t until_ns)
{
    struct xs_beside *b = &e->beside;
    uint64_t dt = until_ns > b->seen_ns ? until_ns - b->seen_ns : 0;
    struct waits w;
    int64_t x, d = (int64_t)XS_MIN(dt, AVERAGE_NS);

    if (!b->seen_ns || dt < LOOK_NS / 5)    /* less than that says little, and decisions come often */
        return;
    w = threads_waited(e, dt);
    x = (int64_t)(w.so_far_ns * ONE / dt);
    b->share += (int32_t)((x - b->share) * d / (int64_t)AVERAGE_NS);
    if (b->share > HIGH)
        b->low_ns = 0;
    else if (b->share < LOW)
        b->low_ns += dt;
    if (b->seen_ns >= b->since_ns + LOOK_NS) /* what others had on the device before is over */
        add_time(b->step == XS_BESIDE_SUSPENDED ? &b->alone : &b->here, dt, w.ended_ns);
    b->others_ns += b->step == XS_BESIDE_SUSPENDED ? 0 : dt;
    b->seen_ns = until_ns;
}

/* Forgets an entity's looks: it is idle for longer than between two launches, or there is nothing to decide. */
static void forget(struct xs_entity *e, uint64_t now_ns)
{
    if (!is_active(e) && now_ns < e->dried_ns + GAP_NS)
        return;
    if (e->beside.seen_ns)
        average(e, is_active(e) ? now_ns : e->dried_ns);
    e->beside.seen_ns = 0;
}

/* The facts of an urgent entity. */
static void look(struct xs_entity *e, uint64_t now_ns)
{
    struct xs_beside *b = &e->beside;

    if (b->seen_ns && b->seen_ns < e->pe.ready_since_ns && e->pe.ready_since_ns >= e->dried_ns + GAP_NS) {
        average(e, e->dried_ns);            /* it was idle meanwhile, without a look */
        b->seen_ns = 0;
    }
    if (!b->try_ns[0]) {                    /* no facts yet: the device is its own */
        b->try_ns[XS_BESIDE_SUSPENDED] = b->try_ns[XS_BESIDE_NARROW] = b->low_wanted_ns = TRY_NS;
        b->since_ns = now_ns;
        b->share = ONE;
    }
    if (b->seen_ns) {
        average(e, now_ns);
    } else {                                /* it became active, or there was nothing to decide */
        b->seen_ns = now_ns;
        threads_waited(e, 0);
    }
    judge(b, now_ns);
}

/* The least step that all active entities allow to those that are together with *ret; none where two
 * of them are not. */
static enum xs_beside_step allowed(struct xs_view *v, struct xs_entity **ret, uint64_t now_ns)
{
    enum xs_beside_step least = XS_BESIDE_WIDE;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!is_active(e))
            continue;
        if (!has_company(e) || (*ret && !are_together(*ret, e)))
            return XS_BESIDE_SUSPENDED;
        *ret = e;
        look(e, now_ns);
        least = XS_MIN(least, e->beside.step);
    }
    return *ret ? least : XS_BESIDE_SUSPENDED;
}

static uint32_t lane_of(const struct xs_sched_queue *q, enum xs_beside_step step)
{
    return step == XS_BESIDE_WIDE ? XS_LANES_WIDE(q->lanes) : XS_LANES_NARROW(q->lanes);
}

/* Whether the policy suspends it, and each of its queues has lanes, or will. */
static bool could_run_beside(const struct xs_entity *e)
{
    if (!has_company(e) || e->nready == 0 || e->now.run || e->now.why == XS_WHY_GANG)
        return false;
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        if (!q->server || q->lanes == XS_LANES_NONE)
            return false;
    return true;
}

static bool has_lanes(const struct xs_entity *e)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        if (!q->lanes)
            return false;
    return true;
}

static bool any_could(const struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (could_run_beside(xs_entity_of(v->entities[i])))
            return true;
    return false;
}

static void forget_looks(struct xs_view *v, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++)
        forget(xs_entity_of(v->entities[i]), now_ns);
}

static bool is_forced(const struct xs_sched *s)
{
    return s->config.lanes == XS_SCHED_LANES_ALWAYS || s->config.lanes == XS_SCHED_LANES_CHANGING;
}

/* For tests: confines every queue. */
static void force(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    unsigned turn = s->config.lanes == XS_SCHED_LANES_CHANGING ? (unsigned)(now_ns / CHANGE_NS % 3) : 1;

    v->at_ns[XS_TIMER_beside] = now_ns + CHANGE_NS;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        struct xs_sched_queue *q = e->intra ? queue_of(e) : NULL;

        if (!q || !q->server)
            continue;
        if (q->lanes > XS_LANES_NONE)
            xs_queue_tell_lane(q, turn == 0 ? XS_LANE_OFF : lane_of(q, turn == 1 ? XS_BESIDE_WIDE : XS_BESIDE_NARROW));
        else
            xs_queue_tell_lane(q, q->lanes ? XS_LANE_OFF : XS_LANE_MAKE);
    }
}

/* Confines an entity that runs beside others. Its ready queues, and those that were ready: these are
 * open and may submit before the scheduler hears of it. */
static void confine(struct xs_entity *e, enum xs_beside_step most)
{
    unsigned n = 0;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        xs_queue_tell_lane(q, lane_of(q, most) | XS_LANE_ONLY);
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (n++ >= XS_IDLE_CLOSES)
            break;
        if (q->lanes > XS_LANES_NONE)
            xs_queue_tell_lane(q, lane_of(q, most) | XS_LANE_ONLY);
    }
}

/* @param wanted  it would run beside others if it could */
static void set_free(struct xs_view *v, struct xs_entity *e, bool wanted)
{
    bool held = !e->now.run && !v->stalled;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        if (held && q->lane > XS_LANE_MAKE)
            continue;             /* a launch that waits for the whole device would take the change for that */
        xs_queue_tell_lane(q, !q->lanes && (q->lane == XS_LANE_MAKE || wanted) ? XS_LANE_MAKE : XS_LANE_OFF);
    }
    if (!e->on_lanes && !e->intra)
        return;
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (held && q->lane > XS_LANE_MAKE)
            continue;
        xs_queue_tell_lane(q, !q->lanes && q->lane == XS_LANE_MAKE ? XS_LANE_MAKE : XS_LANE_OFF);
    }
}

void xs_beside_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    struct xs_entity *urgent = NULL;
    enum xs_beside_step most;
    bool ranks = s->config.lanes == XS_SCHED_LANES_BY_LOAD && xs_sched_policy_flags(s) & XS_POLICY_BY_RANK &&
                 !xs_sched_is_host(s) && !v->stalled;

    if (XS_UNLIKELY(is_forced(s))) {
        force(s, v, now_ns);
        return;
    }
    if (ranks && any_could(v)) {
        most = allowed(v, &urgent, now_ns);
        v->at_ns[XS_TIMER_beside] = now_ns + LOOK_NS;
    } else {
        forget_looks(v, now_ns);
        most = XS_BESIDE_SUSPENDED;
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool could = ranks && could_run_beside(e);

        if (!is_active(e))
            forget(e, now_ns);
        if (!has_company(e) && !e->on_lanes) /* a gang that no longer shares in space leaves its lanes */
            continue;
        if (most > XS_BESIDE_SUSPENDED && could && has_lanes(e) && are_together(urgent, e)) {
            confine(e, most);
            xs_entity_say(e, true, XS_WHY_LANE);
            e->now.lane = (uint8_t)most;
        } else {
            set_free(v, e, could);
        }
    }
}
