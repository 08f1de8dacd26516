/* SPDX-License-Identifier: Apache-2.0 */
/* Turns decisions into words: permits, leases, bounds in flight. Stores only changes. */
#include "sched/internal.h"

#include "base/futex.h"
#include "base/static_probe.h"

/* In the reader's time. */
static void renew_lease(struct xs_sched_process *p, uint64_t now_ns)
{
    if (p->server)
        atomic_store(&p->server->h.lease_until_ns,
                     xs_sched_outside(p->sched, now_ns) + XS_LEASE_NS + (uint64_t)p->clock_ahead_ns);
}

static void closed_add(struct xs_sched_process *p, uint64_t now_ns)
{
    if (p->closed++ > 0)
        return;
    xs_list_add(&p->sched->closed, &p->closed_link);
    /* before the first closed word: a reader that finds that word must not find an old lease; seq_cst,
     * as for all words that both sides read */
    renew_lease(p, now_ns);
}

static void closed_remove(struct xs_sched_process *p)
{
    if (--p->closed == 0)
        xs_list_remove(&p->closed_link);
}

#define LET_LOOKS 4

/* Commands that the program let through go on. The program may let some through at any time, so this
 * looks again after the store. seq_cst pairs with src/xqueue/gates/gate.c, which stores
 * let_through and then looks at permitted. If a page's number never stays the same, its own gate
 * opens, which is its right. */
static void close_after(struct xs_sched_queue *q, uint64_t after)
{
    uint64_t let = XS_PERMIT_CLOSED, stored;

    for (int i = 0; i < LET_LOOKS; i++) {
        stored = q->client ? XS_MIN(atomic_load(&q->client->let_through), XS_PERMIT_OPEN) : XS_PERMIT_CLOSED;
        stored = XS_MAX(stored, after);
        if (i && stored == let)
            break;
        let = stored;
        atomic_store(&q->server->permitted, let);
    }
}

/* A queue that gathers lets the commands go on that have entered by now. */
static void close_word(struct xs_sched_queue *q)
{
    close_after(q, q->gathers_to ? q->entered : XS_PERMIT_CLOSED);
}

void xs_queue_close_again(struct xs_sched_queue *q)
{
    close_word(q);
}

static void wake_at(struct xs_sched_queue *q, _Atomic uint32_t *word)
{
    /* pairs with the sleeper: counts itself in waiters, then looks at the word again */
    atomic_thread_fence(memory_order_seq_cst);
    if (q->client && atomic_load(&q->client->waiters) > 0)
        xs_futex_wake(word, INT32_MAX);
}

static void wake(struct xs_sched_queue *q)
{
    wake_at(q, xs_futex_low(&q->server->permitted));
}

/* To commands after the limit, a word with a limit is a closed one: it needs the lease. */
void xs_queue_limit(struct xs_sched_queue *q, uint64_t number, uint64_t now_ns)
{
    uint64_t before = q->limit;

    if (!q->server || !q->permitted || before == number)
        return;
    if (before == XS_PERMIT_OPEN) {
        closed_add(q->process, now_ns);
        q->entity->limited++;
        q->entity->view->some_limited = true;
    }
    if (number == XS_PERMIT_OPEN) {
        closed_remove(q->process);
        q->entity->limited--;
    }
    q->limit = number;
    close_after(q, number);
    if (number > before)
        wake(q);
}

void xs_queue_permit(struct xs_sched_queue *q, bool run, uint64_t now_ns)
{
    struct xs_sched *s = q->process->sched;

    if (q->permitted == run)
        return;
    xs_queue_charge_time(q, now_ns);
    s->c.work++;
    q->permitted = run;
    if (run) {
        s->c.permits++;
        XS_PROBE2(resume, q->handle, q->process->id);
        closed_remove(q->process);
        if (q->server) {
            atomic_store(&q->server->permitted, XS_PERMIT_OPEN);
            wake(q);
        }
    } else {
        s->c.holds++;
        XS_PROBE3(suspend, q->handle, q->process->id, q->ready);
        if (q->limit == XS_PERMIT_OPEN)
            closed_add(q->process, now_ns);
        else
            q->entity->limited--; /* it was closed to some already */
        q->limit = XS_PERMIT_OPEN;
        if (!q->gathers_to) {
            q->suspensions++;
            q->preemptions += q->ready;
        }
        if (q->server) {
            close_word(q);
            /* relaxed: only shown to users */
            atomic_store_explicit(&q->server->suspensions, q->suspensions, memory_order_relaxed);
        }
    }
    if (s->ops.on_permit)
        s->ops.on_permit(s->ctx, q, run, now_ns);
}

void xs_entity_apply(struct xs_entity *e, uint64_t now_ns)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        xs_queue_permit(q, e->before.run && !q->barred, now_ns);
    if (!e->before.run)
        return;
    /* The idle queues that a suspension closed stand at the front. */
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (q->permitted && !q->barred)
            break;
        xs_queue_permit(q, !q->barred, now_ns);
    }
}

/* The most recently used queues stand at the front of the idle list, and this closes them in order:
 * behind the first open queue all are open. A queue that sleeps longer is closed when it becomes
 * ready. */
void xs_entity_close_idle(struct xs_entity *e, uint64_t now_ns)
{
    unsigned n = 0;

    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link) {
        if (n++ >= XS_IDLE_CLOSES)
            break;
        xs_queue_permit(q, false, now_ns);
    }
}

void xs_queue_tell_inflight(struct xs_sched *s, struct xs_sched_queue *q)
{
    const struct xs_device *d = q->entity->presence->device;
    uint64_t us = d->groups == 1 ? s->config.inflight_alone_us
                  : q->entity->top ? s->config.inflight_top_us : s->config.inflight_shared_us;
    uint32_t word;

    us = q->process->inflight_us ? q->process->inflight_us : us;
    word = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;

    if (!q->server || q->inflight_us == word)
        return;
    q->inflight_us = word;
    atomic_store_explicit(&q->server->inflight_us, word, memory_order_relaxed); /* a value by itself */
}

void xs_queue_tell_gathers(struct xs_sched_queue *q, uint64_t to, uint64_t ring_at)
{
    if (!q->server || (q->gathers_to == to && q->rings_at == ring_at))
        return;
    q->rings_at = ring_at;
    q->gathers_to = to;
    atomic_store_explicit(&q->server->rings_at, ring_at, memory_order_relaxed); /* a value by itself */
    atomic_store(&q->server->gathers_to, to); /* seq_cst, before the word closes: pairs with xs_gathers_to */
}

void xs_queue_tell_lane(struct xs_sched_queue *q, uint32_t lane)
{
    bool was = q->lane > XS_LANE_MAKE, is = lane > XS_LANE_MAKE;
    struct xs_sched *s = q->process->sched;

    if (!q->server || q->lane == lane)
        return;
    q->lane = lane;
    q->entity->on_lanes += (uint32_t)is - (uint32_t)was;
    if (is && !was)               /* a launch may wait for the end of the confinement: that needs
                                     the lease, as a closed word does */
        closed_add(q->process, s->now_ns);
    if (was && !is)
        closed_remove(q->process);
    atomic_store(&q->server->lane, lane); /* before the permit of the queue */
    wake_at(q, &q->server->lane);
    if ((is || was) && s->ops.on_lane)
        s->ops.on_lane(s->ctx, q, is ? XS_LANE_WIDTH(lane) : 0, s->now_ns);
}

void xs_entity_tell_inflight(struct xs_sched *s, struct xs_entity *e)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        xs_queue_tell_inflight(s, q);
    XS_LIST_FOR(q, &e->idle, struct xs_sched_queue, link)
        xs_queue_tell_inflight(s, q);
}

void xs_device_tell_inflight(struct xs_sched *s, struct xs_device *d)
{
    for (size_t i = 0; i < d->view.n; i++)
        xs_entity_tell_inflight(s, xs_entity_of(d->view.entities[i]));
}

bool xs_sched_renew_leases(struct xs_sched *s, uint64_t now_ns)
{
    now_ns = xs_sched_clock(s, now_ns);
    XS_LIST_FOR(p, &s->closed, struct xs_sched_process, closed_link)
        if (!p->ended)
            renew_lease(p, now_ns);
    return !xs_list_empty(&s->closed);
}
