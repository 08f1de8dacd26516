/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on AMD's stock driver: the program's own queues taken off the device and put back, by the request that ROCr
 * itself suspends queues with. The driver takes it from the process that opened /dev/kfd only, so xserver says what it
 * wants and the control thread does it (decision 0016). None of it has run on an AMD GPU.
 *
 * Requests of the program that make, change and end queues pass through here, so that the queues and what the program
 * wants of them are known. The table is in static memory; its lock is held for a few stores, never across a request. */
#ifndef XS_KFD_H
#define XS_KFD_H

#include "hal/hip/kfd/kfd_layout.h"

#define XS_KFD_QUEUES  128u       /* compute queues of one process; with more there is no level 3 */
#define XS_KFD_DEVICES 16u

/** Does a request that xs_kfd_wants for the program. As ioctl(2). */
int xs_kfd_call(int fd, unsigned long request, void *arg);
/** What does a request in the end; before the first. NULL: a plain system call. */
void xs_kfd_set_ioctl(int (*fn)(int fd, unsigned long request, void *arg));

/** 3; 1 when there is no level 3 in this process (for its life) or nothing was seen yet. */
int xs_kfd_level(void);
/** Why it is 1: static text; "" at 3. */
const char *xs_kfd_why(void);
/** Ends level 3 in this process; the caller says why. @param why  static text */
void xs_kfd_end(const char *why);

/** What the scheduler wants for a device. */
struct xs_kfd_wish {
    bool off;
    uint64_t until_ns;            /* void from then on (CLOCK_MONOTONIC) */
};

/* Everything below: one thread, which waits for no lock (the control thread; a probe's only one). */

/** The device with this PCI address (the low half of an XDevice). @return false when it has no queues here */
bool xs_kfd_wish(uint32_t address, const struct xs_kfd_wish *w);
/** Brings the queues to where they are wanted, ends what has expired.
 *  @return when to call again at the latest; UINT64_MAX: nothing is off */
uint64_t xs_kfd_due(uint64_t now_ns);
/** Everything as the program wants it. @return false: call again soon */
bool xs_kfd_restore(void);

/** What came of a wish. @return false when there is nothing new to tell */
struct xs_kfd_report {
    uint32_t address;
    bool off;
    uint32_t queues;              /* that were brought there */
    int error;                    /* -errno of the driver, 0 */
    uint64_t took_ns;
};
bool xs_kfd_report(struct xs_kfd_report *ret);

struct xs_kfd_device {
    uint32_t address;             /* PCI: domain << 16 | bus << 8 | device << 3 | function */
    uint32_t queues;              /* 0: it had some */
};
/** Changes with what the next tells. Any thread, no lock. */
uint32_t xs_kfd_generation(void);
/** @return 0, -ENOENT (no more), -EAGAIN (the table is being changed: later) */
int xs_kfd_device(uint32_t index, struct xs_kfd_device *ret);

/** Called after each change, in the thread that made it, with no lock held. */
void xs_kfd_set_listener(void (*changed)(void));

/** Offers the queues to a scheduler outside, through libpreempt (kfd_publish.c). Once, any thread. */
void xs_kfd_publish(void);

/** For tests: forgets everything. @param topology  in place of the kernel's folder; NULL: that */
void xs_kfd_reset(const char *topology);

#endif
