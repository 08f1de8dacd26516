/* SPDX-License-Identifier: Apache-2.0 */
/* XQueues: preemptible queues of commands over the hardware queues (streams) of a device.
 *
 * Every function may be called from any thread, at any time, also on a suspended queue. Every
 * function returns an XResult and changes its outputs only on success; none ever ends the
 * calling process. A handle that names nothing gives kXSchedErrorNotFound, a null output
 * pointer kXSchedErrorInvalidValue. */
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
 *  @param level  XPreemptLevel 1..3 wanted; where the platform has less, the highest that it has
 *                is taken, with one warning. Outside 1..3: kXSchedErrorInvalidValue.
 *  @param flags  XQueueCreateFlag */
XResult XQueueCreate(XQueueHandle *xq, HwQueueHandle hwq, int64_t level, int64_t flags);

/** Waits until all submitted commands are complete (a suspended queue is resumed first), then
 *  frees the XQueue. The hardware queue stays. */
XResult XQueueDestroy(XQueueHandle xq);

/** The XQueue of a hardware queue; kXSchedErrorNotFound if it has none. */
XResult XQueueGet(XQueueHandle *xq, HwQueueHandle hwq);

/** Hands a command over. It is launched at once when the queue may run and nothing waits before
 *  it, else by a worker thread in order of submission. The handle stays valid until it was
 *  waited for or destroyed. A command can be submitted once: else kXSchedErrorNotAllowed. */
XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd);

/** Waits until the command is complete, returns its error and frees the handle. */
XResult XQueueWait(XQueueHandle xq, HwCommandHandle hw_cmd);

/** Waits until everything submitted so far is complete. */
XResult XQueueWaitAll(XQueueHandle xq);

/** Whether the queue is idle. Does not block. */
XResult XQueueQuery(XQueueHandle xq, XQueueState *state);

/** The number of commands submitted so far, those of the shim included. */
XResult XQueueProfileHwCommandCount(XQueueHandle xq, int64_t *count);

/** Commands that were not started do not start any more. Repeating it changes nothing.
 *  @param flags  XQueueSuspendFlag */
XResult XQueueSuspend(XQueueHandle xq, int64_t flags);

/** Commands may start again. @param flags  XQueueResumeFlag */
XResult XQueueResume(XQueueHandle xq, int64_t flags);

/** Changes the level for later commands; kXSchedErrorNotSupported where the platform lacks it. */
XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level);

/** Bounds what is in flight on the device by count.
 *  @param threshold   most commands in flight; <= 0 keeps the present value. Alone, a threshold
 *                     below the present batch size lowers that too
 *  @param batch_size  commands between two completion marks; <= 0 keeps the present value;
 *                     larger than threshold: kXSchedErrorInvalidValue */
XResult XQueueSetLaunchConfig(XQueueHandle xq, int64_t threshold, int64_t batch_size);

/** Forgets a hardware queue; kXSchedErrorNotAllowed while an XQueue is on it. The vendor's
 *  stream itself is untouched. */
XResult HwQueueDestroy(HwQueueHandle hwq);

/** Launches a command at once, in the calling thread, past any XQueue. */
XResult HwQueueLaunch(HwQueueHandle hwq, HwCommandHandle hw_cmd);

/** Blocks until everything launched on the hardware queue is complete. */
XResult HwQueueSynchronize(HwQueueHandle hwq);

/** Makes a command out of a function; it is called when the command is launched. */
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
