/* SPDX-License-Identifier: Apache-2.0 */
/* MLFQ: four levels with slices of 10, 20, 40 and 80 ms. One queue runs at a time: the one that
 * has waited longest in the highest level that has a ready one. It falls a level when it has used
 * its slice up, and rises one after 100 ms of effective waiting: time held while ready, less time
 * that it ran since. A queue that ran dry starts its level's slice anew. */
#include "policy/common.h"

enum { M_STATE, M_USED, M_WAITED, M_TURN };            /* entity; M_STATE: F_READY | level << 8 */
enum { V_HOLDER, V_TURN, V_LAST, V_CONTENDED };        /* view */
enum { F_READY = 1 };
#define LEVELS        4u
#define FIRST_NS      (10 * XS_NS_PER_MS)
#define PROMOTE_NS    (100 * XS_NS_PER_MS)

static unsigned level(const struct xs_policy_entity *e)
{
    return (unsigned)(e->memo[M_STATE] >> 8);
}

static void set_level(struct xs_policy_view *v, struct xs_policy_entity *e, unsigned l)
{
    e->memo[M_STATE] = (e->memo[M_STATE] & 0xff) | (uint64_t)l << 8;
    e->memo[M_USED] = 0;
    e->memo[M_WAITED] = 0;
    e->memo[M_TURN] = ++v->memo[V_TURN]; /* at the end of its level */
}

static uint64_t slice(const struct xs_policy_view *v, const struct xs_policy_entity *e)
{
    uint64_t ns = FIRST_NS << level(e);

    return v->params->switch_ns ? XS_MAX(ns, 20 * v->params->switch_ns) : ns;
}

/* Charges the time since the last decision, if more than one entity was ready then. */
static void account(struct xs_policy_view *v)
{
    uint64_t passed = v->memo[V_CONTENDED] && v->now_ns > v->memo[V_LAST] ? v->now_ns - v->memo[V_LAST] : 0;

    v->memo[V_LAST] = v->now_ns;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t *m = e->memo;

        if (!e->ready || xs_policy_barred(e)) {
            m[M_STATE] &= ~(uint64_t)F_READY;
            m[M_USED] = m[M_WAITED] = 0;
            continue;
        }
        if (!(m[M_STATE] & F_READY)) {
            m[M_STATE] |= F_READY;
            m[M_TURN] = ++v->memo[V_TURN];
            continue;
        }
        if (v->memo[V_HOLDER] == e->id) {
            m[M_USED] += passed;
            m[M_WAITED] -= XS_MIN(m[M_WAITED], passed);
        } else {
            m[M_WAITED] += passed;
        }
    }
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        if (!e->ready || xs_policy_barred(e))
            continue;
        if (v->memo[V_HOLDER] == e->id && e->memo[M_USED] >= slice(v, e))
            set_level(v, e, XS_MIN(level(e) + 1, LEVELS - 1));
        else if (level(e) > 0 && e->memo[M_WAITED] >= PROMOTE_NS)
            set_level(v, e, level(e) - 1);
    }
}

/* The entity that has the device keeps its number, the least of its level, until it has used its slice up. */
static bool before(const struct xs_policy_entity *a, const struct xs_policy_entity *b)
{
    return level(a) != level(b) ? level(a) < level(b) : a->memo[M_TURN] < b->memo[M_TURN];
}

static void decide(struct xs_policy_view *v)
{
    struct xs_policy_entity *best = NULL;

    account(v);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        if (e->ready && !xs_policy_barred(e) && (!best || before(e, best)))
            best = e;
    }
    v->memo[V_HOLDER] = best ? best->id : 0;
    v->memo[V_CONTENDED] = !xs_policy_uncontended(v);
    if (!v->memo[V_CONTENDED])
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        e->run = best && e == best;
        if (e->run)
            /* slices may have become shorter meanwhile */
            v->next_ns = xs_add_sat(v->now_ns, slice(v, e) - XS_MIN(e->memo[M_USED], slice(v, e)));
    }
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_policy_entity *e = v->entities[i];

        if (e->ready && e != best && level(e) > 0 && e->memo[M_WAITED] < PROMOTE_NS && !xs_policy_barred(e))
            v->next_ns = XS_MIN(v->next_ns, xs_add_sat(v->now_ns, PROMOTE_NS - e->memo[M_WAITED]));
    }
}

const struct xs_policy_ops xs_policy_mlfq = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyMultiLevelFeedbackQueue,
    .name = "MLFQ",
    .title = "multi-level feedback queue",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
};
