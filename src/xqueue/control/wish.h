/* SPDX-License-Identifier: Apache-2.0 */
/* What the application wants of a queue: hints and limits, and their way to the control thread, which takes no lock of an
 * application thread. */
#ifndef XS_XQUEUE_WISH_H
#define XS_XQUEUE_WISH_H

#include "xsched/types.h"

#include <stdbool.h>
#include <stdint.h>

struct xs_queue;
struct xs_queue_wish;

/** Writes the copy of the wish, of a queue that nobody announces yet. Under state.lock. */
void xs_queue_wish_write(struct xs_queue *q);
/** Hands the queue, whose wish changed, to the control thread. Under state.lock. */
void xs_queue_wish_publish(struct xs_queue *q);
/** Sets threshold and batch size; <= 0 keeps the present value. Under state.lock.
 *  @return kXSchedErrorInvalidValue when the batch is larger than the threshold */
XResult xs_queue_set_launch_config(struct xs_queue *q, int64_t threshold, int64_t batch);
/** Puts the queue, whose `dirty` the caller has set, on the list of those to announce. Any thread. */
void xs_queue_wish_push(struct xs_queue *q);
/** Reads the copy. Control thread. @return false: a writer stopped half way, call again later */
bool xs_queue_wish_read(struct xs_queue *q, struct xs_queue_wish *ret);

#endif
