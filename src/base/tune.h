/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that tests and benchmarks vary (tune.def), from the one variable XSCHED_TUNE. */
#ifndef XS_BASE_TUNE_H
#define XS_BASE_TUNE_H

#include <stdint.h>

enum xs_tune_id {
#define X(symbol, key, type, help) XS_TUNE_##symbol,
#include "base/tune.def"
#undef X
    XS_TUNE_COUNT
};

/** The value that XSCHED_TUNE gives to a constant, or `usual` where it gives none. Reads the
 *  environment: a caller in the launch path keeps the answer. Logs a key that does not exist, or a
 *  value out of its range, once at WARN, and ignores it. Any thread. */
int64_t xs_tune_i64(enum xs_tune_id id, int64_t usual);
/** The same; also stores the answer in *ret_kept, where callers in the launch path find it. */
int64_t xs_tune_keep(enum xs_tune_id id, int64_t usual, _Atomic int64_t *ret_kept);

#endif
