/* SPDX-License-Identifier: Apache-2.0 */
/* Round robin with slices in proportion to utilization (UP, PUP, SPUP): deficit round robin over
 * accounts, an account being an entity or the entities of one process on this device.
 *
 * An account's slice is timeslice x utilization / 100. The policy scales utilizations that sum to more than
 * 100; then one factor lengthens all slices until the shortest is worth a switch. At its turn an account
 * receives its slice as credit. It runs until that time has passed, its measured service has used the credit
 * up, or it is not ready any more.
 *
 * Measured service is a debit of the account at the moment it arrives. So commands that still run
 * during the next account's turn shorten their own account's next turn; and time that an account
 * could not use because another account's commands still ran lengthens it. The turn skips an
 * account in debt until its slices have paid.
 *
 * An account with utilization 0 runs only when no account with more is ready. */
#ifndef XS_POLICY_SHARE_H
#define XS_POLICY_SHARE_H

#include "policy/common.h"

enum {
    XS_SHARE_QUEUES = 0,
    XS_SHARE_PROCESSES = 1,      /* accounts are processes; saved credit decays and does not lapse */
    XS_SHARE_STRICT = 2,         /* an account that is not ready has its turn all the same */
};

void xs_policy_share(struct xs_policy_view *v, unsigned how);

#endif
