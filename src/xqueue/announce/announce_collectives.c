/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the scheduler of a process that will do collectives before its first one. Else another process's
 * first collective could run and wait for a suspended one of this process. It also tells of a process
 * that opened memory of other processes: its kernels may wait for each other under names that XSched does not
 * know. */
#include "xqueue/announce/announce_collectives.h"

#include "base/fd.h"
#include "xqueue/state.h"

static _Atomic bool s_ahead;      /* writer: the shim, once it has seen such a function */
static _Atomic uint64_t s_opened; /* writer: any thread that opened memory of another process */

static void ring(struct xs_state *st)
{
    struct xs_server_page *page = atomic_load(&st->server); /* a scheduler that joins later reads the words */

    if (page && xs_page_ring(st->client, page, 0))
        xs_fd_eventfd_signal(st->bell_fd);
}

void xs_collectives_tell(struct xs_state *st)
{
    uint64_t none = 0, opened = atomic_load(&s_opened);

    if (XS_UNLIKELY(opened) && atomic_exchange(&st->client->h.peer_memory, opened) == 0)
        ring(st);
    if (XS_UNLIKELY(atomic_load(&s_ahead)) && atomic_compare_exchange_strong(&st->client->h.collectives, &none, 1))
        ring(st);
}

static void tell_now(void)
{
    struct xs_state *st;

    /* seq_cst pairs with xs_state_get_or_make: publishes the state, then looks here */
    atomic_thread_fence(memory_order_seq_cst);
    st = xs_state_get();
    if (st)
        xs_collectives_tell(st);
}

void xsched_priv_collectives_ahead(void)
{
    atomic_store(&s_ahead, true);
    tell_now();
}

void xsched_priv_peer_memory(void)
{
    atomic_fetch_add(&s_opened, 1);
    tell_now();
}
