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

bool xs_policy_hint(size_t i, const char **ret_name, uint32_t *ret_reads)
{
    static const struct {
        const char *name, *of_process;
        uint32_t reads, reads_of_process;
    } k_rows[] = {
#define QUEUE_HINT(symbol, number, field, type, without, unit, reads, process, name, ...) \
    {name, "process_" name, XS_POLICY_READS_##reads, XS_POLICY_READS_##process},
#include "base/settings/hints.def"
    };

    for (size_t row = 0; row < XS_ARRAY_LEN(k_rows); row++) {
        bool two = k_rows[row].reads != k_rows[row].reads_of_process;

        if (i == 0 || (i == 1 && two)) {
            *ret_name = i ? k_rows[row].of_process : k_rows[row].name;
            *ret_reads = i ? k_rows[row].reads_of_process : k_rows[row].reads;
            return true;
        }
        i -= two ? 2 : 1;
    }
    return false;
}

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
