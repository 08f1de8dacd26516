/* SPDX-License-Identifier: Apache-2.0 */
/* The one wait for a permit. */
#include "xqueue/submit/permission.h"

#include "base/clock.h"
#include "base/futex.h"
#include "xqueue/control/server_page.h"
#include "xqueue/gates/gather_open.h"
#include "xqueue/interface.h"
#include "xqueue/state.h"
#include "xqueue/submit/doorbell.h"

#define APP_TICK_NS XS_NS_PER_S

/* ---- the reasons: whether one holds the command, and a sleep until that changes ---- */

static void sleep_suspended_by_application(struct xs_queue *q, uint64_t permitted)
{
    xs_futex_wait(xs_futex_low(&q->app_permitted), (uint32_t)permitted, APP_TICK_NS);
}

/* Ends the session when its lease is over, if no other thread did. */
static void look_at_lease(struct xs_queue *q, const struct xs_server_cell *sc, uint64_t n, uint64_t *since_ns)
{
    struct xs_server_page *page = atomic_load(&q->state->server);
    uint64_t until, now;

    if (!page || sc == &xs_open_cell || atomic_load(&sc->permitted) >= n)
        return;
    until = atomic_load(&page->h.lease_until_ns);
    now = xs_now_ns();
    *since_ns = XS_MIN(*since_ns, now); /* a clock that stepped back, and a lease of before that */
    if (until > now + 2 * XS_LEASE_NS)
        until = 0;
    if (now > XS_MAX(until, *since_ns + XS_LEASE_NS) && sc == &page->cells[q->cell])
        xs_state_fail_open(q->state, page);
}

static void sleep_suspended_by_scheduler(struct xs_queue *q, struct xs_server_cell *sc, uint64_t n,
                                         uint64_t *since_ns)
{
    uint64_t permitted = atomic_load(&sc->permitted);

    if (n <= permitted)
        return;
    /* seq_cst pairs with the scheduler: stores permitted, then looks at waiters */
    atomic_fetch_add(&q->cc->waiters, 1);
    if (atomic_load(&sc->permitted) == permitted)
        xs_futex_wait(xs_futex_low(&sc->permitted), (uint32_t)permitted, XS_LEASE_TICK_NS);
    atomic_fetch_sub(&q->cc->waiters, 1);
    look_at_lease(q, sc, n, since_ns);
}

static void sleep_suspended(struct xs_queue *q, uint64_t n, uint64_t *since_ns)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint64_t permitted = atomic_load(&q->app_permitted);

    if (n > permitted)
        sleep_suspended_by_application(q, permitted);
    else
        sleep_suspended_by_scheduler(q, sc, n, since_ns);
}

/* A gate opens, too, for a call on which a whole context waits (context_blocking.c). */
static bool gate_permitted(struct xs_queue *q, uint64_t n)
{
    return n <= atomic_load(&atomic_load(&q->sc)->permitted) &&
           (n <= atomic_load(&q->app_permitted) || n <= atomic_load(&q->cc->let_through));
}

static bool is_suspended(struct xs_queue *q, const struct xs_permit_wait *w)
{
    if (w->place == XS_PERMIT_AT_GATE)
        return xsched_priv_queue_id(q) == w->id && !gate_permitted(q, w->n);
    return !xs_queue_permitted(q, w->n);
}

/* A dead scheduler, or one that stands still, confines no queue. */
static bool is_lane_void(const struct xs_queue *q, uint64_t now_ns)
{
    struct xs_server_page *page = atomic_load(&q->state->server);

    return !page || now_ns > atomic_load(&page->h.lease_until_ns);
}

/* @param until_ns  the kernel may leave the lane then */
static bool is_confined(struct xs_queue *q, uint64_t until_ns)
{
    uint64_t now_ns;

    if (!(atomic_load(&atomic_load(&q->sc)->lane) & XS_LANE_ONLY))
        return false;
    now_ns = xs_now_ns();
    return now_ns < until_ns && !is_lane_void(q, now_ns);
}

static void sleep_confined(struct xs_queue *q, uint64_t until_ns)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint32_t lane = atomic_load(&sc->lane);
    uint64_t now_ns = xs_now_ns();

    if (!(lane & XS_LANE_ONLY) || now_ns >= until_ns)
        return;
    /* seq_cst pairs with the scheduler: stores lane, then looks at waiters */
    atomic_fetch_add(&q->cc->waiters, 1);
    if (atomic_load(&sc->lane) == lane)
        xs_futex_wait(&sc->lane, lane, XS_MIN(until_ns - now_ns, XS_LEASE_TICK_NS));
    atomic_fetch_sub(&q->cc->waiters, 1);
}

/* ---- the wait ---- */

/* What holds the command; 0: nothing. */
static uint32_t reason_of(struct xs_queue *q, const struct xs_permit_wait *w)
{
    if (w->reasons & XS_PERMIT_REASON_LANE && is_confined(q, w->lane_until_ns))
        return XS_PERMIT_REASON_LANE;
    if (w->reasons & XS_PERMIT_REASON_SUSPENDED && is_suspended(q, w))
        return XS_PERMIT_REASON_SUSPENDED;
    return 0;
}

/* Where this wait counts, besides as one of those who sleep. */
struct counted {
    bool blocked;                 /* XQueueSuspend waits for no thread that sleeps here */
    bool waits;                   /* the queue is ready, because a thread waits */
};

static void count_suspended(struct xs_queue *q, const struct xs_permit_wait *w, struct counted *c)
{
    if (w->place == XS_PERMIT_ENTERED && !c->blocked) {
        atomic_fetch_add(&q->blocked, 1);
        c->blocked = true;
    }
    if (w->place != XS_PERMIT_NEXT)
        return;
    /* The command that waits here has not entered, so this thread counts itself before it rings. seq_cst pairs with the
     * scheduler: stores armed, reads waiters. */
    if (!c->waits && w->n <= atomic_load(&q->app_permitted)) {
        atomic_fetch_add(&q->cc->waiters, 1);
        c->waits = true;
    }
    if (atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_SUBMIT)
        xs_queue_ring(q);
}

bool xs_permit_wait(struct xs_queue *q, struct xs_permit_wait *w)
{
    uint64_t began_ns = w->timeout_ns == UINT64_MAX ? 0 : xs_now_ns();
    struct counted c = {0};
    uint32_t reason;

    /* The thread has entered no command. Without this the control thread would unmap the page of an ended
     * session under a thread that sleeps at a word there (xs_control_retired_tick). */
    if (w->place == XS_PERMIT_NEXT)
        atomic_fetch_add(&q->refs, 1);
    for (;;) {
        if (w->place == XS_PERMIT_NEXT)
            w->n = atomic_load(&q->cc->entered) + 1;
        reason = reason_of(q, w);
        if (!reason)
            break;
        if (reason == XS_PERMIT_REASON_SUSPENDED && xs_gathers_to(q) && xs_gather_open(q->state))
            continue;
        if (reason == XS_PERMIT_REASON_LANE) {
            sleep_confined(q, w->lane_until_ns);
        } else {
            count_suspended(q, w, &c);
            sleep_suspended(q, w->n, &w->since_ns);
        }
        w->slept = true;
        if (w->timeout_ns != UINT64_MAX && xs_now_ns() - began_ns >= w->timeout_ns) {
            reason = reason_of(q, w);
            break;
        }
    }
    if (c.blocked)
        atomic_fetch_sub(&q->blocked, 1);
    if (c.waits)
        atomic_fetch_sub(&q->cc->waiters, 1);
    if (w->place == XS_PERMIT_NEXT)
        xs_queue_unref(q);
    return !reason;
}

bool xsched_priv_permit_wait(struct xs_queue *q, uint64_t timeout_ns)
{
    struct xs_permit_wait w = {.reasons = XS_PERMIT_REASON_SUSPENDED, .place = XS_PERMIT_NEXT, .timeout_ns = timeout_ns};

    if (xs_queue_permitted(q, atomic_load(&q->cc->entered) + 1))
        return true;
    w.since_ns = xs_now_ns();
    return xs_permit_wait(q, &w);
}
