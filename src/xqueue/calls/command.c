/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/calls/command.h"

#include "base/log.h"
#include "xqueue/calls/state_make.h"
#include "xqueue/hwq.h"
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/progress.h"

#include "xsched/xqueue.h"

#include <stdlib.h>

XResult HwCommandCreateCallback(HwCommandHandle *hw_cmd, LaunchCallback launch, void *data)
{
    struct xs_state *st;
    struct xs_command *c;

    if (!hw_cmd || !launch)
        return kXSchedErrorInvalidValue;
    st = xs_state_get_or_make();
    c = st ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return kXSchedErrorUnknown;
    c->handle = 1ull << 63 | st->handle_prefix << 32 | (atomic_fetch_add(&st->next_command, 1) & 0xffffffffu);
    c->launch = launch;
    c->data = data;
    c->refs = 1;
    xs_list_init(&c->link);
    if (xs_map_put(&st->handle_to_command, c->handle, c) < 0) {
        free(c);
        return kXSchedErrorUnknown;
    }
    *hw_cmd = c->handle;
    return kXSchedSuccess;
}

struct xs_command *xs_command_ref(struct xs_state *st, HwCommandHandle handle)
{
    struct xs_command *c;

    xs_lock_acquire(&st->lock);
    c = xs_map_get(&st->handle_to_command, handle);
    if (c)
        c->refs++;
    xs_lock_release(&st->lock);
    return c;
}

void xs_command_unref(struct xs_state *st, struct xs_command *c)
{
    bool last;

    xs_lock_acquire(&st->lock);
    last = --c->refs == 0;
    xs_lock_release(&st->lock);
    if (last)
        free(c);
}

/* Takes the handle away; the object lives on while a thread uses it. */
static bool forget(struct xs_state *st, struct xs_command *c)
{
    if (!xs_map_remove(&st->handle_to_command, c->handle))
        return false;
    xs_command_unref(st, c);
    return true;
}

XResult HwCommandDestroy(HwCommandHandle hw_cmd)
{
    struct xs_state *st = xs_state_get();
    struct xs_command *c = st ? xs_command_ref(st, hw_cmd) : NULL;
    XResult r = kXSchedSuccess;

    if (!c)
        return kXSchedErrorNotFound;
    if (atomic_load(&c->state) == XS_COMMAND_HELD)
        r = kXSchedErrorNotAllowed;
    else if (!forget(st, c))
        r = kXSchedErrorNotFound;
    xs_command_unref(st, c); /* NOLINT(clang-analyzer-unix.Malloc): two references, ours and the handle's */
    return r;
}

static XResult call_back(struct xs_hwq *h, struct xs_command *c, const struct xs_queue *q)
{
    const struct xs_queue *outer = xs_tls.in_command;
    void *saved = NULL;
    XResult r = kXSchedSuccess;

    if (h->ops->enter)
        r = h->ops->enter(h->hw, &saved);
    if (r != kXSchedSuccess)
        return r;
    xs_tls.in_command = q;
    r = c->launch(h->handle, c->data);
    xs_tls.in_command = outer;
    if (h->ops->leave)
        h->ops->leave(h->hw, saved);
    return r;
}

void xs_command_launch(struct xs_queue *q, struct xs_command *c, uint32_t submit_flags)
{
    struct xs_ticket t;

    xsched_priv_submit_begin(q, (uint64_t)(uintptr_t)c->launch, submit_flags, &t);
    c->result = call_back(atomic_load(&q->hwq), c, q);
    /* A callback that fails may have launched something before: it counts as launched. */
    xsched_priv_submit_end(&t, true, false);
    /* from a callback of the same queue: it is part of that command, which has not returned yet */
    atomic_store(&c->number, atomic_load(t.queue ? &q->cc->returned : &q->cc->entered));
    atomic_store(&c->state, XS_COMMAND_LAUNCHED);
    xs_progress_make(&q->progress);
}

XResult HwQueueLaunch(HwQueueHandle hwq, HwCommandHandle hw_cmd)
{
    struct xs_state *st;
    struct xs_hwq *h = xs_hwq_use(hwq, &st);
    struct xs_queue *on;          /* its shim's view: vendor calls of the callback pass */
    struct xs_command *c;
    XResult r = kXSchedErrorNotFound;

    if (!h)
        return kXSchedErrorNotFound;
    xs_lock_acquire(&st->lock);
    on = h->queue;
    xs_lock_release(&st->lock);
    c = xs_command_ref(st, hw_cmd);
    if (c) {
        if (atomic_load(&c->state) == XS_COMMAND_HELD)
            r = kXSchedErrorNotAllowed;
        else
            r = call_back(h, c, on);
        xs_command_unref(st, c);
    }
    xs_hwq_done(st, h);
    return r;
}

XResult XQueueWait(XQueueHandle xq, HwCommandHandle hw_cmd)
{
    struct xs_state *st;
    struct xs_queue *q = xs_queue_ref(xq, &st);
    struct xs_command *c;
    XResult r = kXSchedErrorNotFound;

    if (!q)
        return kXSchedErrorNotFound;
    c = xs_command_ref(st, hw_cmd);
    if (!c || c->queue_handle != xq)
        goto out;
    for (;;) {
        uint32_t seen = xs_progress_seen(&q->progress);

        if (atomic_load(&c->state) != XS_COMMAND_HELD)
            break;
        xs_progress_sleep(&q->progress, seen, 100 * XS_NS_PER_MS);
    }
    if (atomic_load(&c->state) == XS_COMMAND_DROPPED) {
        r = kXSchedErrorNotFound;
    } else {
        uint64_t number = atomic_load(&c->number);

        r = xs_queue_finish(q, number);
        if (c->result != kXSchedSuccess)
            r = c->result;
    }
    forget(st, c);
out:
    if (c)
        xs_command_unref(st, c); /* NOLINT(clang-analyzer-unix.Malloc): two references, ours and the handle's */
    xs_queue_unref(q);
    return r;
}
