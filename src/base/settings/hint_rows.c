/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings/hint_rows.h"

#include "xsched/policy.h"

const struct xs_hints_later xs_hints_later_none = {
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) .field = without,
#include "base/settings/hints.def"
};

const struct xs_hint_row xs_hint_rows[] = {
#define QUEUE_HINT(symbol, number, field, type_, without_, unit_, reads_, process, name_, run, xcli, arg_, help_) \
    [number] = {.name = name_, .type = XS_TYPE type_, .variable = XS_ENV_XSCHED_AUTO_XQUEUE_##symbol, .of_queue = true, \
                .without = without_, .reads = XS_POLICY_READS_##reads_, .reads_of_process = XS_POLICY_READS_##process, \
                .unit = unit_, .run_key = XS_HINT_OPTION(run, number), .xcli_key = XS_HINT_OPTION(xcli, number), .arg = arg_, .help = help_},
#define SCHED_HINT(symbol, number, type_, usual, name_, run, xcli, arg_, help_) \
    [number] = {.name = name_, .type = XS_TYPE type_, .variable = XS_ENV_XSCHED_AUTO_XQUEUE_##symbol, .unit = "", \
                .without = usual, .run_key = XS_HINT_OPTION(run, number), .xcli_key = XS_HINT_OPTION(xcli, number), .arg = arg_, .help = help_},
#include "base/settings/hints.def"
};
const size_t xs_hint_rows_count = XS_ARRAY_LEN(xs_hint_rows);
