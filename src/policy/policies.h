/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in policies; xsched/policy.h defines a policy. */
#ifndef XS_POLICY_POLICIES_H
#define XS_POLICY_POLICIES_H

#include "base/xs_base.h"

#include "xsched/policy.h"
#include "xsched/types.h"

/** The built-in policies, in the order of their XPolicyType. */
extern const struct xs_policy_ops *const xs_policies[];
extern const size_t xs_policies_count;
/** By XPolicyType, or NULL. */
const struct xs_policy_ops *xs_policy_by_type(int type);
/** By name ("HPF", any case), or NULL. */
const struct xs_policy_ops *xs_policy_by_name(const char *name);

/** Its flags (XS_POLICY_*), also of one whose writer knew none. */
static inline uint32_t xs_policy_flags(const struct xs_policy_ops *ops)
{
    if (ops->size < offsetof(struct xs_policy_ops, flags) + sizeof(ops->flags))
        return XS_POLICY_USES_SERVICE;
    return ops->flags;
}

/** Which hints it reads (XS_POLICY_READS_*). @return false: its writer could not say */
static inline bool xs_policy_reads(const struct xs_policy_ops *ops, uint32_t *ret)
{
    bool known = ops->type != 0 || /* one of ours */
                 (ops->size >= offsetof(struct xs_policy_ops, flags_known) + sizeof(ops->flags_known) &&
                  (ops->flags_known & XS_POLICY_READS_PRIORITY)); /* older than a later hint: it does not read that */

    *ret = known ? ops->flags & XS_POLICY_READS : 0;
    return known;
}

/** The i-th of the hints that a policy may read: its name, as xserver's answer to /policy has it, and the one flag
 *  XS_POLICY_READS_*. @return false: there are not so many */
bool xs_policy_hint(size_t i, const char **ret_name, uint32_t *ret_reads);
/** The first built-in policy that reads one of these hints (XS_POLICY_READS_*), or NULL. */
const struct xs_policy_ops *xs_policy_that_reads(uint32_t reads);

/** Space for all names and the text between them; tests/policy checks that they fit. */
#define XS_POLICY_NAMES_BYTES 256
/** How long an entity runs after too long a suspension: a slice (timeslice_ns, at least 20 times the cost of
 *  a switch), or 5 ms where slices last for more than a second. */
uint64_t xs_policy_grace_ns(const struct xs_policy_params *p);

/** Writes the names of the built-in policies, with `between` between two of them ("HPF, HHPF, ..."). Cuts
 *  text that does not fit. @return ret */
const char *xs_policy_names(char *ret, size_t size, const char *between);

#endif
