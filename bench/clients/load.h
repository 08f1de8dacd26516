/* SPDX-License-Identifier: Apache-2.0 */
/* What the load client needs of a device; load_cuda.c and load_opencl.c have it. Every failure ends the
 * client with a line that says what failed. */
#ifndef XS_BENCH_LOAD_H
#define XS_BENCH_LOAD_H

#include <stdint.h>

#define LOAD_SLOTS 64

struct load_queue;

#define LOAD_DEVICES 8

/** Finds the vendor's library and the devices. Called once, before anything else. @return how many devices there are */
int load_open(void);
/** Name of the first device, its vendor's version, its memory in bytes (0: unknown). */
void load_about(const char **ret_name, const char **ret_driver, uint64_t *ret_bytes);
/** Called by each thread before it uses a queue of that device. */
void load_thread(int device);
/** @param device    from 0, below what load_open() said and LOAD_DEVICES
 *  @param priority  larger is more urgent; left out where the vendor has no such thing */
struct load_queue *load_queue_new(int device, int priority);
/** Launches a kernel of so many rounds over width_percent of the device. The kernel's first act is to
 *  store stamp (0: none) where load_started() reads it; its result is added to load_sum(). */
void load_launch(struct load_queue *q, uint64_t rounds, unsigned width_percent, uint32_t stamp);
/** The stamp last stored, without a call of the vendor. */
uint32_t load_started(struct load_queue *q);
/** Marks the queue's end so far under a slot below LOAD_SLOTS, and waits for what was marked. */
void load_mark(struct load_queue *q, unsigned slot);
void load_wait(struct load_queue *q, unsigned slot);
void load_finish(struct load_queue *q);
/** Sum of the results of all kernels of this queue so far; after load_finish(). */
uint64_t load_sum(struct load_queue *q);
/** True: waiting for a stamp may spin; false: the device is this processor, so sleep between looks. */
int load_may_spin(void);

void load_die(const char *what, int code) __attribute__((noreturn));

#endif
