/* SPDX-License-Identifier: Apache-2.0 */
/* SPUP: as PUP, but no other process gets the slice of one that is not ready: it passes unused. See
 * share.h. */
#include "policy/share.h"

static void decide(struct xs_policy_view *v)
{
    xs_policy_share(v, XS_SHARE_PROCESSES | XS_SHARE_STRICT);
}

const struct xs_policy_ops xs_policy_spup = {
    .abi = XS_POLICY_ABI,
    .size = sizeof(struct xs_policy_ops),
    .type = kPolicyStrictProcessUtilizationPartition,
    .name = "SPUP",
    .title = "strict process utilization partition",
    .scope = XS_SCOPE_DEVICE,
    .decide = decide,
    .flags = XS_POLICY_USES_SERVICE | XS_POLICY_TURNS | XS_POLICY_READS_PROCESS_UTILIZATION,
};
