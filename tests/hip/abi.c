/* SPDX-License-Identifier: Apache-2.0 */
/* Our declarations beside the vendor's: this file compiles only if they agree. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stddef.h>

/* ours, under other names */
#define hipError_t     xs_hipError_t
#define hipStream_t    xs_hipStream_t
#define hipEvent_t     xs_hipEvent_t
#define hipFunction_t  xs_hipFunction_t
#define hipGraph_t     xs_hipGraph_t
#define hipGraphExec_t xs_hipGraphExec_t
#include "hal/hip/hip_abi.h"
#undef hipError_t
#undef hipStream_t
#undef hipEvent_t
#undef hipFunction_t
#undef hipGraph_t
#undef hipGraphExec_t

#define SAME(a, b) _Static_assert((a) == (b), #a)

SAME(sizeof(xs_hipError_t), sizeof(hipError_t));
SAME(sizeof(struct xs_dim3), sizeof(dim3));
SAME(sizeof(struct xs_hip_pitched), sizeof(hipPitchedPtr));
SAME(offsetof(struct xs_hip_pitched, height), offsetof(hipPitchedPtr, ysize));
SAME(sizeof(struct xs_hip_extent), sizeof(struct hipExtent));
SAME(sizeof(struct xs_hip_copy_3d), sizeof(hipMemcpy3DParms));
SAME(offsetof(struct xs_hip_copy_3d, src), offsetof(hipMemcpy3DParms, srcPtr));
SAME(offsetof(struct xs_hip_copy_3d, dst), offsetof(hipMemcpy3DParms, dstPtr));
SAME(offsetof(struct xs_hip_copy_3d, extent), offsetof(hipMemcpy3DParms, extent));
SAME(offsetof(struct xs_hip_copy_3d, kind), offsetof(hipMemcpy3DParms, kind));
SAME(sizeof(struct xs_hip_location), sizeof(hipMemLocation));
SAME(sizeof(struct xs_hip_launch_params), sizeof(hipLaunchParams));
SAME(offsetof(struct xs_hip_launch_params, stream), offsetof(hipLaunchParams, stream));
SAME(XS_HIP_INVALID_VALUE, hipErrorInvalidValue);
SAME(XS_HIP_NOT_INITIALIZED, hipErrorNotInitialized);
SAME(XS_HIP_INVALID_FUNCTION, hipErrorInvalidDeviceFunction);
SAME(XS_HIP_NO_DEVICE, hipErrorNoDevice);
SAME(XS_HIP_INVALID_HANDLE, hipErrorInvalidHandle);
SAME(XS_HIP_NOT_FOUND, hipErrorNotFound);
SAME(XS_HIP_NOT_READY, hipErrorNotReady);
SAME(XS_HIP_CONTEXT_DESTROYED, hipErrorContextIsDestroyed);
SAME(XS_HIP_NOT_SUPPORTED, hipErrorNotSupported);
SAME(XS_HIP_CAPTURE_IMPLICIT, hipErrorStreamCaptureImplicit);
SAME(XS_HIP_STREAM_NONBLOCKING, hipStreamNonBlocking);
SAME(XS_HIP_EVENT_NO_TIMING, hipEventDisableTiming);
SAME(XS_HIP_HOST_REGISTER_PORTABLE_MAPPED, (hipHostRegisterPortable | hipHostRegisterMapped));
SAME(XS_HIP_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed);
SAME(XS_HIP_MEMCPY_TO_HOST, hipMemcpyDeviceToHost);
SAME(XS_HIP_MEMCPY_ON_DEVICE, hipMemcpyDeviceToDevice);
