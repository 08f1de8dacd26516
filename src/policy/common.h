/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several policies share. Inside src/policy only. */
#ifndef XS_POLICY_COMMON_H
#define XS_POLICY_COMMON_H

#include "policy/policies.h"

/** Words of an entity's memo that xs_policy_starvation uses; a policy that calls it keeps off. */
enum { XS_MEMO_HELD_SINCE = 6, XS_MEMO_GRACE_UNTIL = 7 };

/** A queue that its owner barred never runs, whatever the policy. */
static inline bool xs_policy_barred(const struct xs_policy_entity *e)
{
    return e->hints.priority <= PRIORITY_NO_EXECUTE;
}

/** a + b, UINT64_MAX on overflow. */
static inline uint64_t xs_add_sat(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/** The moment `us` microseconds after `from`; never (UINT64_MAX) when us is negative. */
static inline uint64_t xs_policy_after_us(uint64_t from_ns, int64_t us)
{
    if (us < 0 || (uint64_t)us > UINT64_MAX / XS_NS_PER_US)
        return UINT64_MAX;
    return xs_add_sat(from_ns, (uint64_t)us * XS_NS_PER_US);
}

/** An ordering policy's priority of an entity at a moment. */
typedef int32_t (*xs_policy_priority_fn)(const struct xs_policy_entity *e, uint64_t now_ns);

/** The entities of the highest priority among the ready ones run; so do idle ones that would
 *  join or preempt them. With nothing ready all may start. Ends with xs_policy_starvation. */
void xs_policy_highest(struct xs_policy_view *v, xs_policy_priority_fn priority);

/** After a decision: a ready entity that the policy has suspended for params->starvation_ns runs beside the
 *  others for one slice. Lowers next_ns to the next such moment. */
void xs_policy_starvation(struct xs_policy_view *v);

/** The slice in force: timeslice_ns, at least 20 times the cost of a switch. */
uint64_t xs_policy_slice_ns(const struct xs_policy_params *p);

/** If at most one entity is ready, permits all but the barred ones and sets no timer.
 *  @return false (nothing decided) when there are more */
bool xs_policy_uncontended(struct xs_policy_view *v);

#endif
