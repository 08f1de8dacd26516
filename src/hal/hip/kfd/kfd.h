/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own queues on AMD's stock driver. Level 3 takes them off the device and puts them back, by the
 * request with which ROCr itself suspends queues (decision 0016). Beside a more important program, masks confine
 * them to a part of the compute units (decision 0048). The driver accepts both only from the process that opened
 * /dev/kfd. So xserver sends its wish, and the control thread carries it out. None of it has run on an AMD GPU.
 *
 * The program's requests that make, change and end queues pass through here, so that XSched knows the queues
 * and the program's wishes for them. The table is in static memory; a thread has its lock for a few stores,
 * never across a request. */
#ifndef XS_KFD_H
#define XS_KFD_H

#include "hal/hip/kfd/kfd_layout.h"

#define XS_KFD_QUEUES  128u       /* compute queues of one process; with more there is no level 3 */
#define XS_KFD_DEVICES 16u

/** Does a request that xs_kfd_wants for the program. As ioctl(2). */
int xs_kfd_call(int fd, unsigned long request, void *arg);
/** The function that makes the system call in the end; before the first request. NULL: a plain system
 *  call. */
void xs_kfd_set_ioctl(int (*fn)(int fd, unsigned long request, void *arg));

/** 3; 1 when there is no level 3 in this process (for its life) or it has made no request yet. */
int xs_kfd_level(void);
/** Why it is 1: static text; "" at 3. */
const char *xs_kfd_why(void);
/** Ends level 3 in this process; the caller says why. @param why  static text */
void xs_kfd_end(const char *why);
/** Ends masks in this process, for its life; one line says why. The next xs_kfd_due puts the program's own masks
 *  back. @param why  static text; @param number  goes with it */
void xs_kfd_refuse_masks(const char *why, uint32_t number);
/** Why there are no masks: static text; "" where there may be. */
const char *xs_kfd_why_no_masks(void);

/** The scheduler's wish for a device. */
struct xs_kfd_wish {
    bool off;
    uint64_t until_ns;            /* void from then on (CLOCK_MONOTONIC) */
    uint32_t part;                /* compute units that its queues have, one of xs_kfd_lanes; 0: all. Where they are
                                     off, it changes when they are on again */
};

/* Everything below: one thread, which waits for no lock (the control thread; a probe's only one). */

/** The device with this PCI address (the low half of an XDevice). @return false when it has no queues here */
bool xs_kfd_wish(uint32_t address, const struct xs_kfd_wish *w);
/** Brings each queue to its wanted state, and ends expired wishes.
 *  @return when to call again at the latest; UINT64_MAX: no queue is off */
uint64_t xs_kfd_due(uint64_t now_ns);
/** Brings every queue to the program's own state. @return false: call again soon */
bool xs_kfd_restore(void);

/** The outcome of a wish. @return false when there is no news */
struct xs_kfd_report {
    uint32_t address;
    bool off;
    uint32_t queues;              /* brought to that state */
    int error;                    /* -errno of the driver, 0 */
    uint64_t took_ns;
};
bool xs_kfd_report(struct xs_kfd_report *ret);

struct xs_kfd_device {
    uint32_t address;             /* PCI: domain << 16 | bus << 8 | device << 3 | function */
    uint32_t queues;              /* 0: it had some */
};
/** Changes with the answers of xs_kfd_device. Any thread, no lock. */
uint32_t xs_kfd_generation(void);
/** @return 0, -ENOENT (no more), -EAGAIN (another thread changes the table: later) */
int xs_kfd_device(uint32_t index, struct xs_kfd_device *ret);

/** The parts of a device to which masks can confine its queues: XS_LANES(wide, narrow), or XS_LANES_NONE where
 *  there are none in this process, or on this device. The control thread.
 *  @param ret_units  the compute units of the device
 *  @return 0: the process has no queues there, or another thread changes the table */
uint32_t xs_kfd_lanes(uint32_t address, uint32_t *ret_units);

/** The part of a device that masks can make of so many compute units wanted. Likewise. @return 0: there is none */
uint32_t xs_kfd_part_near(uint32_t address, uint32_t wanted);

/** Called after each change, in the thread that made it, with no lock held. */
void xs_kfd_set_listener(void (*changed)(void));

/** Offers the queues to a scheduler outside, through libpreempt (kfd_publish.c). Once, any thread. */
void xs_kfd_publish(void);

/** For tests: forgets everything. @param topology  in place of the kernel's folder; NULL: that */
void xs_kfd_reset(const char *topology);

#endif
