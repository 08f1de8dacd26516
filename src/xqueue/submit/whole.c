/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that runs beside a more important one has a lane, to which not every kernel can be confined
 * (src/hal/cuda/lanes). A short one (up to SHORT_NS) runs on the whole device nevertheless: the urgent
 * program's next kernel waits for its blocks. A medium one (up to LONG_NS) runs there, too, and the queue's
 * next medium one waits until SPACING times the length of this one has passed. So the urgent program loses
 * at most 1/SPACING of its time to them. A long one waits until the queue has the device, as if it were
 * suspended. */
#include "base/clock.h"
#include "base/futex.h"
#include "wire/page.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/permission.h"

#define SHORT_NS (100 * XS_NS_PER_US)
#define LONG_NS  (1 * XS_NS_PER_MS)
#define SPACING  16u

/* A dead scheduler, or one that stands still, confines no queue. */
static bool is_void(const struct xs_queue *q, uint64_t now_ns)
{
    struct xs_server_page *page = atomic_load(&q->state->server);

    return !page || now_ns > atomic_load(&page->h.lease_until_ns);
}

/* @param until_ns  the kernel may leave the lane then  @return false: it may run now */
static bool sleep_confined(struct xs_queue *q, uint64_t until_ns)
{
    struct xs_server_cell *sc = atomic_load(&q->sc);
    uint32_t lane = atomic_load(&sc->lane);
    uint64_t now_ns = xs_now_ns();

    if (!(lane & XS_LANE_ONLY) || now_ns >= until_ns || is_void(q, now_ns))
        return false;
    /* seq_cst pairs with the scheduler: stores lane, then looks at waiters */
    atomic_fetch_add(&q->cc->waiters, 1);
    if (atomic_load(&sc->lane) == lane)
        xs_futex_wait(&sc->lane, lane, XS_MIN(until_ns - now_ns, XS_LEASE_TICK_NS));
    atomic_fetch_sub(&q->cc->waiters, 1);
    return true;
}

void xsched_priv_submit_whole(struct xs_ticket *t)
{
    struct xs_queue *q = t->queue;
    bool medium = t->est_ns <= LONG_NS;
    uint64_t began_ns, until_ns, n;

    if (t->inside) /* no gate closes in this context until its call returns */
        return;
    if (!q || !(t->lane & XS_LANE_ONLY) || t->est_ns <= SHORT_NS || t->flags & (XS_SUBMIT_PASS | XS_SUBMIT_COLLECTIVE))
        return;
    began_ns = xs_now_ns();
    n = atomic_load(&q->cc->entered);
    until_ns = medium ? atomic_load_explicit(&q->whole_ns, memory_order_relaxed) : UINT64_MAX; /* a value by itself */
    while (sleep_confined(q, until_ns))
        ;
    if (medium)
        atomic_store_explicit(&q->whole_ns, xs_now_ns() + SPACING * (uint64_t)t->est_ns, memory_order_relaxed);
    while (!xs_queue_permitted(q, n)) /* it was suspended meanwhile */
        xs_permission_sleep(q, n, &began_ns);
}
