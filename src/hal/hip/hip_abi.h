/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the HIP runtime's types and values that we use, declared here so that the build needs no
 * vendor's header; tests/hip/abi.c compares it with the installed headers. */
#ifndef XS_HAL_HIP_ABI_H
#define XS_HAL_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int hipError_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;

/* hipIpcMemHandle_t, passed by value */
struct xs_hip_ipc_handle {
    char reserved[64];
};

/* dim3, passed by value */
struct xs_dim3 {
    uint32_t x, y, z;
};

/* hipMemLocation, hipPitchedPtr and hipExtent, passed by value */
struct xs_hip_location {
    int type, id;
};

struct xs_hip_pitched {
    void *ptr;
    size_t pitch, width, height;
};

struct xs_hip_extent {
    size_t width, height, depth;
};

/* hipMemcpy3DParms */
struct xs_hip_copy_3d {
    const void *src_array;
    size_t src_at[3];
    struct xs_hip_pitched src;
    void *dst_array;
    size_t dst_at[3];
    struct xs_hip_pitched dst;
    struct xs_hip_extent extent;
    int kind;
};

/* hipLaunchConfig_t, and HIP_LAUNCH_CONFIG, which differs from it only in the type of the size of shared
 * memory (of the 64 bits the upper half is padding) */
struct xs_hip_launch_config {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    hipStream_t stream;
    void *attrs;
    unsigned attrs_count;
};

/* hipLaunchParams and hipFunctionLaunchParams, elements of the lists of multi-device launches */
struct xs_hip_launch_params {
    const void *function;
    struct xs_dim3 grid, block;
    void **args;
    size_t shared_bytes;
    hipStream_t stream;
};

struct xs_hip_module_launch_params {
    hipFunction_t function;
    uint32_t grid[3], block[3], shared_bytes;
    hipStream_t stream;
    void **args;
};

#define XS_HIP_SUCCESS          0
#define XS_HIP_INVALID_VALUE    1
#define XS_HIP_OUT_OF_MEMORY    2
#define XS_HIP_NOT_INITIALIZED  3
#define XS_HIP_INVALID_FUNCTION 98
#define XS_HIP_NO_DEVICE        100
#define XS_HIP_INVALID_HANDLE   400
#define XS_HIP_NOT_FOUND        500
#define XS_HIP_NOT_READY        600
#define XS_HIP_CONTEXT_DESTROYED 709
#define XS_HIP_WAIT_GTE         0u /* hipStreamWaitValueGte */
#define XS_HIP_NOT_SUPPORTED    801
#define XS_HIP_CAPTURE_IMPLICIT 906

#define XS_HIP_STREAM_LEGACY     ((hipStream_t)1)
#define XS_HIP_STREAM_PER_THREAD ((hipStream_t)2)

#define XS_HIP_PROC_PER_THREAD   2u   /* hipGetProcAddress */
#define XS_HIP_STREAM_NONBLOCKING 1u
#define XS_HIP_EVENT_NO_TIMING   2u
#define XS_HIP_HOST_REGISTER_PORTABLE_MAPPED 3u
#define XS_HIP_CAPTURE_MODE_RELAXED 2
#define XS_HIP_MEMCPY_TO_HOST    2    /* hipMemcpyDeviceToHost */
#define XS_HIP_MEMCPY_ON_DEVICE  3    /* hipMemcpyDeviceToDevice */

#endif
