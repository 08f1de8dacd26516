/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/control/awaited.h"

#include "xqueue/queue.h"
#include "xqueue/state.h"

#include <errno.h>
#include <unistd.h>

void xs_state_decided(struct xs_state *st)
{
    if (!atomic_load(&st->awaited))
        return;
    /* seq_cst pairs with queue_create(): puts the queue into the pool with the bit, then reads awaited */
    atomic_store(&st->awaited, 0);
    for (struct xs_queue *q = atomic_load(&st->pool); q; q = q->pool_next)
        atomic_fetch_and(&q->bounded, ~(uint32_t)XS_BOUNDED_JOINING);
}

void xs_state_await(struct xs_state *st)
{
    int mode = atomic_load(&st->mode), saved = errno;
    bool comes = mode == XS_MODE_LOCAL;

    for (unsigned i = 0; i < st->sockets_count && mode == XS_MODE_GLOBAL; i++)
        comes = comes || access(st->sockets[i], F_OK) == 0; /* else there is no xserver, and nothing to wait for */
    errno = saved;
    if (comes)
        atomic_store(&st->awaited, 1);
    else
        xs_state_decided(st);
}
