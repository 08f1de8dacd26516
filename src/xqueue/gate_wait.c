/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 where the host opens the gates, since the device cannot read a permit. */
#include "base/clock.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/submit/permission.h"

static bool may_open(struct xs_queue *q, uint64_t number)
{
    return number <= atomic_load(&atomic_load(&q->sc)->permitted) &&
           (number <= atomic_load(&q->app_permitted) || number <= atomic_load(&q->cc->let_through));
}

bool xsched_priv_gate_wait(struct xs_queue *q, uint64_t id, uint64_t number, uint64_t timeout_ns)
{
    uint64_t began_ns = xs_now_ns(), lease_ns = began_ns;
    bool open;

    atomic_fetch_add(&q->gates.host_waiters, 1); /* seq_cst pairs with xs_gates_open_locked: opens, then reads it */
    while (open = xsched_priv_queue_id(q) != id || may_open(q, number), !open && xs_now_ns() - began_ns < timeout_ns)
        xs_permission_sleep(q, number, &lease_ns);
    atomic_fetch_sub(&q->gates.host_waiters, 1);
    return open;
}

bool xsched_priv_may_run(struct xs_queue *q, uint64_t more)
{
    return xs_queue_permitted(q, atomic_load(&q->cc->entered) + more);
}
