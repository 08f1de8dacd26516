/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/levelzero/ze_submit.h"

#include "base/futex.h"

_Atomic uint32_t xs_ze_captures_count;

#define SETTLE_WAIT_NS (2 * XS_NS_PER_S)

/* Programs make queues that they never use, so the first command makes the XQueue. Several threads may use
 * one queue. The others wait for the thread that makes it, for so long at most; after that their commands go
 * unscheduled. A tenth of a second was too short on a busy machine. */
__attribute__((noinline)) void xs_ze_settle(struct xs_ze_hw *hw)
{
    uint32_t word = XS_ZE_OPEN;
    uint64_t now_ns, until_ns;
    HwQueueHandle handle;

    if (atomic_compare_exchange_strong(&hw->settled, &word, XS_ZE_SETTLING)) {
        if (xsched_priv_auto() && xsched_priv_ze_adopt(hw, &handle) == kXSchedSuccess)
            xsched_priv_auto_queue(handle, hw->priority);
        atomic_store(&hw->settled, XS_ZE_SETTLED);
        xs_futex_wake(&hw->settled, INT32_MAX);
        return;
    }
    until_ns = xs_now_ns() + SETTLE_WAIT_NS;
    while (word == XS_ZE_SETTLING && (now_ns = xs_now_ns()) < until_ns) {
        xs_futex_wait(&hw->settled, XS_ZE_SETTLING, until_ns - now_ns);
        word = atomic_load(&hw->settled);
    }
    /* no thread waits again: a forked child does not have the thread that makes it */
    if (word == XS_ZE_SETTLING)
        atomic_compare_exchange_strong(&hw->settled, &word, XS_ZE_SETTLED);
}

/* Another list joins a capture by waiting for an event of it, so this asks the driver. */
__attribute__((noinline)) bool xs_ze_captures(const struct xs_ze_hw *hw)
{
    if (!hw->immediate)
        return false;
    if (atomic_load(&hw->capturing))
        return true;
    /* ZE_RESULT_QUERY_TRUE is no success; any other answer is a no */
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

#define AWAITS_MOST 32u           /* events of one command that this reads */

__attribute__((noinline)) void xs_ze_submit_await_host(struct xs_ze_submit *s, const struct xs_ze_side *side, uint32_t count,
                                                       xs_ze_handle *events)
{
    const struct xs_ze_api *api = &side->api;
    struct xs_ticket t;
    uint32_t i = 0;
    bool ok;

    if (s->hw->synchronous || !api->zeEventQueryStatus || !side->real.zeCommandListAppendWaitOnEvents)
        return;
    while (i < count && i < AWAITS_MOST && api->zeEventQueryStatus(events[i]) != XS_ZE_NOT_READY)
        i++;
    if (i == XS_MIN(count, AWAITS_MOST))
        return;
    xs_host_signal_awaited(&xs_ze_host_signals);
    if (!s->hw->in_order) {       /* later commands need not wait for it there, and the host may wait for them */
        xsched_priv_waits_for_host(s->queue);
        return;
    }
    atomic_store(&s->hw->submitter, xs_thread_id()); /* marks go into the list */
    xsched_priv_submit_begin(s->queue, XS_KEY_AWAITS, XS_SUBMIT_PASS | XS_SUBMIT_OURS, &t);
    ok = side->real.zeCommandListAppendWaitOnEvents(s->native, count, events) == XS_ZE_SUCCESS;
    xsched_priv_submit_end(&t, ok, false);
    atomic_store(&s->hw->submitter, 0);
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
