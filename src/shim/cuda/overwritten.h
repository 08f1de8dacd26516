/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose first bytes another library overwrites with a jump to its own: XS_OVERWRITTEN in shim/stream/entry.h.
 * UCX does so with these of whoever exports them, to learn of device memory. It moves the instructions that stood there,
 * knows few, and leaves all functions alone where it cannot move those of one. */
#ifndef XS_CUDA_OVERWRITTEN_H
#define XS_CUDA_OVERWRITTEN_H

#define XS_OVERWRITTEN_cuLibraryGetGlobal      ~, 1
#define XS_OVERWRITTEN_cuMemAlloc              ~, 1
#define XS_OVERWRITTEN_cuMemAllocAsync         ~, 1
#define XS_OVERWRITTEN_cuMemAllocFromPoolAsync ~, 1
#define XS_OVERWRITTEN_cuMemAllocManaged       ~, 1
#define XS_OVERWRITTEN_cuMemAllocPitch         ~, 1
#define XS_OVERWRITTEN_cuMemAllocPitch_v2      ~, 1
#define XS_OVERWRITTEN_cuMemAlloc_v2           ~, 1
#define XS_OVERWRITTEN_cuMemFree               ~, 1
#define XS_OVERWRITTEN_cuMemFreeAsync          ~, 1
#define XS_OVERWRITTEN_cuMemFreeHost           ~, 1
#define XS_OVERWRITTEN_cuMemFree_v2            ~, 1
#define XS_OVERWRITTEN_cuMemMap                ~, 1
#define XS_OVERWRITTEN_cuMemUnmap              ~, 1
#define XS_OVERWRITTEN_cuModuleGetGlobal_v2    ~, 1

#endif
