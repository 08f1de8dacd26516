/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policies; what a policy is, is in xsched/policy.h. */
#ifndef XS_POLICY_POLICIES_H
#define XS_POLICY_POLICIES_H

#include "base/xs_base.h"

#include "xsched/policy.h"

/** The built-in policies, in the order of their XPolicyType. */
extern const struct xs_policy_ops *const xs_policies[];
extern const size_t xs_policies_count;
/** By XPolicyType 1..11, or NULL. */
const struct xs_policy_ops *xs_policy_by_type(int type);
/** By name ("HPF", any case), or NULL. */
const struct xs_policy_ops *xs_policy_by_name(const char *name);

#endif
