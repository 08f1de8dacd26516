/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/context_full.h"

#include "xqueue/gates/gate.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

bool xs_context_full(struct xs_queue *q, bool shut)
{
    if (!xs_gates_full(q, shut))
        return false;
    for (struct xs_queue *o = atomic_load(&q->state->pool); o; o = o->pool_next) {
        uint64_t weight;

        if (o->ctx_entries != q->ctx_entries)
            continue;
        xs_queue_look(o, true);
        weight = xs_gates_weight(&o->gates); /* before entered: a command enters, then weighs */
        if (atomic_load(&o->cc->completed) >= atomic_load(&o->cc->entered))
            xs_gates_done(o, weight);
    }
    return xs_gates_full(q, shut);
}
