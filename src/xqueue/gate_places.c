/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/gate_places.h"

#include "base/clock.h"
#include "xqueue/gate.h"
#include "xqueue/interface.h"

#define LOOK_EACH_NS (100 * XS_NS_PER_US) /* so often at most, a thread looks for places that are free again */

/* Whether a scheduler or the program may suspend single queues of this process. Otherwise they stop together, and a
 * waiting stream stops nobody who would go on. */
static bool single(struct xs_queue *q)
{
    return atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) || /* both are hints */
           (atomic_load_explicit(&q->bounded, memory_order_relaxed) & XS_BOUNDED_APP);
}

void xs_gate_places_leave(struct xs_queue *q)
{
    if (q->ctx_entries && atomic_exchange(&q->gates.has_place, false))
        atomic_fetch_sub(&q->ctx_entries->places, 1);
}

/* @return whether there is one now */
static bool free_some(struct xs_queue *q)
{
    struct xs_ctx_entries *c = q->ctx_entries;
    uint64_t now_ns = xs_now_ns(), looked_ns = atomic_load(&c->looked_ns);
    bool any = false;

    if (now_ns - looked_ns < LOOK_EACH_NS || !atomic_compare_exchange_strong(&c->looked_ns, &looked_ns, now_ns))
        return false;
    for (struct xs_queue *o = atomic_load(&q->state->pool); o; o = o->pool_next) {
        if (o->ctx_entries != c || !atomic_load(&o->gates.has_place) || atomic_load(&o->gates.placing) || !xs_gates_passed(o))
            continue;
        if (!atomic_exchange(&o->gates.has_place, false))
            continue;
        /* seq_cst pairs with xs_gate_places_begin: counts itself, then looks for the place. Such a thread may rely on
         * it, or it found none and has taken another one. */
        if (atomic_load(&o->gates.placing) && !atomic_exchange(&o->gates.has_place, true))
            continue;
        atomic_fetch_sub(&c->places, 1);
        any = true;
    }
    return any;
}

static bool take(struct xs_queue *q)
{
    struct xs_ctx_entries *c = q->ctx_entries;
    int32_t taken;

    if (!single(q) || atomic_load(&q->gates.has_place))
        return true;
    do {
        taken = atomic_load(&c->places);
        while (taken < c->places_most) {
            if (!atomic_compare_exchange_weak(&c->places, &taken, taken + 1))
                continue;
            if (atomic_exchange(&q->gates.has_place, true)) /* another thread of this queue took one as well */
                atomic_fetch_sub(&c->places, 1);
            return true;
        }
    } while (c->places_most > 0 && free_some(q));
    return false;
}

bool xs_gate_places_begin(struct xs_queue *q)
{
    bool level1;

    if (XS_LIKELY(q->ctx_entries->places_most == XS_PLACES_ANY))
        return true;
    level1 = atomic_load(&q->bounded) & XS_BOUNDED_NO_PLACE;
    atomic_fetch_add(&q->gates.placing, 1);
    if (!take(q)) {
        atomic_fetch_sub(&q->gates.placing, 1);
        if (!level1)
            atomic_fetch_or(&q->bounded, XS_BOUNDED_NO_PLACE);
        return false;
    }
    if (level1)
        atomic_fetch_and(&q->bounded, ~(uint32_t)XS_BOUNDED_NO_PLACE);
    return true;
}

void xs_gate_places_end(struct xs_queue *q)
{
    if (XS_UNLIKELY(q->ctx_entries->places_most != XS_PLACES_ANY))
        atomic_fetch_sub(&q->gates.placing, 1);
}
