/* SPDX-License-Identifier: Apache-2.0 */
/* Context-blocking calls, which also wait for the device: freeing memory, loading code. Behind a closed gate (gate.c)
 * such a call would last as long as the suspension, and every other thread of the context would wait with it. So the
 * beginning of the call opens the gates of commands that are in the streams, and no thread puts further gates there
 * until the call ends.
 *
 * The client page has the number of the last command that this permits. From then on neither the scheduler nor the
 * application's own suspension stores a smaller number. Numbers only grow, so the call has nothing to take back. */
#include "xqueue/gates/gate.h"
#include "xqueue/gates/gather_open.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

bool xsched_priv_inside_begin(void)
{
    struct xs_state *st = xs_state_get();

    if (!st)
        return false;
    atomic_fetch_add(&st->inside, 1);
    if (!atomic_load(&st->app_words)) /* no queue with gates yet: later ones find the count */
        return true;
    xs_gather_open(st);
    xs_lock_acquire(&st->lock); /* under it no queue's storage gets a new use */
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (q->ctx_entries && atomic_load(&q->cc->entered) > atomic_load(&q->cc->completed))
            xs_gates_open_locked(q);
    xs_lock_release(&st->lock);
    return true;
}

void xsched_priv_inside_end(void)
{
    struct xs_state *st = xs_state_get();

    if (st)
        atomic_fetch_sub(&st->inside, 1);
}
