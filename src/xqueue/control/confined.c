/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/confined.h"

#include "base/clock.h"
#include "wire/wire.h"
#include "xqueue/control/interrupt.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

#define UNFIT_NS XS_NS_PER_S
#define LOOK_NS  (100 * XS_NS_PER_MS)

/* Commands of the confined queues: how many are complete, and since when that has not changed. Owner: the control
 * thread. */
static struct progress {
    uint64_t completed, since_ns;
} s_progress;

uint64_t xs_confined_space(const struct xs_state *st)
{
    if (st->space)
        return st->space;
    return st->asks_space && xs_interrupt_has_lanes() ? XS_SPACE_MASKS : 0;
}

static const struct xs_interrupt_ops *lanes_of(XDevice device, uint32_t *ret_lanes, uint32_t *ret_multiprocessors)
{
    for (unsigned i = 0; i < XS_INTERRUPTS; i++) {
        const struct xs_interrupt_ops *ops = xs_interrupt_ops(i);

        *ret_lanes = ops && ops->lanes ? ops->lanes(device, ret_multiprocessors) : 0;
        if (*ret_lanes)
            return ops;
    }
    return NULL;
}

/* Its kernels run on a part of the device, and one is under way. */
static bool is_busy(const struct xs_queue *q, uint64_t completed)
{
    const struct xs_server_cell *sc = atomic_load(&q->sc);
    uint64_t entered = atomic_load(&q->cc->entered);

    return atomic_load(&sc->lane) > XS_LANE_MAKE && completed < atomic_load(&q->cc->returned) &&
           atomic_load(&sc->permitted) >= entered; /* else its queues may be off the device */
}

/* @return whether they completed nothing for too long */
static bool stands_still(bool busy, uint64_t completed, uint64_t now_ns)
{
    struct progress *p = &s_progress;

    if (busy && completed == p->completed && p->since_ns)
        return now_ns - p->since_ns >= UNFIT_NS;
    *p = (struct progress){completed, busy ? now_ns : 0};
    return false;
}

uint64_t xs_confined_tick(struct xs_state *st, bool steered)
{
    const struct xs_interrupt_ops *unfit = NULL;
    uint64_t sum = 0, now_ns;
    bool busy = false;

    if (xs_confined_space(st) != XS_SPACE_MASKS)
        return UINT64_MAX;
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next) {
        const struct xs_interrupt_ops *ops;
        uint32_t lanes, multiprocessors;
        uint64_t completed;

        if (q->control.announced_in != st->engagement || !atomic_load(&q->announced.wanted))
            continue;
        ops = lanes_of(q->hwq_device, &lanes, &multiprocessors);
        if (!ops)
            continue;
        /* streams of one process are not confined by themselves */
        if (!steered || st->intra)
            lanes = XS_LANES_NONE;
        if (atomic_load(&q->cc->lanes) != lanes)
            xsched_priv_queue_lanes(q, lanes, multiprocessors);
        completed = XS_MAX(atomic_load(&q->cc->completed), atomic_load(&q->cc->marked));
        sum += completed;
        if (!is_busy(q, completed))
            continue;
        busy = true;
        unfit = ops;
    }
    now_ns = xs_now_ns();
    if (stands_still(busy, sum, now_ns) && unfit)
        unfit->unfit();
    return busy ? now_ns + LOOK_NS : UINT64_MAX;
}
