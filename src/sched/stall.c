/* SPDX-License-Identifier: Apache-2.0 */
/* The urgent side may itself wait for a suspended process. Then the suspended ones run until it goes on. */
#include "sched/internal.h"
#include "sched/stage.h"

#include "base/log.h"

#define STOPPED_LOOKS 64u                 /* queues at which it looks for a stopped process */

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

static bool holds_any(const struct xs_view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->nready > 0 && !e->now.run)
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

        if (!e->now.run || e->now.lane || e->nready == 0)
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

        if (!e->now.run || e->now.lane || e->nready == 0)
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
static void look(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
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
        v->at_ns[XS_TIMER_STALL] = XS_MAX(v->at_ns[XS_TIMER_STALL], now_ns + XS_TIMER_MIN_NS);
        return;
    }
    stall(s, v);
    if (!s->stall_said) {
        s->stall_said = true;
        XS_WARN("urgent queues completed nothing for %u ms: suspended ones run until they do "
                "(they may depend on each other)", (unsigned)(s->config.stall_ns / XS_NS_PER_MS));
    }
}

/* The verdicts of the other stages say whether the running side has to go on. Only then a look at it makes sense. */
void xs_stall_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool contended = false, running = false, changed = false;

    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        contended = contended || (e->nready > 0 && (!e->now.run || e->now.lane));
        running = running || (e->nready > 0 && e->now.run);
        if (e->now.chosen && !e->before.chosen)
            e->chosen_ns = now_ns;
        changed = changed || e->before.chosen != e->now.chosen; /* a grant is no reason to judge a stall anew */
    }
    if (changed || !v->contended || !running || !contended) {
        v->progress_ns = now_ns;
        v->at_ns[XS_TIMER_STALL] = next_stall_check(s, v, now_ns);
        v->stalled = false;
    }
    if (v != &s->host)
        s->contended_views = s->contended_views + contended - v->contended;
    v->contended = contended;
    look(s, v, now_ns);
}
