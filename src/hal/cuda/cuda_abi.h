/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the CUDA driver's types and values that we use, declared here so that the build needs no
 * vendor's header; tests/abi compares it with the toolkit's. */
#ifndef XS_HAL_CUDA_ABI_H
#define XS_HAL_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

/* CUmemLocation, passed by value */
struct xs_cu_location {
    int type, id;
};

/* CUmemAllocationProp */
struct xs_cu_mem_properties {
    int type;
    unsigned handle_types;
    struct xs_cu_location location;
    void *metadata;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char rest[4];
};

/* CUmemAccessDesc */
struct xs_cu_mem_access {
    struct xs_cu_location location;
    int flags;
};

/* CUlaunchConfig */
struct xs_cu_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    void *attrs;
    unsigned attrs_count;
};

/* CUipcMemHandle, passed by value */
struct xs_cu_ipc_handle {
    char reserved[64];
};

/* CUDA_MEMCPY2D_v2; XSched ignores the old one, which has narrower fields */
struct xs_cu_copy_2d {
    size_t src_x, src_y;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array;
    size_t src_pitch, dst_x, dst_y;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array;
    size_t dst_pitch, width_bytes, height;
};

/* CUDA_MEMCPY3D_v2 and CUDA_MEMCPY3D_PEER */
struct xs_cu_copy_3d {
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array, *src_context;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array, *dst_context;
    size_t dst_pitch, dst_height, width_bytes, height, depth;
};

/* CUlaunchAttribute: the first words of its value */
struct xs_cu_launch_attribute {
    int id, padding;
    unsigned value[16];
};

/* CUdevResource of a device's multiprocessors; later versions of it may be longer */
struct xs_cu_resource {
    int type;
    unsigned char padding[92];
    unsigned multiprocessors;
    unsigned char rest[412];
};

/* CUlaunchAttributeID */
#define XS_CU_LAUNCH_IGNORE              0
#define XS_CU_LAUNCH_ACCESS_WINDOW       1
#define XS_CU_LAUNCH_COOPERATIVE         2
#define XS_CU_LAUNCH_CLUSTER             4
#define XS_CU_LAUNCH_CLUSTER_POLICY      5
#define XS_CU_LAUNCH_PROGRAMMATIC        6
#define XS_CU_LAUNCH_PRIORITY            8
#define XS_CU_LAUNCH_SYNC_DOMAIN_MAP     9
#define XS_CU_LAUNCH_SYNC_DOMAIN         10
#define XS_CU_LAUNCH_CARVEOUT            14
/* CUfunction_attribute */
#define XS_CU_FUNC_SHARED_MOST           8
#define XS_CU_FUNC_CLUSTER_WIDTH         11
#define XS_CU_FUNC_CLUSTER_HEIGHT        12
#define XS_CU_FUNC_CLUSTER_DEPTH         13
/* CUevent_flags */
#define XS_CU_EVENT_DISABLE_TIMING       2u

/* CUmemorytype */
#define XS_CU_MEMORY_HOST        1u
#define XS_CU_MEMORY_DEVICE      2u
#define XS_CU_MEMORY_ARRAY       3u
/* CUpointer_attribute */
#define XS_CU_POINTER_TYPE       2
#define XS_CU_POINTER_IS_MANAGED 8

#define XS_CU_SUCCESS            0
#define XS_CU_INVALID_VALUE      1
#define XS_CU_OUT_OF_MEMORY      2
#define XS_CU_NOT_INITIALIZED    3
#define XS_CU_NO_DEVICE          100
#define XS_CU_NOT_FOUND          500
#define XS_CU_NOT_READY          600
#define XS_CU_CAPTURE_IMPLICIT   906
#define XS_CU_NOT_SUPPORTED      801
#define XS_CU_MPS_FIRST          805   /* of MPS's six: no connection, a failed call, server not ready, */
#define XS_CU_MPS_LAST           810   /* ... too many clients, too many connections, client terminated */

#define XS_CU_STREAM_NON_BLOCKING 1u
#define XS_CU_STREAM_LEGACY      ((CUstream)1)
#define XS_CU_STREAM_PER_THREAD  ((CUstream)2)

#define XS_CU_PROC_LEGACY_STREAM 1u
#define XS_CU_PROC_PER_THREAD    2u

#define XS_CU_ATTR_PCI_BUS       33
#define XS_CU_ATTR_PCI_DEVICE    34
#define XS_CU_ATTR_PCI_DOMAIN    50
#define XS_CU_ATTR_RDMA_MAPPED   110   /* GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED */
#define XS_CU_ATTR_MEM_OPS_64    122   /* CAN_USE_64_BIT_STREAM_MEM_OPS, of the _v2 functions */
#define XS_CU_ATTR_MPS           133   /* contexts on the device are of an MPS server */

#define XS_CU_WAIT_GEQ           0u

#define XS_CU_HOST_REGISTER_PORTABLE  1u
#define XS_CU_HOST_REGISTER_DEVICEMAP 2u
#define XS_CU_CAPTURE_MODE_RELAXED    2
#define XS_CU_CAPTURE_STATUS_NONE     0

#endif
