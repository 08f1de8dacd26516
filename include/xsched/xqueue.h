/* SPDX-License-Identifier: Apache-2.0 */
/* XQueues: preemptible queues of commands over the hardware queues (streams) of a device.
 *
 * Any thread may call every function, at any time, also on a suspended queue. Every function returns
 * an XResult and changes its outputs only on success; none ever ends the calling process. A handle
 * without an object gives kXSchedErrorNotFound, a null output pointer kXSchedErrorInvalidValue. */
#ifndef XSCHED_XQUEUE_H
#define XSCHED_XQUEUE_H

#include "xsched/types.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Makes an XQueue on a hardware queue, or gives the one that it has.
 *  @param level  XPreemptLevel 1..3 wanted; where the platform has less, XQueueCreate takes the highest
 *      that it has, with one warning. Outside 1..3: kXSchedErrorInvalidValue.
 *  @param flags  XQueueCreateFlag */
XResult XQueueCreate(XQueueHandle *xq, HwQueueHandle hwq, int64_t level, int64_t flags);

/** Resumes a suspended queue, waits until all submitted commands are complete, then frees the XQueue.
 *  The hardware queue stays. */
XResult XQueueDestroy(XQueueHandle xq);

/** The XQueue of a hardware queue; kXSchedErrorNotFound if it has none. */
XResult XQueueGet(XQueueHandle *xq, HwQueueHandle hwq);

/** Submits a command. The call launches it at once when the queue may run and no command waits before
 *  it. Else a worker thread launches it in order of submission. The handle stays valid until XQueueWait
 *  or HwCommandDestroy. A program can submit a command once: else kXSchedErrorNotAllowed. */
XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd);

/** Waits until the command is complete, returns its error and frees the handle. */
XResult XQueueWait(XQueueHandle xq, HwCommandHandle hw_cmd);

/** Waits until everything submitted so far is complete. */
XResult XQueueWaitAll(XQueueHandle xq);

/** Whether the queue is idle. Does not block. */
XResult XQueueQuery(XQueueHandle xq, XQueueState *state);

/** The number of commands submitted so far, those of the shim included. */
XResult XQueueProfileHwCommandCount(XQueueHandle xq, int64_t *count);

/** No command that has not started starts any more. Repeating it changes nothing.
 *  @param flags  XQueueSuspendFlag */
XResult XQueueSuspend(XQueueHandle xq, int64_t flags);

/** Commands may start again. @param flags  XQueueResumeFlag */
XResult XQueueResume(XQueueHandle xq, int64_t flags);

/** Changes the level for later commands; kXSchedErrorNotSupported where the platform lacks it. */
XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level);

/** Bounds the number of commands in flight.
 *  @param threshold  most commands in flight; <= 0 keeps the present value. Alone, a threshold below
 *      the present batch size lowers that too
 *  @param batch_size  commands between two completion marks; <= 0 keeps the present value; larger than
 *      threshold: kXSchedErrorInvalidValue */
XResult XQueueSetLaunchConfig(XQueueHandle xq, int64_t threshold, int64_t batch_size);

/** Forgets a hardware queue; kXSchedErrorNotAllowed while an XQueue is on it. Does not touch the
 *  vendor's stream. */
XResult HwQueueDestroy(HwQueueHandle hwq);

/** Launches a command at once, in the calling thread, past any XQueue. */
XResult HwQueueLaunch(HwQueueHandle hwq, HwCommandHandle hw_cmd);

/** Blocks until everything launched on the hardware queue is complete. */
XResult HwQueueSynchronize(HwQueueHandle hwq);

/** Makes a command out of a function, which the library calls to launch the command. */
XResult HwCommandCreateCallback(HwCommandHandle *hw_cmd, LaunchCallback launch, void *data);

/** Frees a command; kXSchedErrorNotAllowed while it waits in an XQueue. */
XResult HwCommandDestroy(HwCommandHandle hw_cmd);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
