/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of HIP. */
#ifndef XSCHED_HIP_HAL_H
#define XSCHED_HIP_HAL_H

#include "xsched/types.h"

struct ihipStream_t;

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Makes a hardware queue of a HIP stream, or gives the one that it has. Any thread, with or without
 *  the shim. The stream may belong to any device, and to a framework with a copy of the runtime of its
 *  own. A default stream (null, 1 legacy, 2 the calling thread's) is that of the current device.
 *  @return kXSchedErrorNotFound when there is no HIP runtime or no device, kXSchedErrorInvalidValue
 *          when no runtime in this process knows the stream */
XResult HipQueueCreate(HwQueueHandle *hwq, struct ihipStream_t *stream);

/** The hardware queue of a stream; kXSchedErrorNotFound when it has none. */
XResult HipQueueGet(HwQueueHandle *hwq, struct ihipStream_t *stream);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
