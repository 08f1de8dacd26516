/* SPDX-License-Identifier: Apache-2.0 */
/* HPF: of the ready queues of a device, those of the highest priority run. */
#include "policy/common.h"

static int32_t priority(const struct xs_policy_entity *e, uint64_t now_ns)
{
    (void)now_ns;
    return e->hints.priority;
}

static void decide(struct xs_policy_view *v)
{
    xs_policy_highest(v, priority);
}

const struct xs_policy_ops xs_policy_hpf = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyHighestPriorityFirst,
    .name = "HPF",
    .title = "highest priority first",
    .scope = XS_SCOPE_DEVICE,
    .flags = XS_POLICY_BY_RANK | XS_POLICY_READS_PRIORITY,
    .decide = decide,
};
