/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that XQueueSubmit keeps until they may start. */
#ifndef XS_XQUEUE_DEFERRED_H
#define XS_XQUEUE_DEFERRED_H

#include <stddef.h>

struct xs_queue;

/** Forgets the commands that XQueueSubmit has not launched yet. Any thread that has no lock. @return how many */
size_t xs_deferred_drop(struct xs_queue *q);

#endif
