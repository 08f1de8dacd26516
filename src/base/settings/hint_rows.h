/* SPDX-License-Identifier: Apache-2.0 */
/* The hints, from the one table hints.def. Fields that older policies know are in struct xs_hints
 * (xsched/policy.h). That one cannot grow, since it lies inside what a policy sees. */
#ifndef XS_HINT_ROWS_H
#define XS_HINT_ROWS_H

#include "base/env.h"

/** hint_type of the HTTP interface. */
enum xs_hint_kind {
#define QUEUE_HINT(symbol, number, ...) XS_HINT_##symbol = number,
#define SCHED_HINT(symbol, number, ...) XS_HINT_##symbol = number,
#include "base/settings/hints.def"
    XS_HINT_WINDOW = 7,            /* the active window; no value */
};

/** The parts of a queue's hints that change independently. */
enum xs_hint_part {
#define QUEUE_HINT(symbol, ...) XS_PART_##symbol,
#include "base/settings/hints.def"
    XS_PARTS
};

/** The fields of a queue that came later than struct xs_hints. */
struct xs_hints_later {
#define LATER_HINT(since, fold, symbol, number, field, ...) int64_t field;
#include "base/settings/hints.def"
    __extension__ char none[0];    /* a struct has a member */
};

extern const struct xs_hints_later xs_hints_later_none;

struct xs_hint_row {
    const char *name;              /* its option, member in JSON, argument in Python; NULL: no row */
    struct xs_value_type type;
    enum xs_env_id variable;
    bool of_queue;                 /* else of the scheduler as a whole */
    int64_t without;               /* the value that wishes nothing */
    uint32_t reads, reads_of_process; /* XS_POLICY_READS_*: who goes by it, of a queue and of a process */
    const char *unit;              /* behind a value, for users: " us" */
    int run_key, xcli_key;         /* of the option; XS_HINT_KEY + number: it has no letter */
    const char *arg, *help;
};
#define XS_HINT_KEY 0x1000
/** The key of an option. @param letter  or 0 */
#define XS_HINT_OPTION(letter, number) ((letter) + ((letter) == 0) * (XS_HINT_KEY + (number)))

/** By xs_hint_kind, with holes. */
extern const struct xs_hint_row xs_hint_rows[];
extern const size_t xs_hint_rows_count;

#endif
