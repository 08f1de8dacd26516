/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/levelzero/ze_submit.h"

_Atomic uint32_t xs_ze_captures_count;

/* Programs make queues that they never use, so an XQueue is made at the first command. */
__attribute__((noinline)) void xs_ze_settle(struct xs_ze_hw *hw)
{
    HwQueueHandle handle;

    if (!atomic_exchange(&hw->settled, true) && xsched_priv_auto() && xsched_priv_ze_adopt(hw, &handle) == kXSchedSuccess)
        xsched_priv_auto_queue(handle, hw->priority);
}

/* Another list joins a capture by waiting for an event of it, so the driver is asked. */
__attribute__((noinline)) bool xs_ze_captures(const struct xs_ze_hw *hw)
{
    if (!hw->immediate)
        return false;
    if (atomic_load(&hw->capturing))
        return true;
    /* ZE_RESULT_QUERY_TRUE is no success; an answer that is neither yes nor no is no */
    return hw->api->zeCommandListIsGraphCaptureEnabledExt &&
           hw->api->zeCommandListIsGraphCaptureEnabledExt(hw->native) == XS_ZE_QUERY_TRUE;
}

__attribute__((noinline)) void xs_ze_submit_marked(struct xs_ze_submit *s, bool free)
{
    if (free)
        s->watch = xsched_priv_ze_mark_take(s->hw, &s->own);
    if (s->own && s->watch < 0)
        s->own = NULL;
    if (s->own || !s->hw->immediate)
        return;
    s->marker = true;
    atomic_store(&s->hw->submitter, xs_thread_id());
}

__attribute__((noinline)) void xs_ze_submit_end_synchronous(struct xs_ze_submit *s, bool ok)
{
    uint64_t number;

    if (ok)
        s->ticket.mark = true;    /* it is complete, so the mark costs nothing */
    number = xsched_priv_submit_end(&s->ticket, ok, ok);
    if (ok)
        xsched_priv_completed(s->queue, number);
    xsched_priv_wait_end(s->queue, s->began, ok);
}
