/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and immediate lists as the program makes, uses, waits for and ends them. */
#include "shim/levelzero/ze_submit.h"

#include "base/env.h"
#include "base/map.h"

#define QUEUES_MOST 32            /* of a device, in a wait that we report */

static struct xs_map g_fences;    /* the queue of each fence of the program */

static uint64_t trace_begin(void)
{
    return XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
}

static xs_ze_result traced(enum xs_row row, enum xs_how how, xs_ze_handle queue, xs_ze_result r, uint64_t begin_ns)
{
    if (XS_UNLIKELY(xs_shim_tracing))
        xs_trace_call(xs_row_info[row].symbol, how, xs_ze_key(queue), r, false, begin_ns);
    return r;
}

/* Queues of a background program also get the vendor's low priority, which a queue has from its making on. */
static bool in_background(void)
{
    int64_t priority = xs_env_i64(XS_ENV_XSCHED_PRIORITY, PRIORITY_DEFAULT);

    return xsched_priv_auto() &&
           xs_env_i64(XS_ENV_XSCHED_AUTO_XQUEUE_PRIORITY, priority) < 0;
}

typedef xs_ze_result (*create_fn)(xs_ze_handle context, xs_ze_handle device, const struct xs_ze_queue_desc *desc,
                                  xs_ze_handle *ret);

static xs_ze_result create(const struct xs_ze_side *side, enum xs_row row, create_fn make, xs_ze_handle context,
                           xs_ze_handle device, const struct xs_ze_queue_desc *desc, xs_ze_handle *ret)
{
    uint64_t begin_ns = trace_begin();
    struct xs_ze_queue_desc low;
    bool ours = desc && ret && !xs_depth_is_inner(xsched_priv_depth());
    xs_ze_result r = XS_ZE_ERROR_UNSUPPORTED_FEATURE;
    bool lowered = ours && desc->priority == XS_ZE_PRIORITY_NORMAL && in_background();

    if (lowered) {
        low = *desc;
        low.priority = XS_ZE_PRIORITY_LOW;
        r = make(context, device, &low, ret);
    }
    if (r != XS_ZE_SUCCESS)           /* the answer to the program's own wish */
        r = make(context, device, desc, ret);
    if (ours && r == XS_ZE_SUCCESS)
        xsched_priv_ze_made(&side->api, *ret, context, device, desc, row == ROW_zeCommandListCreateImmediate);
    return traced(row, XS_HOW_HAND, r == XS_ZE_SUCCESS && ret ? *ret : NULL, r, begin_ns);
}

xs_ze_result xs_hand_zeCommandQueueCreate(const struct xs_ze_side *side, const void *caller, xs_ze_handle context,
                                          xs_ze_handle device, const struct xs_ze_queue_desc *desc, xs_ze_handle *ret)
{
    (void)caller;
    return create(side, ROW_zeCommandQueueCreate, side->real.zeCommandQueueCreate, context, device, desc, ret);
}

xs_ze_result xs_hand_zeCommandListCreateImmediate(const struct xs_ze_side *side, const void *caller, xs_ze_handle context,
                                                  xs_ze_handle device, const struct xs_ze_queue_desc *desc,
                                                  xs_ze_handle *ret)
{
    (void)caller;
    return create(side, ROW_zeCommandListCreateImmediate, side->real.zeCommandListCreateImmediate, context, device, desc, ret);
}

struct xs_host_signals xs_ze_host_signals = XS_HOST_SIGNALS_INIT;

xs_ze_result xs_hand_zeEventHostSignal(const struct xs_ze_side *side, const void *caller, xs_ze_handle event)
{
    (void)caller;
    xs_host_signals_now(&xs_ze_host_signals);
    return side->real.zeEventHostSignal(event);
}

static void set_capturing(struct xs_ze_hw *hw, bool on)
{
    if (hw && atomic_exchange(&hw->capturing, on) != on)
        atomic_fetch_add(&xs_ze_captures_count, on ? 1u : -1u);
}

static void ends(xs_ze_handle native)
{
    struct xs_ze_hw *hw = xsched_priv_ze_find(native);

    if (hw) {
        set_capturing(hw, false);
        xsched_priv_ze_ends(hw);
    }
}

xs_ze_result xs_hand_zeCommandQueueDestroy(const struct xs_ze_side *side, const void *caller, xs_ze_handle queue)
{
    uint64_t begin_ns = trace_begin();

    (void)caller;
    ends(queue);
    return traced(ROW_zeCommandQueueDestroy, XS_HOW_HAND, queue, side->real.zeCommandQueueDestroy(queue), begin_ns);
}

xs_ze_result xs_hand_zeCommandListDestroy(const struct xs_ze_side *side, const void *caller, xs_ze_handle list)
{
    uint64_t begin_ns = trace_begin();

    (void)caller;
    ends(list);
    return traced(ROW_zeCommandListDestroy, XS_HOW_HAND, list, side->real.zeCommandListDestroy(list), begin_ns);
}

xs_ze_result xs_hand_zeCommandQueueExecuteCommandLists(const struct xs_ze_side *side, const void *caller, xs_ze_handle queue,
                                                       uint32_t lists_count, xs_ze_handle *lists, xs_ze_handle fence)
{
    const enum xs_row row = ROW_zeCommandQueueExecuteCommandLists;
    struct xs_ze_submit s;
    xs_ze_result r;

    xs_ze_submit_open(&s, row, queue, caller);
    if (s.queue)
        xs_ze_submit_begin(&s, xs_ze_key_lists(row, lists_count, lists), 0, !fence);
    if (s.own)
        fence = s.own->fence;
    r = side->real.zeCommandQueueExecuteCommandLists(queue, lists_count, lists, fence);
    xs_ze_submit_close(&s, r);
    return r;
}

/* A wait for all that a queue or list has. @param own  any thread may put a mark into it */
static xs_ze_result wait_for(enum xs_row row, xs_ze_result (*wait)(xs_ze_handle, uint64_t), xs_ze_handle native,
                             uint64_t timeout_ns, bool own)
{
    uint64_t begin_ns = trace_begin(), began = 0;
    struct xs_queue *q = NULL;
    xs_ze_result r;

    if (xsched_priv_ze_find(native) && !xs_depth_is_inner(xsched_priv_depth()))
        q = xsched_priv_queue_find(kPlatformLevelZero, xs_ze_key(native));
    if (q)
        began = own ? xsched_priv_wait_begin_own(q) : xsched_priv_wait_begin(q);
    r = wait(native, timeout_ns);
    if (q)
        xsched_priv_wait_end(q, began, r == XS_ZE_SUCCESS);
    return traced(row, XS_HOW_SYNC, native, r, begin_ns);
}

xs_ze_result xs_hand_zeCommandQueueSynchronize(const struct xs_ze_side *side, const void *caller, xs_ze_handle queue,
                                               uint64_t timeout_ns)
{
    (void)caller;
    return wait_for(ROW_zeCommandQueueSynchronize, side->real.zeCommandQueueSynchronize, queue, timeout_ns, timeout_ns > 0);
}

xs_ze_result xs_hand_zeCommandListHostSynchronize(const struct xs_ze_side *side, const void *caller, xs_ze_handle list,
                                                  uint64_t timeout_ns)
{
    (void)caller;
    return wait_for(ROW_zeCommandListHostSynchronize, side->real.zeCommandListHostSynchronize, list, timeout_ns, false);
}

xs_ze_result xs_hand_zeDeviceSynchronize(const struct xs_ze_side *side, const void *caller, xs_ze_handle device)
{
    uint64_t begin_ns = trace_begin(), began[QUEUES_MOST];
    struct xs_queue *queues[QUEUES_MOST];
    unsigned n = 0;
    xs_ze_result r;

    (void)caller;
    if (!xs_depth_is_inner(xsched_priv_depth()))
        n = xsched_priv_ze_queues(device, queues, QUEUES_MOST);
    for (unsigned i = 0; i < n; i++)
        began[i] = xsched_priv_wait_begin(queues[i]);
    r = side->real.zeDeviceSynchronize(device);
    for (unsigned i = n; i-- > 0;)
        xsched_priv_wait_end(queues[i], began[i], r == XS_ZE_SUCCESS);
    return traced(ROW_zeDeviceSynchronize, XS_HOW_SYNC, device, r, begin_ns);
}

xs_ze_result xs_hand_zeFenceCreate(const struct xs_ze_side *side, const void *caller, xs_ze_handle queue, const void *desc,
                                   xs_ze_handle *ret)
{
    xs_ze_result r = side->real.zeFenceCreate(queue, desc, ret);

    (void)caller;
    if (r == XS_ZE_SUCCESS && xsched_priv_ze_find(queue))
        xs_map_put(&g_fences, xs_ze_key(*ret), queue); /* without memory, we do not report a wait for it */
    return r;
}

xs_ze_result xs_hand_zeFenceDestroy(const struct xs_ze_side *side, const void *caller, xs_ze_handle fence)
{
    (void)caller;
    if (fence)
        xs_map_remove(&g_fences, xs_ze_key(fence));
    return side->real.zeFenceDestroy(fence);
}

xs_ze_result xs_hand_zeFenceHostSynchronize(const struct xs_ze_side *side, const void *caller, xs_ze_handle fence,
                                            uint64_t timeout_ns)
{
    xs_ze_handle queue = fence ? xs_map_get(&g_fences, xs_ze_key(fence)) : NULL;
    uint64_t begin_ns = trace_begin(), began = 0;
    struct xs_queue *q = NULL;
    xs_ze_result r;

    (void)caller;
    if (queue && timeout_ns && !xs_depth_is_inner(xsched_priv_depth()))
        q = xsched_priv_queue_find(kPlatformLevelZero, xs_ze_key(queue));
    if (q)
        began = xsched_priv_wait_begin_own(q);
    r = side->real.zeFenceHostSynchronize(fence, timeout_ns);
    if (q)                            /* later commands may not be complete */
        xsched_priv_wait_end(q, began, false);
    return traced(ROW_zeFenceHostSynchronize, XS_HOW_SYNC, queue, r, begin_ns);
}

static xs_ze_result captures(xs_ze_handle list, xs_ze_result r, bool on)
{
    if (r == XS_ZE_SUCCESS)
        set_capturing(xsched_priv_ze_find(list), on);
    return r;
}

xs_ze_result xs_hand_zeCommandListBeginGraphCaptureExt(const struct xs_ze_side *side, const void *caller, xs_ze_handle list,
                                                       const void *next)
{
    (void)caller;
    return captures(list, side->real.zeCommandListBeginGraphCaptureExt(list, next), true);
}

xs_ze_result xs_hand_zeCommandListBeginCaptureIntoGraphExt(const struct xs_ze_side *side, const void *caller,
                                                           xs_ze_handle list, xs_ze_handle graph, const void *next)
{
    (void)caller;
    return captures(list, side->real.zeCommandListBeginCaptureIntoGraphExt(list, graph, next), true);
}

xs_ze_result xs_hand_zeCommandListEndGraphCaptureExt(const struct xs_ze_side *side, const void *caller, xs_ze_handle list,
                                                     const void *next, xs_ze_handle *ret)
{
    (void)caller;
    return captures(list, side->real.zeCommandListEndGraphCaptureExt(list, next, ret), false);
}

/* Newer drivers give out objects with tables of their own in them, and the loader then calls those. */
xs_ze_result xs_hand_zeDriverGetProperties(const struct xs_ze_side *side, const void *caller, xs_ze_handle driver,
                                           struct xs_ze_driver_properties *ret)
{
    xs_ze_result r = side->real.zeDriverGetProperties(driver, ret);

    (void)caller;
    for (struct xs_ze_base *b = r == XS_ZE_SUCCESS ? ret->next : NULL; b; b = b->next) {
        if (b->type == XS_ZE_TYPE_DDI_HANDLES)
            ((struct xs_ze_ddi_handles *)(void *)b)->flags &= ~XS_ZE_DDI_HANDLES_SUPPORTED;
    }
    return r;
}
