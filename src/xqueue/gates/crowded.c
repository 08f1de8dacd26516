/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/gates/crowded.h"

#include "xqueue/gates/gate.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

static void set_all(struct xs_queue *of, bool crowded)
{
    of->ctx_entries->crowded = crowded;
    for (struct xs_queue *q = atomic_load(&of->state->pool); q; q = q->pool_next) {
        if (q->ctx_entries != of->ctx_entries)
            continue;
        /* seq_cst pairs with put() of gate.c: notes the gate, then looks here. So either this thread opens that gate, or
         * that one puts none. */
        atomic_store(&q->crowded, crowded);
        if (q != of && xs_gates_crowded(q) && atomic_load(&q->cc->entered) > atomic_load(&q->cc->completed))
            xs_gates_open_locked(q);
    }
}

void xs_crowded_join(struct xs_queue *q)
{
    struct xs_ctx_entries *c = q->ctx_entries;

    if (!c)
        return;
    q->counted = true;
    if (++c->queues > c->connections && c->connections && !c->crowded)
        set_all(q, true);
    else
        atomic_store(&q->crowded, c->crowded); /* the storage may have been another context's */
}

void xs_crowded_leave(struct xs_queue *q)
{
    struct xs_ctx_entries *c = q->ctx_entries;

    if (!q->counted)
        return;
    q->counted = false;
    /* not at once: a program that makes and ends streams all the time would open its gates each time */
    if (--c->queues <= c->connections / 2 && c->crowded)
        set_all(q, false);
}
