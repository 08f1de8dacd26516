/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: one in a process that a scheduler manages. It talks to xserver (agent.c) or
 * runs the local scheduler (local.c), and opens words that must not stay closed. It never calls a
 * vendor's library and waits for no lock. */
#ifndef XS_XQUEUE_CONTROL_THREAD_H
#define XS_XQUEUE_CONTROL_THREAD_H

#include "xqueue/queue.h"

/** Starts the control thread when the mode needs one, and wakes it. Any thread. */
void xs_control_kick(struct xs_state *st);
/** The process knows whether a scheduler comes: it is in force, or none answers. Any thread; no lock. */
void xs_control_decided(struct xs_state *st);
/** The process no longer believes the scheduler that owns this page: resumes every queue. Any thread that may
 *  sleep for a moment; does nothing when the page is not in force. */
void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page);

/* ---- in the control thread ---- */

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

/** Opens the cells of all queues in a page that is not in force yet; before it announces any. */
void xs_control_open_cells(struct xs_state *st, struct xs_server_page *page);
/** Makes the page the one in force. @return false when another is */
bool xs_control_engage(struct xs_state *st, struct xs_server_page *page);

/** Resumes every queue on this page, and unmaps it when no thread can be at one of its words. */
void xs_control_retire(struct xs_state *st, struct xs_server_page *page);
/** Opens the words of retired pages again and unmaps those that no thread can be at.
 *  @return true while there are any */
bool xs_control_retired_tick(struct xs_state *st);
/** @return true when the page has a closed word and its lease is over */
bool xs_control_lease_over(struct xs_state *st, struct xs_server_page *page);

#endif
