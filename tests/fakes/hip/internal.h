/* SPDX-License-Identifier: Apache-2.0 */
/* A HIP runtime without a device, for tests, over the machinery of the fake CUDA driver (../cuda): libamdhip64
 * with all functions and version nodes of src/shim/hip/hip_api.def. What it does not do answers
 * hipErrorNotSupported.
 *
 * It is built into several files, and each file that is loaded is a runtime of its own, as real copies are:
 * streams, events, functions, modules and registered kernels are valid only in the copy that made them. What
 * AMD's runtime answers to those of another: a stream, hipErrorContextIsDestroyed (709); a kernel that was
 * registered elsewhere, hipErrorInvalidDeviceFunction (98); an event or module, hipErrorInvalidHandle (400).
 *
 * FAKE_HIP names one fault: no_device, no_writes (hipStreamWriteValue is not there), no_register, lost (every
 * command after the hundredth is refused as the device is gone); or a way of AMD's: asks_itself (hipGetProcAddress is
 * dlopen and dlsym of the runtime itself). FAKE_HIP_ARCH: architecture.c. */
#ifndef XS_FAKE_HIP_INTERNAL_H
#define XS_FAKE_HIP_INTERNAL_H

#include "../cuda/internal.h"
#include "hal/hip/hip_abi.h"

#undef API
#define API __attribute__((visibility("default"))) hipError_t

#define FAKE_LOST 719 /* hipErrorLaunchFailure */

/* devices.c: 0, or why no call can be made; the calling thread's device is current afterwards. */
hipError_t fake_ready(void);
bool fake_hip_fault(const char *what);
/* Remembers the last error of the thread, as every call does. */
hipError_t fake_result(hipError_t r);
/* architecture.c: what the device says to be, or NULL. */
const char *fake_hip_arch(void);
/* streams.c: whether this copy made the stream. */
bool fake_knows_stream(hipStream_t s);
/* What a command answers first: 0 or an error. */
hipError_t fake_accepts(hipStream_t s);

/* The functions of the fake driver that are used; its CUDA names stay inside. */
CUresult cuInit(unsigned flags);
CUresult cuCtxSetCurrent(CUcontext c);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice d);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice d);
CUresult cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream s);
CUresult cuStreamQuery(CUstream s);
CUresult cuStreamQuery_ptsz(CUstream s);
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags);
CUresult cuStreamIsCapturing(CUstream s, int *status);
CUresult cuStreamBeginCapture_v2(CUstream s, int mode);
CUresult cuStreamEndCapture(CUstream s, CUgraph *ret);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph g, uint64_t flags);
CUresult cuGraphLaunch(CUgraphExec exec, CUstream s);
CUresult cuEventCreate(CUevent *e, unsigned flags);
CUresult cuEventRecord(CUevent e, CUstream s);
CUresult cuEventQuery(CUevent e);
CUresult cuEventSynchronize(CUevent e);
CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned flags);
CUresult cuMemHostUnregister(void *p);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags);
CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags);
CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags);
CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr p, uint32_t v, unsigned flags);
CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr p, uint64_t v, unsigned flags);
CUresult cuModuleGetFunction(const struct CUfunc_st **f, void *mod, const char *name);
CUresult cuLaunchKernel(const struct CUfunc_st *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                        unsigned g, unsigned shared, CUstream s, void **params, void **extra);
CUresult cuLaunchKernel_ptsz(const struct CUfunc_st *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                             unsigned g, unsigned shared, CUstream s, void **params, void **extra);
CUresult cuLaunchHostFunc(CUstream s, void *fn, void *arg);

#define CU_STREAM(s) ((CUstream)(s))

#endif
