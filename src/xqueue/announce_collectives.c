/* SPDX-License-Identifier: Apache-2.0 */
/* A process that will do collectives is known for it before its first one: else another process's first collective
 * could run and wait for one of this process that is held. */
#include "xqueue/announce_collectives.h"

#include "base/fd.h"
#include "xqueue/state.h"

static _Atomic bool s_ahead;      /* writer: the shim, once it has seen such a function */

void xs_collectives_tell(struct xs_state *st)
{
    struct xs_server_page *page;
    uint64_t none = 0;

    if (XS_LIKELY(!atomic_load(&s_ahead)) || !atomic_compare_exchange_strong(&st->client->h.collectives, &none, 1))
        return;
    page = atomic_load(&st->server); /* one that is joined later reads the number */
    if (page && xs_page_ring(st->client, page, 0))
        xs_fd_eventfd_signal(st->bell_fd);
}

void xsched_priv_collectives_ahead(void)
{
    struct xs_state *st;

    /* seq_cst pairs with xs_state_get_or_make: publishes the state, then looks here */
    atomic_store(&s_ahead, true);
    atomic_thread_fence(memory_order_seq_cst);
    st = xs_state_get();
    if (st)
        xs_collectives_tell(st);
}
