/* SPDX-License-Identifier: Apache-2.0 */
/* The program lets something go on for which its commands may wait, in a way that the shim does not see. */
#include "xqueue/interface.h"
#include "xqueue/mark.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"
#include "xqueue/submit/in_flight.h"

void xsched_priv_host_lets_go(int platform)
{
    struct xs_state *st = xs_state_get();

    if (!st)
        return;
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next) {
        if (q->hwq_platform != (uint32_t)platform || atomic_load(&q->cc->completed) >= atomic_load(&q->cc->entered))
            continue;
        xs_in_flight_unbound(q);
        xs_queue_look(q, true);
        xs_queue_distrust(q);
    }
}
