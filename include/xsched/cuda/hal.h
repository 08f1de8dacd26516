/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of CUDA. */
#ifndef XSCHED_CUDA_HAL_H
#define XSCHED_CUDA_HAL_H

#include "xsched/types.h"

struct CUstream_st;

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Makes a hardware queue of a CUDA stream, or gives the one that it has. Any thread, with or
 *  without the shim. A stream of any context; of the default streams (null, 1 legacy, 2 the calling
 *  thread's) that of the current context.
 *  @return kXSchedErrorNotFound when there is no CUDA driver or no current context for a default
 *          stream, kXSchedErrorInvalidValue when the driver does not know the stream */
XResult CudaQueueCreate(HwQueueHandle *hwq, struct CUstream_st *stream);

/** The hardware queue of a stream; kXSchedErrorNotFound when it has none. */
XResult CudaQueueGet(HwQueueHandle *hwq, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
