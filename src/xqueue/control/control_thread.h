/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: one in a process that a scheduler manages. It talks to xserver (agent.c) or
 * runs the local scheduler (local.c), and opens what must not stay closed. It never calls a
 * vendor's library and waits for no lock. */
#ifndef XS_XQUEUE_CONTROL_THREAD_H
#define XS_XQUEUE_CONTROL_THREAD_H

#include "xqueue/state.h"

/** What the one in charge wants to hear of. */
struct xs_listener {
    /** @return false: not now, say it again later */
    bool (*add)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w);
    void (*remove)(void *ctx, struct xs_queue *q);
    bool (*change)(void *ctx, struct xs_queue *q, const struct xs_queue_wish *w, bool config_too);
};

/** Handles the queues whose wish changed. listener NULL: nobody is in charge.
 *  @return false when something is to be repeated soon */
bool xs_control_announce(struct xs_state *st, const struct xs_listener *listener, void *ctx);
/** Puts every live queue up for announcement (a new engagement began). */
void xs_control_announce_all(struct xs_state *st);

/** Opens the cells of all queues in a page that is not in force yet; before any is announced. */
void xs_control_open_cells(struct xs_state *st, struct xs_server_page *page);
/** Makes the page the one in force. @return false when another is */
bool xs_control_engage(struct xs_state *st, struct xs_server_page *page);

void xs_control_retire(struct xs_state *st, struct xs_server_page *page);
/** Opens the words of retired pages again and unmaps those that nobody can be at.
 *  @return true while there are any */
bool xs_control_retired_tick(struct xs_state *st);

#define XS_INTERRUPTS 2u          /* platforms with level 3 in one process */
/** NULL: there are no more. */
const struct xs_interrupt_ops *xs_interrupt_ops(unsigned index);
/** Passes a message of the server on. */
void xs_interrupt_told(const union xs_msg *m);
/** Lets platforms do what they were told. @return when to call again at the latest */
uint64_t xs_interrupt_due(void);
/** The session is over: level 3 gives back what it took. Repeats, napping, until it is done. */
void xs_interrupt_restore(void);
/** @return true when some word of the page is closed and its lease is over */
bool xs_control_lease_over(struct xs_state *st, struct xs_server_page *page);

/** Each returns when the mode changed. */
void xs_agent_run(struct xs_state *st);
void xs_local_run(struct xs_state *st);

#endif
