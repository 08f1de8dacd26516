/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations beside the vendor's: this file compiles only if they agree. */
#include <cuda.h>
#include <stddef.h>

/* ours, under other names */
#define CUresult    xs_CUresult
#define CUdevice    xs_CUdevice
#define CUdeviceptr xs_CUdeviceptr
#define CUcontext   xs_CUcontext
#define CUstream    xs_CUstream
#define CUevent     xs_CUevent
#define CUfunction  xs_CUfunction
#define CUgraph     xs_CUgraph
#define CUgraphExec xs_CUgraphExec
#define CUlaunchAttribute xs_CUlaunchAttribute
#include "hal/cuda/cuda_abi.h"
#undef CUresult
#undef CUdevice
#undef CUdeviceptr
#undef CUcontext
#undef CUstream
#undef CUevent
#undef CUfunction
#undef CUgraph
#undef CUgraphExec
#undef CUlaunchAttribute

#define SAME(a, b) _Static_assert((a) == (b), #a)

SAME(sizeof(struct xs_cu_location), sizeof(CUmemLocation));
SAME(sizeof(struct xs_cu_mem_properties), sizeof(CUmemAllocationProp));
SAME(offsetof(struct xs_cu_mem_properties, location), offsetof(CUmemAllocationProp, location));
SAME(offsetof(struct xs_cu_mem_properties, rdma), offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));
SAME(sizeof(struct xs_cu_mem_access), sizeof(CUmemAccessDesc));
SAME(offsetof(struct xs_cu_mem_access, flags), offsetof(CUmemAccessDesc, flags));
SAME(sizeof(struct xs_cu_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(struct xs_cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(struct xs_cu_launch_config, block), offsetof(CUlaunchConfig, blockDimX));
SAME(sizeof(struct xs_cu_copy_2d), sizeof(CUDA_MEMCPY2D));
SAME(offsetof(struct xs_cu_copy_2d, width_bytes), offsetof(CUDA_MEMCPY2D, WidthInBytes));
SAME(offsetof(struct xs_cu_copy_2d, height), offsetof(CUDA_MEMCPY2D, Height));
SAME(sizeof(struct xs_cu_copy_3d), sizeof(CUDA_MEMCPY3D));
SAME(sizeof(struct xs_cu_copy_3d), sizeof(CUDA_MEMCPY3D_PEER));
SAME(offsetof(struct xs_cu_copy_3d, src_type), offsetof(CUDA_MEMCPY3D, srcMemoryType));
SAME(offsetof(struct xs_cu_copy_3d, dst_type), offsetof(CUDA_MEMCPY3D, dstMemoryType));
SAME(offsetof(struct xs_cu_copy_3d, dst_device), offsetof(CUDA_MEMCPY3D, dstDevice));
SAME(offsetof(struct xs_cu_copy_3d, depth), offsetof(CUDA_MEMCPY3D, Depth));
SAME(offsetof(struct xs_cu_copy_3d, src_device), offsetof(CUDA_MEMCPY3D_PEER, srcDevice));
SAME(offsetof(struct xs_cu_copy_3d, dst_type), offsetof(CUDA_MEMCPY3D_PEER, dstMemoryType));
SAME(offsetof(struct xs_cu_copy_3d, dst_device), offsetof(CUDA_MEMCPY3D_PEER, dstDevice));
SAME(XS_CU_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(XS_CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(XS_CU_MEMORY_ARRAY, CU_MEMORYTYPE_ARRAY);
SAME(XS_CU_POINTER_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(XS_CU_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(XS_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(XS_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(XS_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(XS_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(XS_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(XS_CU_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(XS_CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(XS_CU_PROC_LEGACY_STREAM, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
SAME(XS_CU_PROC_PER_THREAD, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
SAME(XS_CU_ATTR_PCI_BUS, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
SAME(XS_CU_ATTR_PCI_DEVICE, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
SAME(XS_CU_ATTR_PCI_DOMAIN, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
SAME(XS_CU_ATTR_RDMA_MAPPED, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
SAME(XS_CU_HOST_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME(XS_CU_HOST_REGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(XS_CU_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(XS_CU_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
