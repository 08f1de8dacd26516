/* SPDX-License-Identifier: Apache-2.0 */
/* UP: round robin over the ready queues of a device, slices in proportion to utilization. The turn passes
 * over a queue that is not ready. See share.h. */
#include "policy/share.h"

static void decide(struct xs_policy_view *v)
{
    xs_policy_share(v, XS_SHARE_QUEUES);
}

const struct xs_policy_ops xs_policy_up = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyUtilizationPartition,
    .name = "UP",
    .title = "utilization partition",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = XS_POLICY_USES_SERVICE | XS_POLICY_TURNS | XS_POLICY_READS_UTILIZATION,
};
