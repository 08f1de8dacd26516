/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of OpenCL. Link with libhalopencl. */
#ifndef XSCHED_OPENCL_HAL_H
#define XSCHED_OPENCL_HAL_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The vendor's own declaration, repeated so that a program needs no header of it. C11 and C++ allow that. */
typedef struct _cl_command_queue *cl_command_queue;

/** The hardware queue of an OpenCL command queue. Any thread; the queue may belong to any context, and
 *  to a framework. A second call on the same queue gives the same handle. Null or not a command queue:
 *  kXSchedErrorInvalidValue. */
XResult OclQueueCreate(HwQueueHandle *hwq, cl_command_queue cmdq);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
