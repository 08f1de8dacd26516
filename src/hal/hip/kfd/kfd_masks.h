/* SPDX-License-Identifier: Apache-2.0 */
/* Masks of compute units as AMD's kernel driver takes them for a queue (AMDKFD_IOC_SET_CU_MASK). Pure functions of
 * what the kernel's topology says about a device. None of it has run on an AMD GPU.
 *
 * The driver spreads the bits of a mask over the device. The bits go round the dies (XCDs), on each die round its
 * shader engines, then round the shader arrays of an engine, and only then to the next compute unit of each array.
 * It skips units that are fused off. So the first bits of a mask are the same number of units of each engine.
 * Devices with workgroup processors (gfx10 and later) take two bits at a time, and the driver refuses half a pair. */
#ifndef XS_HAL_HIP_KFD_KFD_MASKS_H
#define XS_HAL_HIP_KFD_KFD_MASKS_H

#include "base/xs_base.h"

#define XS_KFD_MASK_WORDS 32u         /* the driver reads 1024 bits at most */

/** A device, or the part of a divided one, as its node of the topology has it. */
struct xs_kfd_shape {
    uint32_t target;                  /* gfx_target_version: major * 10000 + minor * 100 + stepping */
    uint32_t dies;                    /* num_xcc; 0: the kernel does not say, which is one */
    uint32_t arrays;                  /* array_count: shader arrays of all dies */
    uint32_t arrays_per_engine;       /* simd_arrays_per_engine */
    uint32_t units;                   /* simd_count / simd_per_cu: compute units of all dies */
};

struct xs_kfd_mask {
    uint32_t words[XS_KFD_MASK_WORDS];
    uint32_t bits;                    /* a multiple of 32; 0: none, which is the whole device */
};

/** @return NULL, or why XSched makes no masks for such a device: static text */
const char *xs_kfd_shape_refused(const struct xs_kfd_shape *s);

/** The compute units of a part, of so many wanted: the next smaller number that is the same in each engine, and at
 *  least one unit (or pair) of each array, without which the device does not finish a kernel.
 *  @return 0: there is no such part */
uint32_t xs_kfd_part(const struct xs_kfd_shape *s, uint32_t wanted);

/** The mask of a part of xs_kfd_part's.
 *  @param own  the program's own mask of the queue, within which it stays; bits 0: it has none. Where the two have no
 *              unit of an array in common and `own` has some there, the first of those stays.
 *  @param part  0: the whole device, which is `own` */
void xs_kfd_mask_of(const struct xs_kfd_shape *s, uint32_t part, const struct xs_kfd_mask *own, struct xs_kfd_mask *ret);

bool xs_kfd_mask_equals(const struct xs_kfd_mask *a, const struct xs_kfd_mask *b);

#endif
