/* SPDX-License-Identifier: Apache-2.0 */
#include "base/settings/hint_rows.h"

#include "xsched/policy.h"

const struct xs_hints_later xs_hints_later_none = {
#define LATER_HINT(since, fold, symbol, number, field, type, without, ...) .field = without,
#include "base/settings/hints.def"
};

const struct xs_hint_row xs_hint_rows[] = {
#define COMMON(symbol, number, type_, name_, run, xcli, arg_, help_)                                          \
    .name = name_, .type = XS_TYPE type_, .variable = XS_ENV_XSCHED_AUTO_XQUEUE_##symbol,                     \
    .run_key = XS_HINT_OPTION(run, number), .xcli_key = XS_HINT_OPTION(xcli, number), .arg = arg_, .help = help_
#define QUEUE_HINT(symbol, number, field, type_, without_, unit_, reads_, process, name_, run, xcli, arg_, help_)  \
    [number] = {COMMON(symbol, number, type_, name_, run, xcli, arg_, help_), .of_queue = true,                \
                .without = without_, .unit = unit_, .reads = XS_POLICY_READS_##reads_,                         \
                .reads_of_process = XS_POLICY_READS_##process},
#define SCHED_HINT(symbol, number, type_, usual, name_, run, xcli, arg_, help_)                                \
    [number] = {COMMON(symbol, number, type_, name_, run, xcli, arg_, help_), .without = usual, .unit = ""},
#include "base/settings/hints.def"
};
const size_t xs_hint_rows_count = XS_ARRAY_LEN(xs_hint_rows);
