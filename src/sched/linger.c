/* SPDX-License-Identifier: Apache-2.0 */
/* An entity that became idle counts as ready for a moment while the scheduler suspends others for it. Programs leave
 * gaps between commands, and without this the two sides would thrash. */
#include "sched/internal.h"
#include "sched/stage.h"

static bool lingers(struct xs_sched *s, struct xs_view *v, struct xs_entity *e, uint64_t now_ns)
{
    if (!e->pe.ready || !e->now.run || e->now.lane || !v->contended || !s->config.linger_ns || e->presence->group->ended)
        return false;
    if (e->linger.until_ns == 0)
        e->linger.until_ns = now_ns + XS_MAX(e->linger.us * XS_NS_PER_US, s->config.linger_ns);
    e->linger.too_short = now_ns >= e->linger.until_ns;
    if (e->linger.too_short)
        return false;
    xs_view_wake_at(v, XS_TIMER_linger, e->linger.until_ns);
    return true;
}

void xs_linger_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool gathers = xs_entity_gathers(e), ready = (e->nready > 0 && !gathers) || xs_entity_keeps_others_off(e);
        bool stays = !ready && !gathers && lingers(s, v, e, now_ns);

        if (!stays)
            e->linger.until_ns = 0;
        e->pe.ready = ready || stays;
        e->now.why = gathers ? XS_WHY_GATHER : XS_WHY_FREE;
    }
}

/* If an entity's linger ended too soon, its next linger is longer. If it stayed away for long, the next one is as
 * configured. In a pause of less than a millisecond another program gains little: two changes of the device take 0.4 ms.
 * The urgent one then waits for what the other has begun. */
void xs_linger_wakes(struct xs_entity *e, uint64_t now_ns)
{
    uint64_t base = e->sched->config.linger_ns, most = XS_LINGER_GROWTH * base, ns;

    if (e->linger.too_short) {
        ns = now_ns - e->dried_ns < most ? XS_MIN(2 * XS_MAX(e->linger.us * XS_NS_PER_US, base), most) : base;
        e->linger.us = (uint32_t)(ns / XS_NS_PER_US);
    }
    e->linger.too_short = false;
    e->linger.until_ns = 0;
}
