/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock: CLOCK_MONOTONIC in nanoseconds, the same in every process of the host. */
#ifndef XS_CLOCK_H
#define XS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t xs_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif
