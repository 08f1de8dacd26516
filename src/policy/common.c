/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/common.h"

#define SLICE_FLOOR_NS (100 * XS_NS_PER_US)   /* TIMESLICE_MIN */
#define GRACE_NS       (5 * XS_NS_PER_MS)     /* a starving entity's slice when slices are unlimited */

uint64_t xs_policy_slice_ns(const struct xs_policy_params *p)
{
    uint64_t least = p->switch_ns > UINT64_MAX / 20 ? UINT64_MAX : 20 * p->switch_ns;

    return XS_MAX(XS_MAX(p->timeslice_ns, least), SLICE_FLOOR_NS);
}

uint64_t xs_policy_grace_ns(const struct xs_policy_params *p)
{
    uint64_t slice = xs_policy_slice_ns(p);

    return slice > XS_NS_PER_S ? GRACE_NS : slice;
}

bool xs_policy_uncontended(struct xs_policy_view *v)
{
    size_t ready = 0;

    for (size_t i = 0; i < v->n; i++)
        ready += v->entities[i]->ready && !xs_policy_barred(v->entities[i]);
    if (ready > 1)
        return false;
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = !xs_policy_barred(v->entities[i]);
    v->next_ns = UINT64_MAX;
    return true;
}

void xs_policy_highest(struct xs_policy_view *v, xs_policy_priority_fn priority)
{
    int32_t top = PRIORITY_NO_EXECUTE;
    bool any = false;

    v->next_ns = UINT64_MAX;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_policy_entity *e = v->entities[i];
        int32_t p;

        if (!e->ready || xs_policy_barred(e))
            continue;
        p = priority(e, v->now_ns);
        if (!any || p > top)
            top = p;
        any = true;
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        e->run = !xs_policy_barred(e) && (!any || priority(e, v->now_ns) >= top);
    }
    xs_policy_starvation(v);
}

void xs_policy_starvation(struct xs_policy_view *v)
{
    uint64_t limit = v->params->starvation_ns, slice;

    if (limit == 0)
        return;
    slice = xs_policy_grace_ns(v->params);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t *since = &e->memo[XS_MEMO_HELD_SINCE], *until = &e->memo[XS_MEMO_GRACE_UNTIL];

        if (e->run || !e->ready || xs_policy_barred(e)) {
            *since = 0;
            *until = 0;
            continue;
        }
        if (*until == 0) {
            if (*since == 0)
                *since = v->now_ns + 1; /* one more than the time: 0 is none */
            if (v->now_ns >= xs_add_sat(*since - 1, limit))
                *until = xs_add_sat(v->now_ns, slice);
        } else if (v->now_ns >= *until) { /* the slice is over; wait again */
            *until = 0;
            *since = v->now_ns + 1;
        }
        e->run = *until != 0;
        v->next_ns = XS_MIN(v->next_ns, *until ? *until : xs_add_sat(*since - 1, limit));
    }
}
