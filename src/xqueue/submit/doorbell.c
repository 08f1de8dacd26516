/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/submit/doorbell.h"

#include "base/fd.h"
#include "xqueue/interface.h"
#include "xqueue/queue.h"
#include "xqueue/state.h"

void xs_queue_ring(struct xs_queue *q)
{
    struct xs_state *st = q->state;
    struct xs_server_page *page = atomic_load(&st->server);

    if (XS_UNLIKELY(atomic_load(&atomic_load(&q->sc)->armed) & XS_ARMED_WAITS))
        atomic_store_explicit(&xsched_priv_follows, 1, memory_order_relaxed); /* a hint */
    if (page && xs_page_ring(st->client, page, q->cell))
        xs_fd_eventfd_signal(st->bell_fd);
}
