/* SPDX-License-Identifier: Apache-2.0 */
/* Level 2 where the host opens the gates, since the device cannot read a permit. */
#include "base/clock.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/submit/permission.h"

bool xsched_priv_gate_wait(struct xs_queue *q, uint64_t id, uint64_t number, uint64_t timeout_ns)
{
    struct xs_permit_wait w = {.reasons = XS_PERMIT_REASON_SUSPENDED, .place = XS_PERMIT_AT_GATE, .n = number, .id = id,
                               .timeout_ns = timeout_ns, .since_ns = xs_now_ns()};
    bool open;

    atomic_fetch_add(&q->gates.host_waiters, 1); /* seq_cst pairs with xs_gates_open_locked: opens, then reads it */
    open = xs_permit_wait(q, &w);
    atomic_fetch_sub(&q->gates.host_waiters, 1);
    return open;
}

bool xsched_priv_may_run(struct xs_queue *q, uint64_t more)
{
    return xs_queue_permitted(q, atomic_load(&q->cc->entered) + more);
}
