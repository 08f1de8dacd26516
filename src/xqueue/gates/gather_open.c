/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/gates/gather_open.h"

#include "base/futex.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"

bool xs_gather_open(struct xs_state *st)
{
    bool any = false;

    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next) {
        struct xs_server_cell *sc = atomic_load(&q->sc);

        if (sc == &xs_open_cell || !atomic_load(&sc->gathers_to) || atomic_load(&sc->permitted) == XS_PERMIT_OPEN)
            continue;
        atomic_store(&sc->permitted, XS_PERMIT_OPEN);
        if (atomic_load(&q->cc->waiters))
            xs_futex_wake(xs_futex_low(&sc->permitted), INT32_MAX);
        xs_queue_ring(q);
        any = true;
    }
    return any;
}

bool xs_gather_goes_on(struct xs_queue *q, uint64_t n, bool stays)
{
    if (!stays)
        return xs_gather_open(q->state);
    if (n == atomic_load_explicit(&atomic_load(&q->sc)->rings_at, memory_order_relaxed))
        xs_queue_ring(q);
    return false;
}
