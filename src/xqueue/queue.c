/* SPDX-License-Identifier: Apache-2.0 */
#include "xqueue/queue.h"

#include "xqueue/interface.h"
#include "xqueue/state.h"

bool xs_queue_unused(struct xs_queue *q)
{
    uint64_t returned = atomic_load(&q->cc->returned);

    return atomic_load(&q->cc->entered) == returned && atomic_load(&q->refs) == 0 && atomic_load(&q->cc->inherit) == 0;
}

struct xs_queue *xs_queue_ref(XQueueHandle handle, struct xs_state **ret_state)
{
    struct xs_state *st = xs_state_get();
    struct xs_queue *q;

    if (!st)
        return NULL;
    xs_lock_acquire(&st->lock);
    q = xs_map_get(&st->handle_to_queue, handle);
    if (q)
        atomic_fetch_add(&q->refs, 1);
    xs_lock_release(&st->lock);
    if (ret_state)
        *ret_state = st;
    return q;
}

void xs_queue_unref(struct xs_queue *q)
{
    atomic_fetch_sub(&q->refs, 1); /* storage stays; queue_storage() looks for refs == 0 */
}

int32_t xs_level_in_force(const struct xs_hal_ops *ops, int32_t wanted, bool automatic)
{
    uint32_t levels = __atomic_load_n(&ops->levels, __ATOMIC_RELAXED); /* any answer will do, as for auto_levels */

    if (automatic)
        levels &= __atomic_load_n(&ops->auto_levels, __ATOMIC_RELAXED);
    for (int32_t l = wanted; l > 1; l--)
        if (levels & (1u << l))
            return l;
    return 1;
}

uint64_t xsched_priv_queue_id(struct xs_queue *q)
{
    /* in this order: 0 from before the storage may get a new use until the next XQueue there has its
     * handle */
    return atomic_load(&q->announced.wanted) ? q->handle : 0;
}
