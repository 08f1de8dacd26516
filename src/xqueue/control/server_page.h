/* SPDX-License-Identifier: Apache-2.0 */
/* The server page in force, which a scheduler writes, and those of past sessions. */
#ifndef XS_XQUEUE_SERVER_PAGE_H
#define XS_XQUEUE_SERVER_PAGE_H

#include <stdbool.h>

struct xs_queue;
struct xs_server_page;
struct xs_state;

/** Opens the queue's cell of a page, before the scheduler of that page knows the queue.
 *  @param page  NULL: nothing to do */
void xs_queue_open_cell(struct xs_queue *q, struct xs_server_page *page);
/** Points the queue's sc, or every queue's, at the page in force. Any thread. */
void xs_queue_repoint(struct xs_queue *q);
void xs_queue_repoint_all(struct xs_state *st);
/** The process no longer believes the scheduler that owns this page: resumes every queue. Any thread that may
 *  sleep for a moment; does nothing when the page is not in force. */
void xs_state_fail_open(struct xs_state *st, struct xs_server_page *page);

/* ---- in the control thread ---- */

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
