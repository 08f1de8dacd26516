/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware queues of Level Zero. Link with libhallevelzero. */
#ifndef XSCHED_LEVELZERO_HAL_H
#define XSCHED_LEVELZERO_HAL_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The vendor's own declarations, repeated so that a program needs no header of it. C11 and C++ allow that. */
typedef struct _ze_command_queue_handle_t *ze_command_queue_handle_t;
typedef struct _ze_device_handle_t *ze_device_handle_t;

/** The hardware queue of a command queue, or of an immediate command list whose handle the caller casts
 *  to this type. Any thread. The program must have made the queue while XSched took part in Level Zero
 *  (`xsched run` sees to it). A second call on the same queue gives the same handle. Null:
 *  kXSchedErrorInvalidValue; a queue that XSched did not see: kXSchedErrorNotFound. */
XResult LevelZeroQueueCreate(HwQueueHandle *hwq, ze_command_queue_handle_t queue);

/** The same under the name that the original XSched has. Takes a queue that XSched did not see as one
 *  of that device: then only HwQueueSynchronize shows completion. Any thread. Null:
 *  kXSchedErrorInvalidValue; no loader of Level Zero: kXSchedErrorNotFound. */
XResult ZeQueueCreate(HwQueueHandle *hwq, ze_device_handle_t device, ze_command_queue_handle_t queue);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
