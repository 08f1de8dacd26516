/* SPDX-License-Identifier: Apache-2.0 */
/* Whether synchronous fills and copies touch device memory alone: then the driver returns before the end of
 * the work. With pinned, managed or pageable memory it waits (measured on an H100). The shim asks the driver
 * for each address, since only the driver knows all memory; such a call takes several times as long as the
 * query. Any thread with a context. */
#ifndef XS_SHIM_CUDA_DEVICE_MEMORY_H
#define XS_SHIM_CUDA_DEVICE_MEMORY_H

#include <stdbool.h>

#include "hal/cuda/cuda_abi.h"

struct xs_api_runtime;

/** False also where the driver does not say. */
bool xs_api_is_device(const struct xs_api_runtime *rt, CUdeviceptr at);
/** Both ends of a copy from a structure; NULL: no. */
bool xs_cuda_2d_on_device(const struct xs_api_runtime *rt, const struct xs_cu_copy_2d *c);
bool xs_cuda_3d_on_device(const struct xs_api_runtime *rt, const struct xs_cu_copy_3d *c);
uint64_t xs_cuda_copy_3d_bytes(const struct xs_cu_copy_3d *c);

/* Rows of kind COPY, in the scope of an entry. */
#define XS_BOTH(dst, src) (xs_api_is_device(rt, dst) && xs_api_is_device(rt, src))
#define xs_api_on_device_cuMemcpy(dst, src, n)                          XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpy_ptds(dst, src, n)                     XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyDtoD(dst, src, n)                      XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyDtoD_v2(dst, src, n)                   XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyDtoD_v2_ptds(dst, src, n)              XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyPeer(dst, to, src, from, n)            XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyPeer_ptds(dst, to, src, from, n)       XS_BOTH(dst, src)
#define xs_api_on_device_cuMemcpyAtoA(dst, at, src, from, n)            true
#define xs_api_on_device_cuMemcpyAtoA_v2(dst, at, src, from, n)         true
#define xs_api_on_device_cuMemcpyAtoA_v2_ptds(dst, at, src, from, n)    true
#define xs_api_on_device_cuMemcpyAtoD(dst, src, from, n)                xs_api_is_device(rt, dst)
#define xs_api_on_device_cuMemcpyAtoD_v2(dst, src, from, n)             xs_api_is_device(rt, dst)
#define xs_api_on_device_cuMemcpyAtoD_v2_ptds(dst, src, from, n)        xs_api_is_device(rt, dst)
#define xs_api_on_device_cuMemcpyDtoA(dst, at, src, n)                  xs_api_is_device(rt, src)
#define xs_api_on_device_cuMemcpyDtoA_v2(dst, at, src, n)               xs_api_is_device(rt, src)
#define xs_api_on_device_cuMemcpyDtoA_v2_ptds(dst, at, src, n)          xs_api_is_device(rt, src)
#define xs_api_on_device_cuMemcpy2D_v2(copy)                            xs_cuda_2d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy2D_v2_ptds(copy)                       xs_cuda_2d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy2DUnaligned_v2(copy)                   xs_cuda_2d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy2DUnaligned_v2_ptds(copy)              xs_cuda_2d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy3D_v2(copy)                            xs_cuda_3d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy3D_v2_ptds(copy)                       xs_cuda_3d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy3DPeer(copy)                           xs_cuda_3d_on_device(rt, copy)
#define xs_api_on_device_cuMemcpy3DPeer_ptds(copy)                      xs_cuda_3d_on_device(rt, copy)
#define XS_KEY_3D(copy)                                                 XS_KEY_BYTES(xs_cuda_copy_3d_bytes(copy))

#endif
