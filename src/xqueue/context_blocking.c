/* SPDX-License-Identifier: Apache-2.0 */
/* Context-blocking calls, which also wait for the device: freeing memory, loading code. Behind a closed gate (gate.c)
 * such a call would last as long as the suspension, and every other thread of the context would wait with it. So the
 * beginning of the call opens the gates of commands that are in the streams, and no thread puts further gates there
 * until the call ends.
 *
 * The client page has the number of the last command that this permits. From then on neither the scheduler nor the
 * application's own suspension stores a smaller number. Numbers only grow, so the call has nothing to take back. */
#include "xqueue/context_blocking.h"

#include "base/futex.h"
#include "xqueue/gate.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

static void open_to(_Atomic uint64_t *word, uint64_t n)
{
    uint64_t seen = atomic_load(word);

    /* another thread may open the word entirely meanwhile: the larger number stays */
    while (n > seen && !atomic_compare_exchange_weak(word, &seen, n))
        ;
}

void xs_gates_open_locked(struct xs_queue *q)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    /* Not all that entered: a thread that waits before the driver would go on. If its command is a context-blocking
     * call, too, that call would open the next queue, and so on. */
    uint64_t n = atomic_load(&q->gates.last);
    _Atomic uint64_t *word = xs_gates_app_word(q);

    /* all seq_cst: let_through first, then the words; a closing thread stores a word, then reads let_through */
    open_to(&q->cc->let_through, n);
    if (sc != &xs_open_cell)
        open_to(&sc->permitted, n);
    if (word)
        open_to(word, n);
    atomic_store(&q->gates.shut, 0); /* the next command has a closed gate before it no more */
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
