/* SPDX-License-Identifier: Apache-2.0 */
/* A gang with queues on several devices runs on all of them or on none: half of a collective waits for the other half.
 * Where it loses on one device it does not count on the others. Not under policies that give turns: turns on two devices
 * do not coincide. */
#include "sched/internal.h"
#include "sched/stage.h"

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
        if (pr->gang && pr->gang != e && pr->gang->gang.loses)
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

void xs_gangs_judge(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool bind = gangs_are_bound(s);

    (void)now_ns;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);

        if (!bind || !on_several_devices(e) || !loses_elsewhere(e))
            continue;
        xs_entity_say(e, false, XS_WHY_GANG);
        e->pe.ready = false;
    }
}

void xs_gangs_applied(struct xs_sched *s, struct xs_view *v, uint64_t now_ns)
{
    bool bind = gangs_are_bound(s);

    (void)now_ns;
    v->some_lose = false;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_entity *e = xs_entity_of(v->entities[i]);
        bool loses = bind && e->pe.ready && !e->before.run && on_several_devices(e);

        v->some_lose |= loses;
        if (e->gang.loses == loses)
            continue;
        e->gang.loses = loses;
        xs_group_recheck(e->presence->group, v);
    }
}
