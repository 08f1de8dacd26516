/* SPDX-License-Identifier: Apache-2.0 */
/* AWF: of the ready queues, those of a process that owns an active window run; if there are none,
 * all run. */
#include "policy/common.h"

static int32_t priority(const struct xs_policy_entity *e, uint64_t now_ns)
{
    (void)now_ns;
    return e->process->window_active ? 1 : 0;
}

static void decide(struct xs_policy_view *v)
{
    xs_policy_highest(v, priority);
}

const struct xs_policy_ops xs_policy_awf = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyActiveWindowFirst,
    .name = "AWF",
    .title = "active window first",
    .scope = XS_SCOPE_DEVICE,
    .flags = XS_POLICY_BY_RANK,
    .decide = decide,
};
