/* SPDX-License-Identifier: Apache-2.0 */
/* The one clock: CLOCK_MONOTONIC in nanoseconds, the same in every process of a time namespace. */
#ifndef XS_CLOCK_H
#define XS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The kernel's function in the process (vdso(7)), or a system call. Not the C library's: libfaketime and its like take
 * the place of that, and then the times of two processes do not compare. Any thread writes the same. The result is
 * not looked at: the kernel has this clock. */
typedef void (*xs_clock_fn)(clockid_t clock, struct timespec *ret);
extern xs_clock_fn xs_clock_read __attribute__((visibility("hidden")));

static inline uint64_t xs_now_ns(void)
{
    struct timespec ts;

    __atomic_load_n(&xs_clock_read, __ATOMIC_RELAXED)(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/** How far this process's clock is ahead of the host's (time_namespaces(7)), which does not change
 *  while it lives. One to three system calls. @return 0 where there are no such namespaces */
int64_t xs_clock_offset_ns(void);
/** The same from the text of /proc/PID/timens_offsets; 0 for a text that it cannot read. */
int64_t xs_clock_offset_of(const char *text);

#endif
