/* SPDX-License-Identifier: Apache-2.0 */
/* HHPF: as HPF, over all devices of the host: an urgent queue on one device holds lesser ones on
 * every device, for programs whose stages run on several. */
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

const struct xs_policy_ops xs_policy_hhpf = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyHeterogeneousHighestPriorityFirst,
    .name = "HHPF",
    .title = "highest priority first over all devices",
    .scope = XS_SCOPE_HOST,
    .flags = XS_POLICY_BY_RANK | XS_POLICY_READS_PRIORITY,
    .decide = decide,
};
