/* SPDX-License-Identifier: Apache-2.0 */
/* The shim's count of device memory, which xserver shows. The shim may count before there is a page. */
#include "xqueue/announce/announce_memory.h"

#include "xqueue/state.h"

static _Atomic uint64_t s_used, s_limit, s_movable; /* writer: the shim, one thread at a time */

void xs_memory_tell(struct xs_state *st)
{
    atomic_store_explicit(&st->client->h.memory_used, atomic_load(&s_used), memory_order_relaxed);
    atomic_store_explicit(&st->client->h.memory_limit, atomic_load(&s_limit), memory_order_relaxed);
    atomic_store_explicit(&st->client->h.memory_movable, atomic_load(&s_movable), memory_order_relaxed);
}

static void tell(void)
{
    struct xs_state *st;

    /* seq_cst pairs with xs_state_get_or_make: publishes the state, then looks here */
    atomic_thread_fence(memory_order_seq_cst);
    st = xs_state_get();
    if (st)
        xs_memory_tell(st);
}

void xsched_priv_memory(uint64_t used_bytes, uint64_t limit_bytes)
{
    atomic_store(&s_used, used_bytes);
    atomic_store(&s_limit, limit_bytes);
    tell();
}

void xsched_priv_memory_movable(uint64_t bytes)
{
    atomic_store(&s_movable, bytes);
    tell();
}
