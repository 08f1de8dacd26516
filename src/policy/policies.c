/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policies.h"

#include "base/str.h"

#include <stdio.h>

#define XS_POLICY(type, symbol) extern const struct xs_policy_ops xs_policy_##symbol;
#include "policy/policies.def"
#undef XS_POLICY

enum {
    ROW_0,
#define XS_POLICY(type, symbol) ROW_##symbol,
#include "policy/policies.def"
#undef XS_POLICY
    ROWS_END
};
#define XS_POLICY(type, symbol) _Static_assert((int)(type) == (int)ROW_##symbol, "row n of policies.def has number n");
#include "policy/policies.def"
#undef XS_POLICY
_Static_assert((int)ROWS_END == (int)kPolicyMax, "each XPolicyType has a row in policies.def");

const struct xs_policy_ops *const xs_policies[] = {
#define XS_POLICY(type, symbol) &xs_policy_##symbol,
#include "policy/policies.def"
#undef XS_POLICY
};
const size_t xs_policies_count = XS_ARRAY_LEN(xs_policies);

const struct xs_policy_ops *xs_policy_by_type(int type)
{
    if (type < 1 || (size_t)type > xs_policies_count)
        return NULL;
    return xs_policies[type - 1];
}

const struct xs_policy_ops *xs_policy_by_name(const char *name)
{
    for (size_t i = 0; name && i < xs_policies_count; i++) {
        if (xs_str_equal_nocase(xs_policies[i]->name, name))
            return xs_policies[i];
    }
    return NULL;
}

const struct xs_policy_hint xs_policy_hints[] = {
    {"priority", XS_POLICY_READS_PRIORITY},
    {"utilization", XS_POLICY_READS_UTILIZATION},
    {"process_utilization", XS_POLICY_READS_PROCESS_UTILIZATION},
    {"deadline", XS_POLICY_READS_DEADLINE},
    {"laxity", XS_POLICY_READS_LAXITY},
};
const size_t xs_policy_hints_count = XS_ARRAY_LEN(xs_policy_hints);

const struct xs_policy_ops *xs_policy_that_reads(uint32_t reads)
{
    for (size_t i = 0; i < xs_policies_count; i++) {
        if (xs_policies[i]->flags & reads)
            return xs_policies[i];
    }
    return NULL;
}

const char *xs_policy_names(char *ret, size_t size, const char *between)
{
    size_t at = 0;

    if (size)
        ret[0] = 0;
    for (size_t i = 0; i < xs_policies_count && at < size; i++)
        at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? between : "", xs_policies[i]->name);
    return ret;
}
