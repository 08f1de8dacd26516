/* SPDX-License-Identifier: Apache-2.0 */
/* CHPF: as HPF, with the priority that the process has for the CPU: real-time classes first, then
 * by nice. xserver reads that priority where it can, and seldom (XS_POLICY_CPU_CLASS). */
#include "policy/common.h"

static int32_t priority(const struct xs_policy_entity *e, uint64_t now_ns)
{
    (void)now_ns;
    return e->process->sched_class_priority;
}

static void decide(struct xs_policy_view *v)
{
    xs_policy_highest(v, priority);
}

const struct xs_policy_ops xs_policy_chpf = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyCPUHighestPriorityFirst,
    .name = "CHPF",
    .title = "highest CPU scheduling priority first",
    .scope = XS_SCOPE_DEVICE,
    .flags = XS_POLICY_BY_RANK | XS_POLICY_CPU_CLASS,
    .decide = decide,
};
