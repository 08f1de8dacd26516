/* SPDX-License-Identifier: Apache-2.0 */
#include "query/mps_priority.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool xs_mps_priority_is_stale(const json_t *process, int64_t priority, char *ret, size_t size)
{
    const char *has = json_string_value(json_object_get(process, "mps_priority"));
    const char *would = priority > 0 ? "higher" : "lower"; /* as xsched run chooses it */

    if (!has || strcmp(has, would) == 0)
        return false;
    snprintf(ret, size,
             "PID %" JSON_INTEGER_FORMAT ": MPS gave it the %s priority when it started; priority %" PRId64
             " would get the %s one, at its next start",
             json_integer_value(json_object_get(process, "pid")), has, priority, would);
    return true;
}
