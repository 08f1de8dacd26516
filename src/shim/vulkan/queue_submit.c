/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: the turn, the call with one batch more, the count. */
#include "shim/vulkan/vk_layer.h"

#include "base/map.h"
#include "hal/common/stream_queues.h"

#include <string.h>

#define BATCHES_MOST  16          /* of a call that gets our batch as its last; a larger one is followed by a call of ours */
#define COMMANDS_MOST 32          /* command buffers of a call by which its kind is told */
#define QUEUES_MOST   32          /* queues of a device for which a wait is told */

/* One submission. */
struct submission {
    struct xs_vk_device *device;
    struct xs_vk_hw *hw;          /* NULL: not seen */
    struct xs_queue *queue;       /* NULL: not scheduled */
    uint64_t begin_ns, value;     /* for the trace; what the batch of ours signals */
    xs_vk_handle native;
    enum xs_row row;
    bool outer;
    struct xs_ticket ticket;
};

/* Programs ask for queues that they never use, so an XQueue is made at the first submission. */
static __attribute__((noinline)) void settle(struct xs_vk_hw *hw)
{
    HwQueueHandle handle;

    if (!atomic_exchange(&hw->settled, true) && xsched_priv_auto() && xsched_priv_vk_adopt(hw, &handle) == kXSchedSuccess)
        xsched_priv_auto_queue(handle, 0);
}

static inline __attribute__((always_inline)) void open_submission(struct submission *s, enum xs_row row,
                                                                  xs_vk_handle queue, const void *caller)
{
    s->hw = xsched_priv_vk_find(queue);
    s->device = s->hw ? s->hw->device : xsched_priv_vk_device_of(queue);
    s->queue = NULL;
    s->native = queue;
    s->row = row;
    s->begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    s->outer = !xs_depth_is_inner(xsched_priv_depth());
    if (XS_UNLIKELY(!s->hw || !s->outer || xs_shim_disabled || xs_row_filtered(row, caller)))
        return;
    if (XS_UNLIKELY(!atomic_load_explicit(&s->hw->settled, memory_order_relaxed)))
        settle(s->hw);
    s->queue = xsched_priv_queue_find(XS_PLATFORM_NUMBER_VULKAN, xs_vk_key(queue));
}

/* The turn. @param commands  command buffers; a submission without any is no work, and others may wait for what it signals */
static inline __attribute__((always_inline)) void begin(struct submission *s, uint64_t key, uint64_t commands)
{
    if (XS_UNLIKELY(!s->hw->semaphore))
        atomic_store(&s->hw->submitter, xs_thread_id());
    xsched_priv_submit_begin(s->queue, key, commands ? 0 : XS_SUBMIT_PASS, &s->ticket);
    if (!s->ticket.queue) {       /* part of a command that is counted as a whole */
        s->queue = NULL;
        return;
    }
    /* relaxed: one thread at a time uses a queue */
    s->value = atomic_load_explicit(&s->hw->signalled, memory_order_relaxed) + 1;
}

/* @param r  of the program's own part */
static inline __attribute__((always_inline)) void end(struct submission *s, xs_vk_result r, bool marked)
{
    if (s->queue) {
        if (marked)
            atomic_store(&s->hw->signalled, s->value); /* before the count: see xs_vk_mark_put */
        xsched_priv_submit_end(&s->ticket, r == XS_VK_SUCCESS, false);
        if (XS_UNLIKELY(!s->hw->semaphore))
            atomic_store(&s->hw->submitter, 0);
    }
    if (XS_UNLIKELY(xs_shim_tracing) && s->outer)
        xs_trace_call(xs_row_info[s->row].symbol, s->queue ? XS_HOW_SUBMIT : XS_HOW_PASS, xs_vk_key(s->native), r, false,
                      s->begin_ns);
}

/* A batch without commands, which signals that all before it is complete. */
struct end_batch {
    struct xs_vk_submit batch;
    struct xs_vk_timeline_submit timeline;
};

static void fill_end_batch(struct end_batch *e, const struct submission *s)
{
    e->timeline = (struct xs_vk_timeline_submit){.type = XS_VK_TYPE_TIMELINE_SUBMIT, .signals_count = 1, .signals = &s->value};
    e->batch = (struct xs_vk_submit){.type = XS_VK_TYPE_SUBMIT, .next = &e->timeline, .signals_count = 1,
                                     .signals = &s->hw->semaphore};
}

static xs_vk_result submit_end_batch(const struct submission *s)
{
    struct end_batch e;

    fill_end_batch(&e, s);
    return s->device->api.vkQueueSubmit(s->native, 1, &e.batch, 0);
}

static inline uint64_t mix(uint64_t h, xs_vk_handle command)
{
    return (h ^ xs_vk_key(command)) * 0x9E3779B97F4A7C15ull;
}

static uint64_t key_of(uint64_t h)
{
    return xs_hash_u64(h) | 1;
}

static uint64_t read_batches(uint32_t count, const struct xs_vk_submit *batches, uint64_t *ret_key)
{
    uint64_t h = 3, commands = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < batches[i].commands_count && commands + k < COMMANDS_MOST; k++)
            h = mix(h, batches[i].commands[k]);
        commands += batches[i].commands_count;
    }
    *ret_key = key_of(h + commands);
    return commands;
}

xs_vk_result xs_vk_vkQueueSubmit(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit *batches, xs_vk_object fence)
{
    struct submission s;
    bool marked = false;
    uint64_t key, commands;
    xs_vk_result r;

    open_submission(&s, ROW_vkQueueSubmit, queue, __builtin_return_address(0));
    if (s.queue && count) {
        commands = read_batches(count, batches, &key);
        begin(&s, key, commands);
    } else {
        s.queue = NULL;           /* a fence alone */
    }
    if (s.queue && s.hw->semaphore && count <= BATCHES_MOST) {
        struct xs_vk_submit all[BATCHES_MOST + 1];
        struct end_batch e;

        fill_end_batch(&e, &s);
        all[0] = batches[0];      /* mostly that is all */
        if (count > 1)
            memcpy(all + 1, batches + 1, (count - 1) * sizeof(*all));
        all[count] = e.batch;
        r = s.device->api.vkQueueSubmit(queue, count + 1, all, fence);
        marked = r == XS_VK_SUCCESS;
    } else {
        r = s.device->api.vkQueueSubmit(queue, count, batches, fence);
        marked = r == XS_VK_SUCCESS && s.queue && s.hw->semaphore && submit_end_batch(&s) == XS_VK_SUCCESS;
    }
    end(&s, r, marked);
    return r;
}

static uint64_t read_batches_2(uint32_t count, const struct xs_vk_submit_2 *batches, uint64_t *ret_key)
{
    uint64_t h = 3, commands = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < batches[i].commands_count && commands + k < COMMANDS_MOST; k++)
            h = mix(h, batches[i].commands[k].command);
        commands += batches[i].commands_count;
    }
    *ret_key = key_of(h + commands);
    return commands;
}

static xs_vk_result submit_2(enum xs_row row, xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches,
                             xs_vk_object fence, const void *caller)
{
    struct submission s;
    bool marked = false;
    uint64_t key, commands;
    xs_vk_result r;

    open_submission(&s, row, queue, caller);
    if (s.queue && count) {
        commands = read_batches_2(count, batches, &key);
        begin(&s, key, commands);
    } else {
        s.queue = NULL;
    }
    if (s.queue && s.hw->semaphore && count <= BATCHES_MOST) {
        struct xs_vk_semaphore_submit signal = {.type = XS_VK_TYPE_SEMAPHORE_SUBMIT, .semaphore = s.hw->semaphore,
                                                .value = s.value, .stages = XS_VK_STAGE_2_ALL};
        struct xs_vk_submit_2 all[BATCHES_MOST + 1];

        all[0] = batches[0];      /* mostly that is all */
        if (count > 1)
            memcpy(all + 1, batches + 1, (count - 1) * sizeof(*all));
        all[count] = (struct xs_vk_submit_2){.type = XS_VK_TYPE_SUBMIT_2, .signals_count = 1, .signals = &signal};
        r = s.device->api.vkQueueSubmit2(queue, count + 1, all, fence);
        marked = r == XS_VK_SUCCESS;
    } else {
        r = s.device->api.vkQueueSubmit2(queue, count, batches, fence);
        marked = r == XS_VK_SUCCESS && s.queue && s.hw->semaphore && submit_end_batch(&s) == XS_VK_SUCCESS;
    }
    end(&s, r, marked);
    return r;
}

xs_vk_result xs_vk_vkQueueSubmit2(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches,
                                  xs_vk_object fence)
{
    return submit_2(ROW_vkQueueSubmit2, queue, count, batches, fence, __builtin_return_address(0));
}

xs_vk_result xs_vk_vkQueueSubmit2KHR(xs_vk_handle queue, uint32_t count, const struct xs_vk_submit_2 *batches,
                                     xs_vk_object fence)
{
    return submit_2(ROW_vkQueueSubmit2KHR, queue, count, batches, fence, __builtin_return_address(0));
}

xs_vk_result xs_vk_vkQueueBindSparse(xs_vk_handle queue, uint32_t count, const void *binds, xs_vk_object fence)
{
    struct submission s;
    bool marked;
    xs_vk_result r;

    open_submission(&s, ROW_vkQueueBindSparse, queue, __builtin_return_address(0));
    if (s.queue && count)
        begin(&s, key_of(5), 0);  /* the kernel's driver does it, for submissions that wait for it */
    else
        s.queue = NULL;
    r = s.device->api.vkQueueBindSparse(queue, count, binds, fence);
    marked = r == XS_VK_SUCCESS && s.queue && s.hw->semaphore && submit_end_batch(&s) == XS_VK_SUCCESS;
    end(&s, r, marked);
    return r;
}

/* Never held: what it shows was submitted before. */
xs_vk_result xs_vk_vkQueuePresentKHR(xs_vk_handle queue, const void *present)
{
    uint64_t begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    xs_vk_result r = xsched_priv_vk_device_of(queue)->api.vkQueuePresentKHR(queue, present);

    if (XS_UNLIKELY(xs_shim_tracing))
        xs_trace_call("vkQueuePresentKHR", XS_HOW_PASS, xs_vk_key(queue), r, false, begin_ns);
    return r;
}

xs_vk_result xs_vk_vkQueueWaitIdle(xs_vk_handle queue)
{
    struct xs_queue *q;
    struct submission s;
    uint64_t began = 0;
    xs_vk_result r;

    open_submission(&s, ROW_vkQueueWaitIdle, queue, __builtin_return_address(0));
    q = s.queue;
    s.queue = NULL;
    if (q) {
        if (!s.hw->semaphore)
            atomic_store(&s.hw->submitter, xs_thread_id());
        began = xsched_priv_wait_begin_own(q);
        atomic_store(&s.hw->submitter, 0);
    }
    r = s.device->api.vkQueueWaitIdle(queue);
    if (q)
        xsched_priv_wait_end(q, began, r == XS_VK_SUCCESS);
    if (XS_UNLIKELY(xs_shim_tracing) && s.outer)
        xs_trace_call("vkQueueWaitIdle", XS_HOW_SYNC, xs_vk_key(queue), r, false, s.begin_ns);
    return r;
}

xs_vk_result xs_vk_vkDeviceWaitIdle(xs_vk_handle device)
{
    uint64_t begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0, began[QUEUES_MOST];
    struct xs_vk_device *d = xsched_priv_vk_device_of(device);
    bool outer = !xs_depth_is_inner(xsched_priv_depth());
    struct xs_queue *queues[QUEUES_MOST];
    unsigned n = 0;
    xs_vk_result r;

    if (outer)
        n = xsched_priv_vk_queues(d, queues, QUEUES_MOST);
    for (unsigned i = 0; i < n; i++)
        began[i] = xsched_priv_wait_begin(queues[i]);
    r = d->api.vkDeviceWaitIdle(device);
    for (unsigned i = n; i-- > 0;)
        xsched_priv_wait_end(queues[i], began[i], r == XS_VK_SUCCESS);
    if (XS_UNLIKELY(xs_shim_tracing) && outer)
        xs_trace_call("vkDeviceWaitIdle", XS_HOW_SYNC, xs_vk_key(device), r, false, begin_ns);
    return r;
}
