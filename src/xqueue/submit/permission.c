/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/permission.h"

#include "base/clock.h"
#include "base/futex.h"
#include "xqueue/control/control_thread.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"

#define APP_TICK_NS XS_NS_PER_S

static void sleep_suspended_by_application(struct xs_queue *q, uint64_t permitted)
{
    xs_futex_wait(xs_futex_low(&q->app_permitted), (uint32_t)permitted, APP_TICK_NS);
}

/* Ends the session when its lease is over, if no other thread did. */
static void look_at_lease(struct xs_queue *q, const struct xs_server_cell *sc, uint64_t n, uint64_t *began_ns)
{
    struct xs_server_page *page = atomic_load(&q->state->server);
    uint64_t until, now;

    if (!page || sc == &xs_open_cell || atomic_load(&sc->permitted) >= n)
        return;
    until = atomic_load(&page->h.lease_until_ns);
    now = xs_now_ns();
    *began_ns = XS_MIN(*began_ns, now); /* a clock that stepped back, and a lease of before that */
    if (until > now + 2 * XS_LEASE_NS)
        until = 0;
    if (now > XS_MAX(until, *began_ns + XS_LEASE_NS) && sc == &page->cells[q->cell])
        xs_state_fail_open(q->state, page);
}

static void sleep_suspended_by_scheduler(struct xs_queue *q, struct xs_server_cell *sc, uint64_t n,
                                         uint64_t *began_ns)
{
    uint64_t permitted = atomic_load(&sc->permitted);

    if (n <= permitted)
        return;
    /* seq_cst pairs with the scheduler: stores permitted, then looks at waiters */
    atomic_fetch_add(&q->cc->waiters, 1);
    if (atomic_load(&sc->permitted) == permitted)
        xs_futex_wait(xs_futex_low(&sc->permitted), (uint32_t)permitted, XS_LEASE_TICK_NS);
    atomic_fetch_sub(&q->cc->waiters, 1);
    look_at_lease(q, sc, n, began_ns);
}

void xs_permission_sleep(struct xs_queue *q, uint64_t n, uint64_t *began_ns)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint64_t permitted = atomic_load(&q->app_permitted);

    if (n > permitted)
        sleep_suspended_by_application(q, permitted);
    else
        sleep_suspended_by_scheduler(q, sc, n, began_ns);
}

bool xs_queue_permit_wait(struct xs_queue *q, uint64_t timeout_ns, uint64_t *since_ns)
{
    uint64_t began_ns = xs_now_ns(), n;
    bool told = false, open;

    /* The thread has entered no command. Without this the control thread would unmap the page of an ended
     * session under a thread that sleeps at a word there (xs_control_retired_tick). */
    atomic_fetch_add(&q->refs, 1);
    while (n = atomic_load(&q->cc->entered) + 1, open = xs_queue_permitted(q, n), !open) {
        struct xs_server_cell *sc = atomic_load(&q->sc);

        /* The command that waits here has not entered. The queue is ready because a thread waits, so this
         * thread counts itself before it rings. seq_cst pairs with the scheduler: stores armed, reads
         * waiters. */
        if (!told && n <= atomic_load(&q->app_permitted)) {
            atomic_fetch_add(&q->cc->waiters, 1);
            told = true;
        }
        if (atomic_load(&sc->armed) & XS_ARMED_SUBMIT)
            xs_queue_ring(q);
        xs_permission_sleep(q, n, since_ns);
        if (xs_now_ns() - began_ns >= timeout_ns) {
            open = xs_queue_permitted(q, n);
            break;
        }
    }
    if (told)
        atomic_fetch_sub(&q->cc->waiters, 1);
    xs_queue_unref(q);
    return open;
}

bool xsched_priv_permit_wait(struct xs_queue *q, uint64_t timeout_ns)
{
    uint64_t since_ns;

    if (xs_queue_permitted(q, atomic_load(&q->cc->entered) + 1))
        return true;
    since_ns = xs_now_ns();
    return xs_queue_permit_wait(q, timeout_ns, &since_ns);
}
