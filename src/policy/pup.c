/* SPDX-License-Identifier: Apache-2.0 */
/* PUP: as UP, over processes. A process that is not ready lends its slice; its saved credit
 * decays by half with each round. See share.h. */
#include "policy/share.h"

static void decide(struct xs_policy_view *v)
{
    xs_policy_share(v, XS_SHARE_PROCESSES);
}

const struct xs_policy_ops xs_policy_pup = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyProcessUtilizationPartition,
    .name = "PUP",
    .title = "process utilization partition",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = XS_POLICY_USES_SERVICE | XS_POLICY_TURNS | XS_POLICY_READS_PROCESS_UTILIZATION,
};
