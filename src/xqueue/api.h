/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls on one XQueue. */
#ifndef XS_XQUEUE_API_H
#define XS_XQUEUE_API_H

#include "xqueue/queue.h"

/** Sets threshold and batch size; <= 0 keeps the present value. Under state.lock.
 *  @return kXSchedErrorInvalidValue when the batch is larger than the threshold */
XResult xs_queue_set_launch_config(struct xs_queue *q, int64_t threshold, int64_t batch);

#endif
