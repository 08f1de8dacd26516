/* SPDX-License-Identifier: Apache-2.0 */
/* LAX: a queue has its lax priority until its laxity has passed since it became ready, then its
 * critical one; the highest run. A queue without a laxity has its plain priority throughout. */
#include "policy/common.h"

static uint64_t critical_at(const struct xs_policy_entity *e)
{
    return xs_policy_after_us(e->ready_since_ns, e->hints.laxity_us);
}

static int32_t priority(const struct xs_policy_entity *e, uint64_t now_ns)
{
    if (e->hints.laxity_us < 0)
        return e->hints.priority;
    if (e->ready ? now_ns >= critical_at(e) : e->hints.laxity_us == 0)
        return e->hints.critical_priority;
    return e->hints.lax_priority;
}

static void decide(struct xs_policy_view *v)
{
    size_t ready = 0;

    xs_policy_highest(v, priority);
    for (size_t i = 0; i < v->n; i++)
        ready += v->entities[i]->ready && !xs_policy_barred(v->entities[i]);
    if (ready < 2) /* nothing is held, or for something that is alone: no change by time */
        return;
    for (size_t i = 0; i < v->n; i++) {
        const struct xs_policy_entity *e = v->entities[i];

        if (e->ready && e->hints.laxity_us >= 0 && critical_at(e) > v->now_ns && !xs_policy_barred(e))
            v->next_ns = XS_MIN(v->next_ns, critical_at(e));
    }
}

const struct xs_policy_ops xs_policy_lax = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyLaxity,
    .name = "LAX",
    .title = "lax priority until the laxity has passed",
    .scope = XS_SCOPE_DEVICE,
    .flags = XS_POLICY_BY_RANK | XS_POLICY_READS_PRIORITY | XS_POLICY_READS_LAXITY,
    .decide = decide,
};
