/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of an urgent program gather behind its own closed gate while others compute (decision 0042). The scheduler
 * closes the word; the program opens it, since it alone knows at once when it needs its results. */
#ifndef XS_XQUEUE_GATHER_H
#define XS_XQUEUE_GATHER_H

#include "xqueue/queue.h"

/** The number of the command at which it opens; 0: its commands do not gather. Any thread. */
static inline uint64_t xs_gathers_to(struct xs_queue *q)
{
    /* seq_cst pairs with the scheduler: stores the number, then closes the word */
    return atomic_load(&atomic_load(&q->sc)->gathers_to);
}
/** Opens the words of all queues whose commands gather, and rings. Any thread.
 *  @return false: there was none */
bool xs_gather_open(struct xs_state *st);

/** Command n of a queue comes whose commands gather.
 *  @param stays  it may stand behind the gate
 *  @return true: the words are open now */
bool xs_gather_goes_on(struct xs_queue *q, uint64_t n, bool stays);

#endif
