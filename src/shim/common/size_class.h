/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes in the keys of estimates. */
#ifndef XS_SHIM_COMMON_SIZE_CLASS_H
#define XS_SHIM_COMMON_SIZE_CLASS_H

#include <stdint.h>

/** Four classes to the octave: sizes in one class take about the same time. */
static inline uint64_t xs_size_class(uint64_t bytes)
{
    unsigned top;

    if (bytes < 4)
        return bytes;
    top = 63u - (unsigned)__builtin_clzll(bytes);
    return (uint64_t)top * 4 + (bytes >> (top - 2) & 3);
}

#endif
