/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that runs beside a more important one has a lane, which cannot take every kernel
 * (src/hal/cuda/lanes). A short kernel (up to SHORT_NS) runs on the whole device nevertheless: the urgent
 * program's next kernel waits for its blocks. Medium kernels (up to LONG_NS) run there, too, for at most one
 * part in PARTS of the time, so that the urgent program loses no more than that to them. Time without them
 * counts for up to BURST_NS, since a program's medium kernels often come together. A long kernel waits until
 * the queue has the device, as in a suspension. */
#include "base/clock.h"
#include "base/futex.h"
#include "wire/page.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/permission.h"

#define SHORT_NS (100 * XS_NS_PER_US)
#define LONG_NS  (1 * XS_NS_PER_MS)
#define BURST_NS (16 * XS_NS_PER_MS)
#define PARTS    8u

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

/* The command counts as in flight since before the wait. If nothing else is, the device gets it now. */
static void begin_anew(struct xs_queue *q, uint32_t est_ns)
{
    uint64_t entered_ns, completed_ns;

    xs_queue_look(q, true);
    entered_ns = atomic_load_explicit(&q->cc->est_entered_ns, memory_order_relaxed); /* values by themselves */
    completed_ns = atomic_load_explicit(&q->cc->est_completed_ns, memory_order_relaxed);
    if (entered_ns <= completed_ns + est_ns)
        atomic_store_explicit(&q->submit.busy_since_ns, xs_now_ns(), memory_order_relaxed);
}

void xsched_priv_submit_whole(struct xs_ticket *t)
{
    struct xs_queue *q = t->queue;
    bool medium = t->est_ns <= LONG_NS, slept = false;
    uint64_t began_ns, until_ns, n;

    if (t->inside) /* no gate closes in this context until its call returns */
        return;
    if (!q || !(t->lane & XS_LANE_ONLY) || t->est_ns <= SHORT_NS || t->flags & (XS_SUBMIT_PASS | XS_SUBMIT_COLLECTIVE))
        return;
    began_ns = xs_now_ns();
    n = atomic_load(&q->cc->entered);
    until_ns = medium ? atomic_load_explicit(&q->whole_ns, memory_order_relaxed) : UINT64_MAX; /* a value by itself */
    while (sleep_confined(q, until_ns))
        slept = true;
    if (medium) {
        uint64_t now_ns = xs_now_ns(), unused_ns = now_ns - XS_MIN(now_ns, BURST_NS);

        /* it runs now, also where nothing confines the queue before until_ns: that leaves no debt */
        atomic_store_explicit(&q->whole_ns, XS_MAX(XS_MIN(until_ns, now_ns), unused_ns) + PARTS * (uint64_t)t->est_ns,
                              memory_order_relaxed);
    }
    if (!xs_queue_permitted(q, n)) {    /* there was a suspension meanwhile */
        atomic_fetch_add(&q->submit.blocked, 1); /* XQueueSuspend waits for no thread that sleeps here */
        while (!xs_queue_permitted(q, n))
            xs_permission_sleep(q, n, &began_ns);
        atomic_fetch_sub(&q->submit.blocked, 1);
        slept = true;
    }
    if (slept)
        begin_anew(q, t->est_ns);
}
