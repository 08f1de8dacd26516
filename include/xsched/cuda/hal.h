/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of CUDA. */
#ifndef XSCHED_CUDA_HAL_H
#define XSCHED_CUDA_HAL_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The vendor's own declaration, repeated so that a program needs no header of it. C11 and C++ allow that. */
typedef struct CUstream_st *CUstream;

/** Makes a hardware queue of a CUDA stream, or gives the one that it has. Any thread, with or without
 *  the shim. The stream may belong to any context. A default stream (null, 1 legacy, 2 the calling
 *  thread's) is that of the current context.
 *  @return kXSchedErrorNotFound when there is no CUDA driver or no current context for a default
 *          stream, kXSchedErrorInvalidValue when the driver does not know the stream */
XResult CudaQueueCreate(HwQueueHandle *hwq, CUstream stream);

/** The hardware queue of a stream; kXSchedErrorNotFound when it has none. */
XResult CudaQueueGet(HwQueueHandle *hwq, CUstream stream);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
