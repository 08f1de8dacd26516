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

    xs_gates_host_waits(&q->gates);
    open = xs_permit_wait(q, &w);
    xs_gates_host_waited(&q->gates);
    return open;
}

bool xsched_priv_may_run(struct xs_queue *q, uint64_t more)
{
    return xs_queue_permitted(q, atomic_load(&q->cc->entered) + more);
}
