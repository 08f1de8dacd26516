/* SPDX-License-Identifier: Apache-2.0 */
/* The permits of a command: the application's own, and the scheduler's. */
#ifndef XS_XQUEUE_PERMISSION_H
#define XS_XQUEUE_PERMISSION_H

#include "xqueue/queue.h"

/** Whether command n may start. */
static inline bool xs_queue_permitted(struct xs_queue *q, uint64_t n)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);

    return n <= atomic_load(&sc->permitted) && n <= atomic_load(&q->app_permitted);
}
/** Sleeps while command n has no permit, until that changes or a tick has passed. Ends the session when
 *  its lease is over.
 *  @param began_ns  when the caller began to wait; earlier if the clock stepped back */
void xs_permission_sleep(struct xs_queue *q, uint64_t n, uint64_t *began_ns);
/** Waits until the next command of the queue has a permit, at most timeout_ns or so. For commands that have
 *  not entered.
 *  @param since_ns  since when the caller waits for this permit, in earlier calls, too: the lease counts from there
 *  @return whether it is */
bool xs_queue_permit_wait(struct xs_queue *q, uint64_t timeout_ns, uint64_t *since_ns);

#endif
