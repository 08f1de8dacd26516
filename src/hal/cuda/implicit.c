/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for what without a word of the program's: the legacy default stream of a context for its
 * blocking streams, these for the legacy one, and calls such as cuMemFree and synchronous copies for
 * everything. Needed only where single streams of the process may be held. */
#include "hal/cuda/hal.h"

void xs_cuda_ordered_add_locked(struct xs_cuda_context *c, struct xs_cuda_hw *hw)
{
    if (!atomic_load(&hw->blocking) && hw->stream != XS_CU_STREAM_LEGACY)
        return;
    for (size_t i = 0; i < XS_CUDA_ORDERED; i++) {
        if (!atomic_load(&c->ordered[i])) {
            atomic_store(&c->ordered[i], hw);
            return;
        }
    }
}

void xs_cuda_ordered_remove_locked(struct xs_cuda_context *c, struct xs_cuda_hw *hw)
{
    for (size_t i = 0; i < XS_CUDA_ORDERED; i++)
        if (atomic_load(&c->ordered[i]) == hw)
            atomic_store(&c->ordered[i], NULL);
}

XS_EXPORT void xsched_priv_cuda_implicit(struct xs_queue *q, uint64_t native)
{
    struct xs_cuda_hw *hw = xs_cuda_hw_find(native);
    bool legacy = hw && hw->stream == XS_CU_STREAM_LEGACY;

    if (!hw || (!legacy && !atomic_load(&hw->blocking)))
        return;
    for (size_t i = 0; i < XS_CUDA_ORDERED; i++) {
        struct xs_cuda_hw *other = atomic_load(&hw->context->ordered[i]);
        struct xs_queue *p;

        if (!other || other == hw || (other->stream == XS_CU_STREAM_LEGACY) == legacy)
            continue;
        /* may be the queue of a stream that is gone: then it is lent to for nothing */
        p = atomic_load_explicit(&other->mark_queue, memory_order_acquire);
        if (p)
            xsched_priv_waits_for(q, p, xsched_priv_returned(p));
    }
}

static void lend(struct xs_queue *q, void *arg)
{
    (void)arg;
    xsched_priv_lend(q, xsched_priv_returned(q), xsched_priv_thread_priority());
}

XS_EXPORT void xsched_priv_cuda_lend_context(void)
{
    xsched_priv_cuda_each_queue(NULL, lend, NULL);
}
