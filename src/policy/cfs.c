/* SPDX-License-Identifier: Apache-2.0 */
/* CFS: one queue runs at a time, the one with the least virtual runtime; it keeps the device for
 * a slice. Virtual runtime grows with measured service, divided by a weight of 1.2^priority. A
 * queue that becomes ready starts at the least virtual runtime of those that are ready, so that
 * it gets its share from then on and nothing for the past. */
#include "policy/common.h"

enum { M_VRUNTIME, M_SERVICE, M_FLAGS, M_PENDING };        /* entity */
enum { V_HOLDER, V_UNTIL, V_FLOOR, V_LAST };               /* view */
enum { F_SEEN = 1, F_READY = 2, F_MEASURED = 4 };

/* 1024 x 1.2^p for p = 0..20, rounded; negative ones by division: 1024^2 / weight(-p). */
static const uint32_t weights[21] = {
    1024, 1229, 1475, 1769, 2123, 2548, 3058, 3669, 4403, 5284, 6340,
    7608, 9130, 10956, 13147, 15777, 18932, 22718, 27262, 32715, 39258,
};

static uint64_t scaled(uint64_t ns, int32_t priority)
{
    int32_t p = XS_MAX(-20, XS_MIN(20, priority));
    uint64_t w = weights[p < 0 ? -p : p];

    return p < 0 ? ns / 1024 * w + ns % 1024 * w / 1024 : ns / w * 1024 + ns % w * 1024 / w;
}

/* service_ns lacks the device time of commands that have not completed. Until they complete, the
 * time for which the queue had the device stands for theirs, up to a slice. A queue that nobody ever measured
 * pays for all of that time: else it would keep the device for ever. */
static uint64_t vruntime(const struct xs_policy_entity *e)
{
    return e->memo[M_VRUNTIME] + scaled(e->memo[M_PENDING], e->hints.priority);
}

static bool active(const struct xs_policy_entity *e)
{
    return e->ready && !xs_policy_barred(e);
}

static void charge(struct xs_policy_view *v, uint64_t slice)
{
    uint64_t passed = v->now_ns - XS_MIN(v->now_ns, v->memo[V_LAST]); /* counts for a holder only */

    v->memo[V_LAST] = v->now_ns;
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t *m = e->memo, got;

        if (!(m[M_FLAGS] & F_SEEN)) {
            m[M_FLAGS] = F_SEEN;
            m[M_SERVICE] = e->service_ns;
        }
        got = e->service_ns - m[M_SERVICE];
        m[M_SERVICE] = e->service_ns;
        if (got)
            m[M_FLAGS] |= F_MEASURED;
        m[M_VRUNTIME] += scaled(got, e->hints.priority);
        if (v->memo[V_HOLDER] == e->id)
            m[M_PENDING] += passed;
        m[M_PENDING] -= XS_MIN(m[M_PENDING], got);
        if ((m[M_FLAGS] & F_MEASURED) && m[M_PENDING] > slice)
            m[M_PENDING] = slice;
    }
}

/* Those that just became ready join at the floor: the least of those that were ready already, or
 * what that was when the last of them went. */
static void admit(struct xs_policy_view *v)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < v->n; i++) {
        const struct xs_policy_entity *e = v->entities[i];

        if (active(e) && (e->memo[M_FLAGS] & F_READY))
            least = XS_MIN(least, vruntime(e));
    }
    if (least != UINT64_MAX)
        v->memo[V_FLOOR] = XS_MAX(v->memo[V_FLOOR], least);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];
        uint64_t *m = e->memo;

        if (active(e) && !(m[M_FLAGS] & F_READY)) {
            m[M_FLAGS] |= F_READY;
            m[M_VRUNTIME] = XS_MAX(m[M_VRUNTIME], v->memo[V_FLOOR]);
        } else if (!active(e)) {
            if (!(m[M_FLAGS] & F_MEASURED))
                m[M_VRUNTIME] = vruntime(e);
            m[M_FLAGS] &= ~(uint64_t)F_READY;
            m[M_PENDING] = 0; /* a measured one left the device unused */
        }
    }
}

static void decide(struct xs_policy_view *v)
{
    uint64_t slice = xs_policy_slice_ns(v->params);
    struct xs_policy_entity *best = NULL, *holder = NULL;

    charge(v, slice);
    admit(v);
    for (size_t i = 0; i < v->n; i++) {
        struct xs_policy_entity *e = v->entities[i];

        if (!active(e))
            continue;
        if (e->id == v->memo[V_HOLDER])
            holder = e;
        if (!best || vruntime(e) < vruntime(best))
            best = e;
    }
    if (xs_policy_uncontended(v)) {
        v->memo[V_HOLDER] = best ? best->id : 0;
        v->memo[V_UNTIL] = 0; /* its slice begins when somebody else comes */
        return;
    }
    if (holder && v->memo[V_UNTIL] == 0)
        v->memo[V_UNTIL] = xs_add_sat(v->now_ns, slice);
    else if (best && (!holder || v->now_ns >= v->memo[V_UNTIL])) {
        holder = best;
        v->memo[V_HOLDER] = best->id;
        v->memo[V_UNTIL] = xs_add_sat(v->now_ns, slice);
    }
    for (size_t i = 0; i < v->n; i++)
        v->entities[i]->run = holder && v->entities[i] == holder;
    v->next_ns = v->memo[V_UNTIL];
}

const struct xs_policy_ops xs_policy_cfs = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyCompletelyFairScheduler,
    .name = "CFS",
    .title = "least virtual runtime first",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = XS_POLICY_USES_SERVICE | XS_POLICY_READS_PRIORITY,
};
