/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/announce_queues.h"

#include "xqueue/control/wish.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

static void set_dirty(struct xs_queue *q)
{
    if (!atomic_exchange(&q->announced.dirty, 1))
        xs_queue_wish_push(q);
}

void xs_control_announce_all(struct xs_state *st)
{
    st->engagement++;
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        if (atomic_load(&q->announced.wanted))
            set_dirty(q);
}

static bool announce(struct xs_state *st, struct xs_queue *q, const struct xs_listener *l, void *ctx)
{
    bool known = l && q->control.announced_in == st->engagement;
    struct xs_queue_wish w;

    if (!l)
        return true;              /* announce_all() comes with the next engagement */
    if (!atomic_load(&q->announced.wanted)) {
        if (known) {
            l->remove(ctx, q);
            q->control.announced_in = 0;
        }
        return true;
    }
    if (!xs_queue_wish_read(q, &w))
        return false;
    if (!known) {
        if (!l->add(ctx, q, &w))
            return false;
        q->control.announced_in = st->engagement;
        q->control.announced_config = w.config_changes;
        return true;
    }
    if (!l->change(ctx, q, &w, w.config_changes != q->control.announced_config))
        return false;
    q->control.announced_config = w.config_changes;
    return true;
}

bool xs_control_announce(struct xs_state *st, const struct xs_listener *listener, void *ctx)
{
    struct xs_queue *q = atomic_exchange(&st->dirty, NULL), *next;
    bool all = true;

    for (; q; q = next) {
        next = atomic_load(&q->announced.dirty_next);
        atomic_store(&q->announced.dirty, 0); /* before it reads the wish: a later change comes again */
        if (!announce(st, q, listener, ctx)) {
            set_dirty(q);
            all = false;
        }
        xs_queue_unref(q);
    }
    return all;
}
