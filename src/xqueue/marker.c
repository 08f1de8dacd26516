/* SPDX-License-Identifier: Apache-2.0 */
/* A mark from outside is a vendor call. A vendor call may block, or may need the very lock under which the
 * vendor called us. So an expendable thread makes it. The thread starts with the first wish, ends after a
 * while without one, and holds nothing that another thread needs. When it is stuck in the vendor, another one
 * serves the other wishes. */
#include "xqueue/marker.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/end_mark.h"
#include "xqueue/thread.h"

#include <errno.h>

#define LINGER_NS (100 * XS_NS_PER_MS) /* without a wish for this long the thread ends */
#define STUCK_NS  XS_NS_PER_S          /* in one vendor call for this long: rely on it no more */

static void push(struct xs_state *st, struct xs_queue *q)
{
    struct xs_queue *head = atomic_load(&st->mark_wishes);

    do
        atomic_store(&q->marker.next, head);
    while (!atomic_compare_exchange_weak(&st->mark_wishes, &head, q));
}

/* One wish; the others stay for the next thread, should this one not come back. */
static struct xs_queue *take(struct xs_state *st)
{
    struct xs_queue *q = atomic_exchange(&st->mark_wishes, NULL), *rest, *next;

    if (!q)
        return NULL;
    for (rest = atomic_load(&q->marker.next); rest; rest = next) {
        next = atomic_load(&rest->marker.next);
        push(st, rest);
    }
    return q;
}

static void serve(struct xs_marker *m, struct xs_queue *q)
{
    uint64_t completed;

    atomic_store(&q->marker.wished, 0); /* before the look: a later wish comes again */
    completed = atomic_load(&q->cc->completed);
    if (xs_completion_marked_to(&q->completion) <= completed && atomic_load(&q->cc->returned) > completed) {
        atomic_store(&m->since_ns, xs_now_ns());
        xs_queue_mark_now(q);
        atomic_store(&m->since_ns, 0);
    }
    xs_queue_unref(q);
}

static void *marker_main(void *arg)
{
    struct xs_marker *m = arg;
    struct xs_state *st = m->state;

    for (;;) {
        uint32_t seen = atomic_load(&st->mark_calls);
        struct xs_queue *q = take(st);

        if (q) {
            serve(m, q);
            continue;
        }
        if (xs_futex_wait(&st->mark_calls, seen, LINGER_NS) != -ETIMEDOUT)
            continue;
        atomic_store(&m->runs, 0);
        /* seq_cst pairs with xs_marker_want: pushes, then looks at runs */
        if (!atomic_load(&st->mark_wishes) || atomic_exchange(&m->runs, 1))
            return NULL;
    }
}

/* Starts a thread, unless one runs that is not stuck. */
static void call(struct xs_state *st)
{
    atomic_fetch_add(&st->mark_calls, 1);
    for (int i = 0; i < XS_MARKERS; i++) {
        struct xs_marker *m = &st->markers[i];
        uint64_t since_ns;

        if (atomic_exchange(&m->runs, 1) == 0) {
            m->state = st;
            if (xs_thread_start(marker_main, m, 0) == 0)
                return;
            atomic_store(&m->runs, 0);
            XS_WARN_ONCE("cannot start a thread for completion marks; the scheduler notices late that queues are idle");
            return;
        }
        since_ns = atomic_load(&m->since_ns);
        if (since_ns == 0 || xs_now_ns() - since_ns < STUCK_NS) {
            xs_futex_wake(&st->mark_calls, 1);
            return;
        }
    }
}

void xs_marker_want(struct xs_queue *q)
{
    if (!q->marks_from_outside)
        return;
    if (atomic_exchange(&q->marker.wished, 1) == 0) {
        atomic_fetch_add(&q->refs, 1); /* the list's; the thread that serves the wish gives it back */
        push(q->state, q);
    }
    call(q->state);
}

void xs_marker_end_missed(struct xs_queue *q)
{
    if (q->marks_from_outside)
        xs_marker_want(q);
    else if (!atomic_load(&q->cc->inherit))
        xs_ends_missed(&q->ends); /* a hint, and no more */
}

/* The next command of a burst, or one soon after, has a mark; if there is none, the scheduler asks. */
static bool in_a_burst(struct xs_queue *q)
{
    uint64_t watched_ns = xs_ends_watched_ns(&q->ends);

    /* 0: no submit has looked at the environment yet, and this thread may not */
    return watched_ns && xs_now_ns() - watched_ns < xs_queue_end_mark_each_ns();
}

/* The scheduler waits for the end of this queue, and no mark follows the last commands: a burst of
 * short commands ended before the scheduler asked. This thread is the vendor's, so another thread
 * puts the mark into the stream. */
static void mark_the_rest(struct xs_queue *q)
{
    uint64_t completed = atomic_load(&q->cc->completed);

    if ((atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_IDLE) &&
        xs_completion_marked_to(&q->completion) <= completed && atomic_load(&q->cc->returned) > completed &&
        !in_a_burst(q))
        xs_marker_want(q);
}

void xsched_priv_completed(struct xs_queue *q, uint64_t number)
{
    xs_queue_complete(q, number, false);
    mark_the_rest(q);
    xs_queue_unref(q);
}
