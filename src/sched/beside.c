/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that run beside a more important one of their process, confined to a part of the device's multiprocessors.
 *
 * A policy suspends a queue for as long as a more important one is active. That is right where the device is what the urgent
 * program waits for. Where the program launches more slowly than the device computes, the device idles in between, and the
 * urgent queue loses nothing when other kernels run there, as long as they leave multiprocessors free for its next kernel.
 *
 * Which of the two it is follows from one number of the urgent queue: the share of the time since it became active in which
 * its threads waited for the device. Above HIGH the others lose a step (wide lane, narrow lane, suspended), below LOW they gain
 * one. If the lane itself makes the urgent kernels slow, its threads wait, and the step is lost again; then the next try comes
 * later each time. */
#include "sched/internal.h"

#define LOOK_NS      (5 * XS_NS_PER_MS)
#define AVERAGE_NS   (20 * XS_NS_PER_MS)    /* the share follows a change within about this time */
#define SETTLE_NS    (10 * XS_NS_PER_MS)    /* a step is not judged sooner */
#define TRY_NS       (20 * XS_NS_PER_MS)    /* from one step to a wider one, the first time */
#define TRY_MOST_NS  (2 * XS_NS_PER_S)
#define STABLE_NS    (2 * XS_NS_PER_S)      /* a step that lasts so long was no mistake */
#define CHANGE_NS    (1 * XS_NS_PER_MS)
#define ONE          1024                   /* shares */
#define LOW          350
#define HIGH         600

static bool is_active(const struct xs_entity *e)
{
    return e->pe.run && e->pe.ready;
}

/* Of an entity that is one queue (struct xs_sched_process_info.intra). */
static struct xs_sched_queue *queue_of(const struct xs_entity *e)
{
    const struct xs_list *in = xs_list_empty(&e->ready) ? &e->idle : &e->ready;

    return xs_list_empty(in) ? NULL : XS_CONTAINER_OF(in->next, struct xs_sched_queue, link);
}

/* @param dt_ns  since the last look, not 0  @return how much of that its threads waited, at most dt_ns */
static uint64_t waited(struct xs_beside *b, const struct xs_client_cell *c, uint64_t dt_ns)
{
    uint64_t total = atomic_load_explicit(&c->waited_ns, memory_order_relaxed); /* a value by itself */
    uint64_t new = total > b->waited_ns ? total - b->waited_ns : 0, before = XS_MIN(new, b->ahead_ns);

    b->waited_ns = total;
    b->ahead_ns -= before;
    new -= before;
    if (atomic_load(&c->inherit) && new < dt_ns) { /* a thread waits now, and tells of it when it is done */
        b->ahead_ns += dt_ns - new;
        new = dt_ns;
    }
    return XS_MIN(new, dt_ns);
}

static void step(struct xs_beside *b, int by, uint64_t now_ns)
{
    b->step += by;
    b->since_ns = now_ns;
}

static void judge(struct xs_beside *b, uint64_t now_ns)
{
    uint64_t stood = now_ns - b->since_ns;

    if (stood >= STABLE_NS)
        b->try_ns = TRY_NS;
    if (b->share > HIGH && b->step > XS_BESIDE_SUSPENDED && stood >= SETTLE_NS) {
        b->try_ns = XS_MIN(2 * b->try_ns, TRY_MOST_NS);
        step(b, -1, now_ns);
    } else if (b->share < LOW && b->step < XS_BESIDE_WIDE && stood >= b->try_ns) {
        step(b, 1, now_ns);
    }
}

/* The facts of an urgent entity. */
static void look(struct xs_entity *e, uint64_t now_ns)
{
    const struct xs_sched_queue *q = queue_of(e);
    struct xs_beside *b = &e->beside;
    uint64_t dt;

    if (!q || !q->client)
        return;
    if (!b->try_ns) {                       /* nothing is known of it: the device is its own */
        b->try_ns = TRY_NS;
        b->since_ns = now_ns;
        b->share = ONE;
    }
    dt = b->seen_ns ? now_ns - b->seen_ns : 0;
    if (!b->seen_ns) {                      /* it became active, or there was nothing to decide */
        b->waited_ns = atomic_load_explicit(&q->client->waited_ns, memory_order_relaxed);
        b->ahead_ns = 0;
        b->seen_ns = now_ns;
    } else if (dt >= LOOK_NS / 5) {         /* less than that says little, and decisions come often */
        int64_t x = (int64_t)(waited(b, q->client, dt) * ONE / dt), d = (int64_t)XS_MIN(dt, AVERAGE_NS);

        b->share += (int32_t)((x - b->share) * d / (int64_t)AVERAGE_NS);
        b->seen_ns = now_ns;
    }
    judge(b, now_ns);
}

/* The least that all active entities of a process allow; none where another process has an active one. */
static enum xs_beside_step allowed(struct xs_view *v, const struct xs_policy_process **ret, uint64_t now_ns)
{
    enum xs_beside_step least = XS_BESIDE_WIDE;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!is_active(e))
            continue;
        if (!e->intra || (*ret && e->pe.process != *ret))
            return XS_BESIDE_SUSPENDED;
        *ret = e->pe.process;
        look(e, now_ns);
        least = XS_MIN(least, e->beside.step);
    }
    return *ret ? least : XS_BESIDE_SUSPENDED;
}

static uint32_t lane_of(const struct xs_sched_queue *q, enum xs_beside_step step)
{
    return step == XS_BESIDE_WIDE ? XS_LANES_WIDE(q->lanes) : XS_LANES_NARROW(q->lanes);
}

static bool could_run_beside(const struct xs_entity *e)
{
    const struct xs_sched_queue *q = e->intra && e->nready > 0 ? queue_of(e) : NULL;

    return q && !e->pe.run && !e->bound && q->server && q->lanes != XS_LANES_NONE;
}

static bool any_could(const struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (could_run_beside(xs_entity_of(v->entities[i])))
            return true;
    return false;
}

static void forget_looks(struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++)
        xs_entity_of(v->entities[i])->beside.seen_ns = 0;
}

static bool is_forced(const struct xs_sched *s)
{
    return s->config.lanes == XS_SCHED_LANES_ALWAYS || s->config.lanes == XS_SCHED_LANES_CHANGING;
}

/* For tests: every queue, whatever runs. */
static void force(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    unsigned turn = s->config.lanes == XS_SCHED_LANES_CHANGING ? (unsigned)(now_ns / CHANGE_NS % 3) : 1;

    v->beside_ns = now_ns + CHANGE_NS;
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

void xs_view_let_run_beside(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    const struct xs_policy_process *process = NULL;
    enum xs_beside_step most;
    bool ranks = s->config.lanes == XS_SCHED_LANES_BY_LOAD && xs_sched_policy_flags(s) & XS_POLICY_BY_RANK &&
                 !xs_sched_is_host(s) && !v->stalled;

    for (size_t i = 0; i < v->n; i++)
        xs_entity_of(v->entities[i])->beside.runs = false;
    if (XS_UNLIKELY(is_forced(s))) {
        force(s, v, now_ns);
        return;
    }
    if (ranks && any_could(v)) {
        most = allowed(v, &process, now_ns);
        v->beside_ns = now_ns + LOOK_NS;
    } else {
        forget_looks(v);
        most = XS_BESIDE_SUSPENDED;
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        struct xs_sched_queue *q = e->intra ? queue_of(e) : NULL;
        uint32_t lane = XS_LANE_OFF;

        if (!is_active(e))
            e->beside.seen_ns = 0;
        if (!q)
            continue;
        if (most > XS_BESIDE_SUSPENDED && could_run_beside(e) && q->lanes && e->pe.process == process) {
            lane = lane_of(q, most) | XS_LANE_ONLY;
            e->pe.run = e->beside.runs = true;
        } else if (!e->pe.run && !v->stalled && q->lane > XS_LANE_MAKE) {
            continue;             /* a launch that waits for the whole device would take its end for that */
        } else if (!q->lanes && (q->lane == XS_LANE_MAKE || (ranks && could_run_beside(e)))) {
            lane = XS_LANE_MAKE; /* until they are there */
        }
        xs_queue_tell_lane(q, lane);
    }
}
