/* SPDX-License-Identifier: Apache-2.0 */
/* No caller knows which command is the last one of a burst. When each had a mark, a burst of a hundred
 * launches took a tenth longer (decision 0018). So one in a while has a mark, and the calls by which a
 * program waits for the end put one behind the last command (xsched_priv_end_near).
 *
 * A program may become idle without such a call. marker.c notices that. Then a pause earns marks for the next
 * commands, so that the next end shows at once: as long as the program waits for none, and where its bursts
 * have so few commands that their marks, of some 2 us each, cost it at most a tenth of the pauses. */
#include "xqueue/submit/end_mark.h"

#include "base/clock.h"
#include "base/tune.h"

#define PAUSE_NS      XS_NS_PER_MS         /* others gain nothing in a shorter one */
#define PAUSE_MOST_NS (50 * XS_NS_PER_MS)  /* after so long the scheduler takes the queue for idle anyway */
#define EARNS_NS      (20 * XS_NS_PER_US)  /* of a pause, one mark */
#define EARNED_MOST   ((uint32_t)((PAUSE_MOST_NS - PAUSE_NS) / EARNS_NS))

static _Atomic int64_t g_mark_us = -1;     /* XSCHED_TUNE=mark-us; -1: not read yet; any thread, once */

uint64_t xs_queue_end_mark_each_ns(void)
{
    int64_t us = atomic_load_explicit(&g_mark_us, memory_order_relaxed); /* a value by itself */

    return (uint64_t)(us < 0 ? xs_tune_keep(XS_TUNE_MARK_US, 100, &g_mark_us) : us) * XS_NS_PER_US;
}

/* The first submit after a pause. @param pause_ns  how long the device had no work, more than PAUSE_NS */
static __attribute__((noinline)) void after_pause(struct xs_queue *q, uint64_t pause_ns)
{
    uint32_t before = (uint32_t)atomic_load(&q->cc->entered) - 1; /* this command has entered */
    uint32_t burst = before - atomic_load_explicit(&q->ends.burst_from, memory_order_relaxed);
    uint64_t marks = (XS_MIN(pause_ns, PAUSE_MOST_NS) - PAUSE_NS) / EARNS_NS;
    uint32_t earned = atomic_load_explicit(&q->ends.earned_marks, memory_order_relaxed);

    atomic_store_explicit(&q->ends.burst_from, before, memory_order_relaxed);
    if (!earned && !atomic_load_explicit(&q->ends.end_missed, memory_order_relaxed))
        return;
    atomic_store_explicit(&q->ends.end_missed, false, memory_order_relaxed);
    if (burst <= marks)
        atomic_store_explicit(&q->ends.earned_marks, (uint32_t)XS_MIN(earned + marks, EARNED_MOST),
                              memory_order_relaxed);
}

bool xs_queue_end_may_be_near(struct xs_queue *q, uint64_t out_ns)
{
    uint64_t now_ns, quiet_ns, each_ns = xs_queue_end_mark_each_ns();
    uint32_t earned;

    /* relaxed, all of it: two threads at once may both mark; a clock that stepped back gives a mark, too */
    now_ns = xs_now_ns();
    quiet_ns = now_ns - atomic_load_explicit(&q->ends.watched_ns, memory_order_relaxed);
    atomic_store_explicit(&q->ends.watched_ns, now_ns, memory_order_relaxed);
    if (out_ns && quiet_ns > out_ns + each_ns &&
        xs_completion_marked_to(&q->completion) < atomic_load(&q->cc->returned))
        atomic_store_explicit(&q->ends.idled, XS_MARK_IDLED, memory_order_relaxed);
    if (XS_UNLIKELY(quiet_ns > out_ns + PAUSE_NS))
        after_pause(q, quiet_ns - out_ns);
    if (now_ns - atomic_load_explicit(&q->ends.end_mark_ns, memory_order_relaxed) < each_ns) {
        earned = atomic_load_explicit(&q->ends.earned_marks, memory_order_relaxed);
        if (!earned)
            return false;
        atomic_store_explicit(&q->ends.earned_marks, earned - 1, memory_order_relaxed);
    }
    atomic_store_explicit(&q->ends.end_mark_ns, now_ns, memory_order_relaxed);
    return true;
}
