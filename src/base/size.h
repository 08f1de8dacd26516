/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of memory as users write them. */
#ifndef XS_SIZE_H
#define XS_SIZE_H

#include "base/xs_base.h"

struct xs_size {
    uint64_t bytes;   /* percent is 0 */
    unsigned percent; /* of a device's memory, 1 to 100; 0: bytes is valid */
};

/** "8G", "512 MiB", "1.5g", "1000000", "50%": binary units K, M, G, T, with iB or B behind them.
 *  @return 0, -EINVAL (none of these, or nothing) or -ERANGE */
int xs_size_parse(const char *text, struct xs_size *ret);

#endif
