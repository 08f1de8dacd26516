/* SPDX-License-Identifier: Apache-2.0 */
/* Handing over a device. A suspended entity may still have commands on the device. Where that matters,
 * the next ones start only when those commands are over. A program may ask for that under any policy.
 * A policy that gives turns has it for all programs, and does two things more:
 *
 * - Its clock stands meanwhile. A turn is as long as the policy made it, however late it begins.
 * - An entity received the time for which it had the device: from its first command, while it had
 *   work, to the end of its last command. The times that programs report do not count. Programs notice
 *   an end late: one that waits for a permit only when it gets it. Where two run at once, each
 *   finds that its commands took twice as long.
 *
 * Nothing waits for commands behind closed gates in a stream (level 2): they stay there until the
 * queue resumes. For queues that are entities of their own, the times count that
 * their process reports (xs_entity_is_timed). */
#include "sched/internal.h"
#include "sched/stage.h"

#define BEGIN_NS      (1 * XS_NS_PER_MS)    /* a resumed program has to wake up first; then the device
                                               stands idle for it */
#define BEGIN_LOOK_NS (25 * XS_NS_PER_US)   /* from look to look meanwhile */

static bool drains_first(const struct xs_entity *e)
{
    const struct xs_group *g = e->presence->group;

    return g->drain == XS_DRAIN_ON || (g->drain == XS_DRAIN_BY_POLICY && xs_entity_is_timed(e));
}

/* Some of its commands are there, and not behind a gate at which they may stay. */
static bool on_device(const struct xs_entity *e, const struct xs_sched_queue *q)
{
    return q->completed < q->returned && (!q->gated || e->presence->group->drain == XS_DRAIN_ON);
}

/* When its commands in flight should be over, as far as the estimate goes; near that time the looks
 * come more often. */
static uint64_t look_after(const struct xs_sched_queue *q, uint64_t now_ns)
{
    uint64_t left_ns = q->est_left_ns, end;

    if (q->completed > q->told && q->returned > q->told) /* the device wrote its completions, and the
                                                            program did not look yet */
        left_ns = left_ns / (q->returned - q->told) * (q->returned - q->completed);
    end = XS_MAX(q->changed_ns, q->added_ns) + left_ns;

    if (end > now_ns + 2 * XS_DRAIN_LOOK_NS)
        return XS_MIN(end - now_ns - XS_DRAIN_LOOK_NS, 2 * XS_DRAIN_LOOK_NS); /* it may be too long */
    if (end >= now_ns)
        return XS_DRAIN_LOOK_NS / 4;
    return XS_MIN(XS_MAX((now_ns - end) / 8, XS_DRAIN_LOOK_NS / 4), XS_DRAIN_LOOK_NS);
}

/* While the scheduler awaits the end of a queue, a thread there that waits for a permit puts a mark behind
 * the commands in flight. */
static void await_end(struct xs_entity *e, bool await)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        if (!q->watched)
            xs_queue_arm(q, await ? XS_ARMED_IDLE : 0);
}

void xs_entity_drain(struct xs_entity *e, uint64_t now_ns)
{
    e->turn.draining = e->nready > 0;
    e->turn.drain_until_ns = now_ns + XS_DRAIN_NS;
    if (e->turn.draining && (drains_first(e) || xs_collective_end_awaited(e)))
        await_end(e, true);
}

bool xs_entity_end_awaited(const struct xs_entity *e)
{
    return !e->before.run && e->turn.draining && drains_first(e);
}

/* @return when to look again; 0: nothing of it is on the device */
static uint64_t in_flight(struct xs_sched *s, struct xs_entity *e, uint64_t now_ns)
{
    uint64_t look = 0, after;

    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        xs_queue_read(q, now_ns);
        if (!on_device(e, q))
            continue;
        xs_queue_ask_for_mark(s, q, now_ns);
        after = look_after(q, now_ns);
        look = look ? XS_MIN(look, after) : after;
    }
    return look;
}

bool xs_view_drains(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->at_ns[XS_TIMER_DRAIN] = UINT64_MAX;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        uint64_t after;

        if (!xs_entity_end_awaited(e))
            continue;
        after = in_flight(s, e, now_ns);
        e->turn.draining = after != 0;
        if (!after)
            await_end(e, false);
        if (after && now_ns < e->turn.drain_until_ns)
            xs_view_wake_at(v, XS_TIMER_DRAIN, now_ns + after);
    }
    return v->at_ns[XS_TIMER_DRAIN] != UINT64_MAX;
}

/* ---- the clock of the turns ---- */

uint64_t xs_view_clock(const struct xs_view *v, uint64_t now_ns)
{
    return (v->stands_since_ns ? v->stands_since_ns : now_ns) - v->stood_ns;
}

uint64_t xs_view_timer(const struct xs_view *v)
{
    if (v->stands_since_ns || v->next_ns > UINT64_MAX - v->stood_ns)
        return UINT64_MAX;
    return v->next_ns + v->stood_ns;
}

void xs_view_stand(struct xs_sched *s, struct xs_view *v, bool stand, uint64_t now_ns)
{
    if (v->stands_since_ns && !stand) {
        v->stood_ns += now_ns - v->stands_since_ns;
        v->stands_since_ns = 0;
    } else if (!v->stands_since_ns && stand && xs_sched_turns(s)) {
        v->stands_since_ns = now_ns;
    }
}

/* ---- the owner of the device ---- */

/* Facts that come without pages contain the service. */
static bool has_pages(const struct xs_entity *e)
{
    const struct xs_list *any = xs_list_empty(&e->ready) ? &e->idle : &e->ready;

    return !xs_list_empty(any) && XS_CONTAINER_OF(any->next, struct xs_sched_queue, link)->client;
}

void xs_turns_charge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    uint64_t passed = now_ns - XS_MIN(now_ns, v->charged_ns), n = 0;

    v->charged_ns = now_ns;
    if (!xs_sched_turns(s) || passed == 0)
        return;
    for (size_t i = 0; i < v->n; i++)
        n += xs_entity_of(v->entities[i])->turn.owns;
    for (size_t i = 0; i < v->n && n > 0; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (e->turn.owns) /* several at once: as if each had an equal part of the device */
            e->pe.service_ns += passed / n;
    }
}

static bool has_begun(struct xs_entity *e, uint64_t now_ns)
{
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link) {
        xs_queue_read(q, now_ns);
        if (q->completed < q->returned)
            return true;
    }
    return now_ns >= e->turn.begin_until_ns;
}

/* A program that never reports an end would pay for ever. */
static bool must_be_over(const struct xs_sched_queue *q, uint64_t now_ns)
{
    return !q->covered && !xs_queue_in_call(q) && xs_queue_is_overdue(q, q->added_ns, now_ns);
}

/* Suspended, and with commands on the device as far as the facts show. */
static bool still_computes(const struct xs_entity *e, uint64_t now_ns)
{
    if (!xs_entity_end_awaited(e))
        return false;
    XS_LIST_FOR(q, &e->ready, struct xs_sched_queue, link)
        if (on_device(e, q) && !must_be_over(q, now_ns))
            return true;
    return false;
}

void xs_entity_begins(struct xs_entity *e, uint64_t now_ns)
{
    if (e->turn.draining && drains_first(e)) /* resumed before that was over */
        await_end(e, false);
    e->turn.begins = xs_entity_is_timed(e) && has_pages(e);
    e->turn.begin_until_ns = now_ns + BEGIN_NS;
}

void xs_turns_note(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    v->charged_ns = now_ns;
    v->at_ns[XS_TIMER_BEGIN] = UINT64_MAX;
    if (!xs_sched_turns(s))
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        e->turn.begins = e->turn.begins && e->before.run && v->contended && !has_begun(e, now_ns);
        if (e->turn.begins)
            v->at_ns[XS_TIMER_BEGIN] = XS_MIN(now_ns + BEGIN_LOOK_NS, e->turn.begin_until_ns);
        e->turn.owns = xs_entity_is_timed(e) && has_pages(e) &&
                  (e->before.run ? e->pe.ready && !e->turn.begins : still_computes(e, now_ns));
    }
}
