/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on which a whole context waits, and which wait for the device: freeing memory, loading code. Behind a closed
 * gate (gate.c) such a call would last as long as the hold, and with it every other thread of the context. So what
 * stands behind gates when the call begins goes on, and nothing more is put there until it ends.
 *
 * What goes on is named by number, in the client page; neither the scheduler nor the application's own suspension
 * stores a smaller one from then on. Numbers only grow, so nothing has to be taken back. */
#include "xqueue/context_blocking.h"

#include "base/futex.h"
#include "xqueue/gate.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

static void open_to(_Atomic uint64_t *word, uint64_t n)
{
    uint64_t seen = atomic_load(word);

    /* who opens it entirely meanwhile is not undone */
    while (n > seen && !atomic_compare_exchange_weak(word, &seen, n))
        ;
}

void xs_gates_open_locked(struct xs_queue *q)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    /* Not all that entered: whoever waits outside would go on, and if its command is such a call, too, let the next one
     * through, from queue to queue, and so on. */
    uint64_t n = atomic_load(&q->gates.last);
    _Atomic uint64_t *word = xs_gates_app_word(q);

    /* seq_cst, all of it: then the words; who closes them stores, then looks at let_through */
    open_to(&q->cc->let_through, n);
    if (sc != &xs_open_cell)
        open_to(&sc->permitted, n);
    if (word)
        open_to(word, n);
    if (atomic_load(&q->gates.host_waiters)) { /* a device sees it by itself */
        xs_futex_wake(xs_futex_low(&sc->permitted), INT32_MAX);
        xs_futex_wake(xs_futex_low(&q->app_permitted), INT32_MAX);
    }
}

bool xsched_priv_inside_begin(void)
{
    struct xs_state *st = xs_state_get();

    if (!st)
        return false;
    atomic_fetch_add(&st->inside, 1);
    if (!atomic_load(&st->app_words)) /* no queue with gates yet: later ones find the count */
        return true;
    xs_lock_acquire(&st->lock); /* storage is not used anew meanwhile */
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
