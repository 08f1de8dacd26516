/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's behaviour as a table: facts change, the decision is compared with what the rule
 * gives. The answer is a value and no assertion, so that a test can also show that a wrong
 * variant fails the same table. */
#ifndef XS_TEST_TABLE_H
#define XS_TEST_TABLE_H

#include "policy/policies.h"

#define TABLE_ENTITIES  8
#define TABLE_PROCESSES 8
#define NEVER           UINT64_MAX
#define US              XS_NS_PER_US
#define MS              XS_NS_PER_MS

struct table_entity {
    unsigned process;              /* index */
    uint32_t device;
    struct xs_hints hints;
};

/* Facts are words about entities a, b, c, ...: "a+" ready, "a-" idle, "a*500" 500 us more of
 * service, "a=5" priority 5; and about processes: "w1" owns the active window, "w1-" no more. */
struct table_step {
    uint64_t at_us;
    const char *facts;
    const char *run;               /* the entities that may run: "ac" */
    uint64_t next_ns;              /* when it asks to be called again */
};

struct table {
    const char *name;
    struct xs_policy_params params;
    struct xs_policy_process processes[TABLE_PROCESSES];
    struct table_entity entities[TABLE_ENTITIES];
    size_t nentities;
    const struct table_step *steps;
    size_t nsteps;
};

#define HINTS(p)      { .priority = (p), .utilization = 100, .deadline_us = -1, .laxity_us = -1 }
#define UTIL(u)       { .utilization = (u), .deadline_us = -1, .laxity_us = -1 }
#define DEADLINE(us)  { .utilization = 100, .deadline_us = (us), .laxity_us = -1 }
#define NO_EXECUTE    (-256)
#define PARAMS(slice) { .timeslice_ns = (slice), .k = 1 }
#define STEPS(s)      .steps = (s), .nsteps = XS_ARRAY_LEN(s)

/** True when the policy decides as the table says at every step, and the same when asked twice.
 *  @param ret_why  what differed first; may be NULL */
bool table_holds(const struct table *t, const struct xs_policy_ops *ops, char ret_why[200]);

#endif
