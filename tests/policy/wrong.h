/* SPDX-License-Identifier: Apache-2.0 */
/* One deliberately wrong variant of each policy, most with a defect that schedulers of this kind
 * really had. The tables must reject them: else the tables show nothing. */
#ifndef XS_TEST_WRONG_H
#define XS_TEST_WRONG_H

#include "policy/policies.h"

/** The wrong variant of the policy of this XPolicyType. */
const struct xs_policy_ops *wrong_policy(int type);

#endif
