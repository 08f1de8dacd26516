/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policies.h"

#include "base/str.h"

#define XS_POLICY(type, symbol) extern const struct xs_policy_ops xs_policy_##symbol;
#include "policy/policies.def"
#undef XS_POLICY

const struct xs_policy_ops *const xs_policies[] = {
#define XS_POLICY(type, symbol) [(type)-1] = &xs_policy_##symbol,
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
