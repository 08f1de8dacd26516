/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that runs beside a more important one has a lane, which cannot take every kernel
 * (src/hal/cuda/lanes). A short kernel (up to SHORT_NS) runs on the whole device nevertheless: the urgent
 * program's next kernel waits for its blocks. Medium kernels (up to LONG_NS) run there, too, for at most one
 * part in PARTS of the time, so that the urgent program loses no more than that to them. Time without them
 * counts for up to BURST_NS, since a program's medium kernels often come together. A long kernel waits until
 * the queue has the device, as in a suspension. */
#include "base/clock.h"
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

/* The command counts as in flight since before the wait. If nothing else is, the device gets it now. */
static void begin_anew(struct xs_queue *q, uint32_t est_ns)
{
    uint64_t entered_ns, completed_ns;

    xs_queue_look(q, true);
    entered_ns = atomic_load_explicit(&q->cc->est_entered_ns, memory_order_relaxed); /* values by themselves */
    completed_ns = atomic_load_explicit(&q->cc->est_completed_ns, memory_order_relaxed);
    if (entered_ns <= completed_ns + est_ns)
        atomic_store_explicit(&q->busy_since_ns, xs_now_ns(), memory_order_relaxed);
}

void xsched_priv_submit_whole(struct xs_ticket *t)
{
    struct xs_queue *q = t->queue;
    bool medium = t->est_ns <= LONG_NS;
    struct xs_permit_wait w;

    if (t->inside) /* no gate closes in this context until its call returns */
        return;
    if (!q || !(t->lane & XS_LANE_ONLY) || t->est_ns <= SHORT_NS || t->flags & (XS_SUBMIT_PASS | XS_SUBMIT_COLLECTIVE))
        return;
    w = (struct xs_permit_wait){
        .reasons = XS_PERMIT_REASON_LANE, .place = XS_PERMIT_ENTERED, .n = atomic_load(&q->cc->entered),
        .lane_until_ns = medium ? atomic_load_explicit(&q->whole_ns, memory_order_relaxed) : UINT64_MAX, /* a value by itself */
        .timeout_ns = UINT64_MAX, .since_ns = xs_now_ns()};
    xs_permit_wait(q, &w);
    if (medium) {
        uint64_t now_ns = xs_now_ns(), unused_ns = now_ns - XS_MIN(now_ns, BURST_NS);

        /* it runs now, also where nothing confines the queue before lane_until_ns: that leaves no debt */
        atomic_store_explicit(&q->whole_ns, XS_MAX(XS_MIN(w.lane_until_ns, now_ns), unused_ns) + PARTS * (uint64_t)t->est_ns,
                              memory_order_relaxed);
    }
    w.reasons = XS_PERMIT_REASON_SUSPENDED; /* there may have been a suspension meanwhile */
    xs_permit_wait(q, &w);
    if (w.slept)
        begin_anew(q, t->est_ns);
}
