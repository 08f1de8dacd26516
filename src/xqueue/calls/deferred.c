/* SPDX-License-Identifier: Apache-2.0 */
/* XQueueSubmit: launches in the caller's thread at once when nothing has to wait. Else the command goes
 * through a list to a worker thread. The thread starts with the first command that must wait and ends with
 * the last. */
#include "xqueue/calls/deferred.h"

#include "base/clock.h"
#include "base/log.h"
#include "xqueue/calls/command.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/permission.h"
#include "xqueue/submit/progress.h"
#include "xqueue/submit/turn.h"
#include "xqueue/thread.h"

#include "xsched/xqueue.h"

static bool list_empty(struct xs_queue *q)
{
    bool empty;

    xs_lock_acquire(&q->deferred.lock);
    empty = xs_list_empty(&q->deferred.list);
    if (empty)
        q->deferred.worker_runs = false;
    xs_lock_release(&q->deferred.lock);
    return empty;
}

static struct xs_command *pop(struct xs_queue *q)
{
    struct xs_command *c = NULL;

    xs_lock_acquire(&q->deferred.lock);
    if (!xs_list_empty(&q->deferred.list)) {
        c = XS_CONTAINER_OF(q->deferred.list.next, struct xs_command, link);
        xs_list_remove(&c->link);
    }
    xs_lock_release(&q->deferred.lock);
    return c;
}

static void settle(struct xs_queue *q, struct xs_command *c)
{
    atomic_fetch_add(&q->deferred.done, 1);
    atomic_fetch_sub(&q->deferred_count, 1);
    xs_progress_make(&q->progress);
    xs_command_unref(q->state, c);
}

static void *worker(void *arg)
{
    struct xs_queue *q = arg;
    struct xs_permit_wait w = {.reasons = XS_PERMIT_REASON_SUSPENDED, .place = XS_PERMIT_NEXT,
                               .timeout_ns = 100 * XS_NS_PER_MS, .since_ns = xs_now_ns()};

    /* Waits for the permit before it takes a command, so that the program can still drop waiting commands. */
    while (!list_empty(q)) {
        struct xs_command *c;

        if (!xs_permit_wait(q, &w))
            continue;
        w.since_ns = xs_now_ns();
        c = pop(q);
        if (c) {
            xs_command_launch(q, c, XS_SUBMIT_FROM_LIST);
            settle(q, c);
        }
    }
    xs_queue_unref(q);
    return NULL;
}

size_t xs_deferred_drop(struct xs_queue *q)
{
    struct xs_command *c;
    size_t n = 0;

    while ((c = pop(q))) {
        atomic_store(&c->state, XS_COMMAND_DROPPED);
        settle(q, c);
        n++;
    }
    return n;
}

static void append(struct xs_queue *q, struct xs_command *c)
{
    bool start;

    xs_lock_acquire(&q->deferred.lock);
    atomic_fetch_add(&q->deferred_count, 1);
    atomic_fetch_add(&q->deferred.submitted, 1);
    xs_list_add(&q->deferred.list, &c->link);
    start = !q->deferred.worker_runs;
    q->deferred.worker_runs = true;
    xs_lock_release(&q->deferred.lock);
    if (!start)
        return;
    atomic_fetch_add(&q->refs, 1);
    if (xs_thread_start(worker, q, 0) < 0) {
        XS_WARN_ONCE("cannot start a thread for commands that wait; the caller waits instead");
        worker(q);
    }
}

XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd)
{
    struct xs_state *st;
    struct xs_queue *q = xs_queue_ref(xq, &st);
    struct xs_command *c;
    int fresh = XS_COMMAND_NEW;
    XResult r = kXSchedSuccess;

    if (!q)
        return kXSchedErrorNotFound;
    c = xs_command_ref(st, hw_cmd);
    if (!c) {
        r = kXSchedErrorNotFound;
    } else if (!atomic_compare_exchange_strong(&c->state, &fresh, XS_COMMAND_HELD)) {
        r = kXSchedErrorNotAllowed;
        xs_command_unref(st, c);
    } else {
        c->queue_handle = xq;
        if ((q->flags & kQueueCreateFlagBlockingSubmit) ||
            (!atomic_load(&q->deferred_count) && !xs_queue_would_wait(q))) {
            xs_command_launch(q, c, 0);
            xs_command_unref(st, c);
        } else {
            append(q, c); /* the list takes the reference over */
        }
    }
    xs_queue_unref(q);
    return r;
}
