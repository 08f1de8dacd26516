/* SPDX-License-Identifier: Apache-2.0 */
/* Completion marks: fences of command queues, events of immediate lists (hal.h). The thread of event_watch.h
 * asks for them. */
#include "hal/levelzero/hal.h"

#include "hal/common/stream_queues.h"

#define EVENTS_MOST   64u         /* of one list: marks that may be in flight there */
#define DESTROY_NS    20000000ull /* how long the end of a queue waits for a mark in flight */

static int ask(const struct xs_watch_place *place, void *opaque)
{
    const struct xs_ze_mark *m = opaque;
    const struct xs_ze_hw *hw = (const struct xs_ze_hw *)(uintptr_t)place; /* its first member */
    xs_ze_result r;

    if (atomic_load(&hw->gone))
        return -1;
    r = m->fence ? hw->api->zeFenceQueryStatus(m->fence) : hw->api->zeEventQueryStatus(m->event);
    return r == XS_ZE_SUCCESS ? 0 : r == XS_ZE_NOT_READY ? 1 : -1;
}

static void done(struct xs_queue *q, uint64_t number, bool reached)
{
    if (reached)
        xsched_priv_completed(q, number);
    else
        xsched_priv_mark_lost(q, number);
}

const struct xs_watch_ops xs_ze_watch = {"Level Zero", NULL, ask, done};

/* @return whether its fence is there and not signalled */
static bool ready_fence(struct xs_ze_hw *hw, struct xs_ze_mark *m)
{
    struct xs_ze_fence_desc desc = {.type = XS_ZE_TYPE_FENCE_DESC};

    if (m->fence)
        return hw->api->zeFenceReset(m->fence) == XS_ZE_SUCCESS;
    if (hw->context && hw->api->zeFenceCreate(hw->native, &desc, &m->fence) == XS_ZE_SUCCESS)
        return true;
    m->fence = NULL;
    return false;
}

static bool ready_event(struct xs_ze_hw *hw, struct xs_ze_mark *m)
{
    struct xs_ze_event_pool_desc pool = {.type = XS_ZE_TYPE_EVENT_POOL_DESC, .flags = XS_ZE_POOL_HOST_VISIBLE,
                                         .count = EVENTS_MOST};
    struct xs_ze_event_desc desc = {.type = XS_ZE_TYPE_EVENT_DESC, .index = hw->events, .signal = XS_ZE_SCOPE_HOST};

    if (m->event)
        return hw->api->zeEventHostReset(m->event) == XS_ZE_SUCCESS;
    if (!hw->pool && hw->api->zeEventPoolCreate(hw->context, &pool, 1, &hw->device, &hw->pool) != XS_ZE_SUCCESS)
        hw->pool = NULL;
    if (!hw->pool || hw->events >= EVENTS_MOST || hw->api->zeEventCreate(hw->pool, &desc, &m->event) != XS_ZE_SUCCESS) {
        m->event = NULL;
        return false;
    }
    hw->events++;
    return true;
}

XS_EXPORT int xsched_priv_ze_mark_take(struct xs_ze_hw *hw, struct xs_ze_mark **ret)
{
    void *event = NULL;
    int row = xs_watch_take(&xs_ze_watch, &hw->watch, &event);

    if (row < 0)
        return -1;
    *ret = event ? event : xs_ze_mark_new(hw);
    if (*ret && (hw->immediate ? ready_event(hw, *ret) : ready_fence(hw, *ret)))
        return row;
    xs_watch_give_back(row, *ret);
    return -1;
}

XS_EXPORT void xsched_priv_ze_mark_set(int row, struct xs_ze_mark *m, struct xs_queue *q, uint64_t number)
{
    xs_watch_set(row, m, q, number);
}

XS_EXPORT void xsched_priv_ze_mark_give_back(int row, struct xs_ze_mark *m)
{
    xs_watch_give_back(row, m);
}

/* A list without commands, closed. One for each mark, since a list must not be under way twice. */
static bool ready_list(struct xs_ze_hw *hw, struct xs_ze_mark *m)
{
    struct xs_ze_list_desc desc = {.type = XS_ZE_TYPE_LIST_DESC, .ordinal = hw->ordinal};

    if (m->list)
        return true;
    if (hw->api->zeCommandListCreate(hw->context, hw->device, &desc, &m->list) != XS_ZE_SUCCESS) {
        m->list = NULL;
        return false;
    }
    if (hw->api->zeCommandListClose(m->list) == XS_ZE_SUCCESS)
        return true;
    hw->api->zeCommandListDestroy(m->list);
    m->list = NULL;
    return false;
}

static bool put(struct xs_ze_hw *hw, struct xs_ze_mark *m)
{
    if (!hw->immediate)
        return ready_list(hw, m) &&
               hw->api->zeCommandQueueExecuteCommandLists(hw->native, 1, &m->list, m->fence) == XS_ZE_SUCCESS;
    /* Out of order, only a barrier is behind all earlier commands. Later ones wait for the same. */
    return (hw->in_order ? hw->api->zeCommandListAppendSignalEvent(hw->native, m->event)
                         : hw->api->zeCommandListAppendBarrier(hw->native, m->event, 0, NULL)) == XS_ZE_SUCCESS;
}

bool xs_ze_mark_put(struct xs_ze_hw *hw, struct xs_queue *q, uint64_t number)
{
    struct xs_ze_mark *m;
    int row;

    /* Only one thread at a time may use a list, and a captured mark tells of no completion. */
    if (!hw->context || (hw->immediate && (atomic_load(&hw->submitter) != xs_thread_id() || atomic_load(&hw->capturing))))
        return false;
    row = xsched_priv_ze_mark_take(hw, &m);
    if (row < 0)
        return false;
    if (!put(hw, m)) {
        xs_watch_give_back(row, m);
        return false;
    }
    xs_watch_set(row, m, q, number);
    return true;
}

/* @return whether the device has nothing to do with it any more */
static bool idle(const struct xs_ze_api *api, const struct xs_ze_mark *m, bool *wait)
{
    xs_ze_result r = m->fence   ? api->zeFenceHostSynchronize(m->fence, *wait ? DESTROY_NS : 0)
                     : m->event ? api->zeEventHostSynchronize(m->event, *wait ? DESTROY_NS : 0)
                                : XS_ZE_SUCCESS;

    *wait &= r == XS_ZE_SUCCESS;
    return r == XS_ZE_SUCCESS;
}

/* The program destroys a queue when its own work is complete; a mark of ours may complete a moment later.
 * Marks that are still not complete then, and those that the device never signals, stay until the end of the
 * context: it is not safe to destroy them. */
void xs_ze_marks_destroy(struct xs_ze_hw *hw)
{
    bool wait = true, all = true;

    for (struct xs_ze_mark *m = hw->marks; m; m = m->next) {
        if (!idle(hw->api, m, &wait)) {
            all = false;
            continue;
        }
        if (m->list)
            hw->api->zeCommandListDestroy(m->list);
        if (m->fence)
            hw->api->zeFenceDestroy(m->fence);
        if (m->event)
            hw->api->zeEventDestroy(m->event);
    }
    if (all && hw->pool)
        hw->api->zeEventPoolDestroy(hw->pool);
    hw->pool = NULL;
}
