/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a scheduler of the queues of this process, and of changes of their wishes. In the control thread. */
#ifndef XS_XQUEUE_ANNOUNCE_QUEUES_H
#define XS_XQUEUE_ANNOUNCE_QUEUES_H

#include <stdbool.h>

struct xs_queue;
struct xs_queue_wish;
struct xs_state;

/** Calls that tell a scheduler of queues. */
struct xs_listener {
    /** @return false: not now, call again later */
    bool (*add)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w);
    void (*remove)(void *ctx, struct xs_queue *q);
    bool (*change)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w, bool config_too);
};

/** Announces the queues whose wish changed. listener NULL: there is no scheduler.
 *  @return false when the caller should repeat it soon */
bool xs_control_announce(struct xs_state *st, const struct xs_listener *listener, void *ctx);
/** Puts every live queue up for announcement (a new engagement began). */
void xs_control_announce_all(struct xs_state *st);

#endif
