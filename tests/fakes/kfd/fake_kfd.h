/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's kernel driver for compute without a GPU: queues that are made, changed and ended as its public header
 * linux/kfd_ioctl.h says, and what it does of its own as far as that is known: numbers of ended queues are used again at
 * once; an update takes all fields; percentage 0 takes a queue off the device; a process that did not open the descriptor
 * gets EBADF; a mask of compute units is refused as the driver refuses it. No GPU has been looked at for it.
 *
 * libfakekfd.so, preloaded behind libshimhip.so, has open, close and ioctl for /dev/kfd and for the kernel's folder of
 * devices. FAKE_KFD: version2 (another major), deny (updates and masks fail with EPERM), ghost (they succeed and do
 * nothing), slow (each takes 5 ms), sticky (only updates that take a queue off fail), closed (nobody may open it),
 * no_masks (a kernel that does not know them: ENOTTY), deny_masks (EPERM), debugged (a debugger has masked the queues:
 * EBUSY), ghost_masks, spins (kernels end on the whole device alone, as if their blocks waited for each other).
 * FAKE_KFD_LOG names a file that gets a line for each request: time in ms of CLOCK_MONOTONIC, pid,
 * what, queue, percentage, priority, ring; for a mask ("mask") the number of its compute units in place of the ring.
 * FAKE_KFD_SHAPE: the devices' gfx_target_version, num_xcc, array_count, simd_arrays_per_engine and compute units. */
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
/** Writes a file of a node into a folder that stands for the driver's topology. Ends the test where it cannot. */
void fake_kfd_put(const char *folder, const char *node, const char *name, const char *text);
void fake_kfd_set_fault(const char *fault);
/** Called inside each request, before it acts. */
void fake_kfd_set_hook(void (*hook)(unsigned long request, void *arg));

#define FAKE_KFD_WORDS 32
struct fake_kfd_queue {
    bool used;
    uint32_t gpu_id, percentage, priority, ring_bytes, updates;
    uint64_t ring;
    uint32_t type;
    uint32_t masks;               /* requests that set it */
    uint32_t bits;                /* 0: it has the whole device */
    uint32_t words[FAKE_KFD_WORDS];
    /* virtual time */
    uint32_t needs;               /* compute units that its kernel fills */
    uint64_t left_ns;             /* of its kernel; 0: none */
};
/** NULL: there is no such queue. */
const struct fake_kfd_queue *fake_kfd_queue(uint32_t id);
/** Updates that a driver would not have liked: fields that the program never gave, queues that are not there. */
unsigned fake_kfd_complaints(void);
struct fake_kfd_shape {
    uint32_t target, dies, arrays, arrays_per_engine, units;
};
/** Of all devices; the first one is that of an MI300X: gfx942, 8 dies of 4 shader engines, 304 compute units. */
void fake_kfd_set_shape(const struct fake_kfd_shape *s);
const struct fake_kfd_shape *fake_kfd_shape(void);
/** What the kernel shows of a GPU in its folder of devices, for one with this location. */
void fake_kfd_properties(uint32_t location, char *ret, size_t size);
/** The compute units of a queue; 0: an array from which all are taken, on a die of which the queue has others. Such a
 *  queue never ends a kernel. */
uint32_t fake_kfd_units(uint32_t id);

/* ---- virtual time: a kernel on each queue, whose speed follows the mask ---- */

/** A kernel that takes so long where it has all the units that it fills. */
void fake_kfd_launch(uint32_t id, uint32_t units, uint64_t ns);
/** So much time passes, or less: until the first kernel ends. Units that several kernels may use are divided among them;
 *  each takes those first that no other may. @return the time that passed */
uint64_t fake_kfd_advance(uint64_t ns);

/** How fast kernels of this process run on the device by its masks alone, in 1/1000: as its fastest compute queue. */
unsigned fake_kfd_speed(int gpu);
/** All compute queues of the device are off, and there is one. */
bool fake_kfd_off(int gpu);

#endif
