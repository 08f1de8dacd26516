/* SPDX-License-Identifier: Apache-2.0 */
/* No caller knows which command is the last one of a burst. When each had a mark, a burst of a hundred
 * launches took a tenth longer (decision 0018). So one in a while has a mark, and the calls by which a
 * program waits for the end put one behind the last command (xsched_priv_end_near). marker.c notices programs
 * that become idle without such calls. */
#include "xqueue/submit/end_mark.h"

#include "base/clock.h"
#include "base/tune.h"
#include "xqueue/queue.h"

static _Atomic int64_t g_mark_us = -1;     /* XSCHED_TUNE=mark-us; -1: not read yet; any thread, once */

uint64_t xs_queue_end_mark_each_ns(void)
{
    int64_t us = atomic_load_explicit(&g_mark_us, memory_order_relaxed); /* a value by itself */

    return (uint64_t)(us < 0 ? xs_tune_keep(XS_TUNE_MARK_US, 100, &g_mark_us) : us) * XS_NS_PER_US;
}

bool xs_queue_end_may_be_near(struct xs_queue *q, uint64_t out_ns)
{
    uint64_t now_ns, quiet_ns, each_ns = xs_queue_end_mark_each_ns();

    /* relaxed, all of it: two threads at once may both mark; a clock that stepped back gives a mark, too */
    now_ns = xs_now_ns();
    quiet_ns = now_ns - atomic_load_explicit(&q->submit.watched_ns, memory_order_relaxed);
    atomic_store_explicit(&q->submit.watched_ns, now_ns, memory_order_relaxed);
    if (out_ns && quiet_ns > out_ns + each_ns &&
        atomic_load(&q->completion.marked_to) < atomic_load(&q->cc->returned))
        atomic_store_explicit(&q->submit.idled, 1, memory_order_relaxed);
    if (now_ns - atomic_load_explicit(&q->submit.end_mark_ns, memory_order_relaxed) < each_ns &&
        atomic_load_explicit(&q->submit.unwaited, memory_order_relaxed) < XS_UNWAITED_MANY)
        return false;
    atomic_store_explicit(&q->submit.end_mark_ns, now_ns, memory_order_relaxed);
    return true;
}

void xsched_priv_end_near(struct xs_queue *q)
{
    xs_queue_end_near(q);
}
