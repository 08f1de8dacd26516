/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: one in a process that a scheduler manages. It talks to xserver (agent.c) or
 * runs the local scheduler (local.c), and opens what must not stay closed. It never calls a
 * vendor's library and waits for no lock. */
#ifndef XS_XQUEUE_CONTROL_THREAD_H
#define XS_XQUEUE_CONTROL_THREAD_H

#include "xqueue/queue.h"

/** Starts the control thread when the mode needs one, and wakes it. Any thread. */
void xs_control_kick(struct xs_state *st);
/** Whether a scheduler comes is decided: it is in force, or none answers. Any thread; no lock. */
void xs_control_decided(struct xs_state *st);
/** The scheduler that owns this page is not believed any more: every queue is resumed. Any thread that
 *  may sleep for a moment; nothing happens when the page is not in force. */
void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page);

/* ---- in the control thread ---- */

/** What a scheduler is told of queues. */
struct xs_listener {
    /** @return false: not now, say it again later */
    bool (*add)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w);
    void (*remove)(void *ctx, struct xs_queue *q);
    bool (*change)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w, bool config_too);
};

/** Tells of the queues whose wish changed. listener NULL: there is no scheduler.
 *  @return false when something is to be repeated soon */
bool xs_control_announce(struct xs_state *st, const struct xs_listener *listener, void *ctx);
/** Puts every live queue up for announcement (a new engagement began). */
void xs_control_announce_all(struct xs_state *st);

/** Opens the cells of all queues in a page that is not in force yet; before any is announced. */
void xs_control_open_cells(struct xs_state *st, struct xs_server_page *page);
/** Makes the page the one in force. @return false when another is */
bool xs_control_engage(struct xs_state *st, struct xs_server_page *page);

/** Every queue is resumed on this page, which is unmapped when no thread can be at one of its words. */
void xs_control_retire(struct xs_state *st, struct xs_server_page *page);
/** Opens the words of retired pages again and unmaps those that nobody can be at.
 *  @return true while there are any */
bool xs_control_retired_tick(struct xs_state *st);
/** @return true when some word of the page is closed and its lease is over */
bool xs_control_lease_over(struct xs_state *st, struct xs_server_page *page);

#endif
