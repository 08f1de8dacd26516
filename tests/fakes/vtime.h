/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a test. A program that links this file has its own clock_gettime, futex time
 * limits, epoll_wait, poll and nanosleep: while virtual time is on, CLOCK_MONOTONIC is the
 * number set here, and a time limit runs out when that number reaches it. */
#ifndef XS_VTIME_H
#define XS_VTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define VTIME_START_NS     1000000000ull
#define VTIME_SHARED_BYTES 16384u

/** Moves the clock to the next full second. */
void vtime_enable(bool on);
bool vtime_enabled(void);
uint64_t vtime_now_ns(void);
/** Sets the clock; time limits that it reaches run out, and their threads have left their sleep
 *  when this returns. */
void vtime_set(uint64_t now_ns);
/** The earliest time limit of any sleeper; UINT64_MAX: none. */
uint64_t vtime_next_ns(void);
/** True when every thread of the process but the caller sleeps in the kernel and slept all the
 *  while between two looks (asleep.h). */
bool vtime_others_sleep(void);
/** The calling thread looks at something now and then, in real time: until poll_end that does not
 *  keep the others from counting as asleep. (On a loaded machine no two looks at the threads fit
 *  between two of its own, and virtual time would stand.) */
void vtime_poll_begin(void);
void vtime_poll_end(void);

/* Several processes with one clock (virtual/): it and the sleepers of each lie in shared memory. */
/** From here on this process has that clock, and virtual time is on. VTIME_SHARED_BYTES of zeros at `sleepers`.
 *  A thread that looks at the clock without end sleeps until the next round: when others have done something. */
void vtime_share(_Atomic uint64_t *now_ns, _Atomic uint64_t *round, void *sleepers);
/** From here on a sleep of this process lasts so much longer than asked for, as on a machine whose timers are late. */
void vtime_late(uint64_t ns);
/** As vtime_next_ns, of another process; and whether somebody there is to be woken at this time. */
uint64_t vtime_next_of(const void *sleepers);
bool vtime_due(const void *sleepers, uint64_t now_ns, uint64_t round);
/** A descriptor that is readable from a time on, as timerfd's. */
int vtime_timer_open(void);
/** @param at_ns  0: never @return false: no such timer */
bool vtime_timer_set(int fd, uint64_t at_ns);
/** May be defined: takes a system call before the kernel does. @return true when it took it */
bool vtime_other_syscall(long number, long *a, long *ret) __attribute__((weak));

/** Sleeps in real time, whatever the mode. Where virtual time is to go on meanwhile, use nanosleep
 *  or the two above. */
void vtime_real_sleep(const struct timespec *ts);
/** Real time, whatever the mode. */
uint64_t vtime_real_ns(void);

#endif
