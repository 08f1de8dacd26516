/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's kernel driver for compute without a GPU: queues that are made, changed and ended as its public header
 * linux/kfd_ioctl.h says, and what it does of its own as far as that is known: numbers of ended queues are used again at
 * once; an update takes all fields; percentage 0 takes a queue off the device; a process that did not open the descriptor
 * gets EBADF. No GPU has been looked at for it.
 *
 * libfakekfd.so, preloaded behind libshimhip.so, has open, close and ioctl for /dev/kfd and for the kernel's folder of
 * devices. FAKE_KFD: version2 (another major), deny (updates fail with EPERM), ghost (they succeed and do
 * nothing), slow (each takes 5 ms), sticky (only
 * updates that take a queue off fail). FAKE_KFD_LOG names a file that gets a line for each request: time in ms of
 * CLOCK_MONOTONIC, pid, what, queue, percentage, priority, ring. */
#ifndef FAKE_KFD_H
#define FAKE_KFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_KFD_GPUS 2
#define FAKE_KFD_GPU_ID(gpu) (0x4d00u + (unsigned)(gpu))

/** As ioctl(2) on the descriptor: any number. */
int fake_kfd_ioctl(int fd, unsigned long request, void *arg);
/** The pid is the one that opened it: others get EBADF. */
void fake_kfd_open(int fd);
void fake_kfd_reset(void);
void fake_kfd_set_fault(const char *fault);
/** Called inside each request, before it acts. */
void fake_kfd_set_hook(void (*hook)(unsigned long request, void *arg));

struct fake_kfd_queue {
    bool used;
    uint32_t gpu_id, percentage, priority, ring_bytes, updates;
    uint64_t ring;
    uint32_t type;
};
/** NULL: there is no such queue. */
const struct fake_kfd_queue *fake_kfd_queue(uint32_t id);
/** Updates that a driver would not have liked: fields that the program never gave, queues that are not there. */
unsigned fake_kfd_complaints(void);
/** All compute queues of the device are off, and there is one. */
bool fake_kfd_off(int gpu);

#endif
