/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: the turn, the call with one batch more, the count. */
#include "shim/vulkan/vk_layer.h"

#include "base/map.h"
#include "hal/common/stream_queues.h"

#include <string.h>

#define BATCHES_MOST  16          /* of a call that gets our batch as its last; a larger one is followed by a call of ours */
#define COMMANDS_MOST 32          /* command buffers of a call that its key reads */
#define QUEUES_MOST   32          /* queues of a device, in a wait that we report */

/* One submission. */
struct submission {
    struct xs_vk_device *device;
    struct xs_vk_hw *hw;          /* NULL: not seen */
    struct xs_queue *queue;       /* NULL: not scheduled */
    uint64_t begin_ns, value;     /* for the trace; the value that our batch signals */
    uint64_t gate_value;          /* the value for which the submission waits; 0: none */
    xs_vk_object gate;
    bool inside;                  /* no thread puts a gate anywhere meanwhile */
    xs_vk_handle native;
    enum xs_row row;
    bool outer;
    struct xs_ticket ticket;
};

/* Programs get queues that they never use, so the first submission makes the XQueue. */
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
    s->gate_value = 0;
    s->inside = false;
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

/* The longest wait of a thread that presents: a window that shows nothing for longer looks dead. */
#define PRESENTER_MOST_NS (250 * XS_NS_PER_MS)

/* The turn.
 * @param commands  command buffers; a submission without any is no work, and others may wait for its signal
 * @param outside   it waits for a binary semaphore: the program must have submitted all on which its signal
 * depends, and no gate of ours may stand closed in between */
static inline __attribute__((always_inline)) void begin(struct submission *s, uint64_t key, uint64_t commands, bool outside)
{
    uint32_t flags = XS_SUBMIT_LOADED | (commands ? 0 : XS_SUBMIT_PASS) | (outside ? XS_SUBMIT_OUTSIDE : 0);

    /* relaxed: the thread itself asks */
    atomic_store_explicit(&s->hw->submitter, xs_thread_id(), memory_order_relaxed);
    if (XS_UNLIKELY(atomic_load_explicit(&s->device->presents, memory_order_relaxed)) && commands &&
        !xsched_priv_permit_wait(s->queue, PRESENTER_MOST_NS)) {
        flags |= XS_SUBMIT_PASS;
        outside = true;           /* it must not wait at an earlier gate, either */
    }
    xsched_priv_submit_begin(s->queue, key, flags, &s->ticket);
    if (!s->ticket.queue) {       /* part of a command that counts as a whole */
        s->queue = NULL;
        return;
    }
    if (XS_UNLIKELY(atomic_load_explicit(&s->hw->gates, memory_order_relaxed) != NULL)) /* this thread's, or another's before */
        s->gate_value = xsched_priv_vk_gate_take(s->hw, &s->gate);
    if (XS_UNLIKELY(outside)) {
        s->inside = xsched_priv_inside_begin();
        xsched_priv_vk_gates_open(s->device);
    }
    /* relaxed: one thread at a time uses a queue */
    s->value = atomic_load_explicit(&s->hw->signalled, memory_order_relaxed) + 1;
}

static __attribute__((noinline)) void begin_slow(struct submission *s, uint64_t key, uint64_t commands, bool outside)
{
    begin(s, key, commands, outside);
}

/* @param r  of the program's own part */
static inline __attribute__((always_inline)) void end(struct submission *s, xs_vk_result r, bool marked)
{
    if (s->queue) {
        if (marked)
            atomic_store(&s->hw->signalled, s->value); /* before the count: see xs_vk_mark_put */
        xsched_priv_submit_end(&s->ticket, r == XS_VK_SUCCESS, false);
        atomic_store_explicit(&s->hw->submitter, 0, memory_order_relaxed); /* as above */
        if (XS_UNLIKELY(s->inside))
            xsched_priv_inside_end();
    }
    if (XS_UNLIKELY(xs_shim_tracing) && s->outer)
        xs_trace_call(xs_row_info[s->row].symbol, s->queue ? XS_HOW_SUBMIT : XS_HOW_PASS, xs_vk_key(s->native), r, false,
                      s->begin_ns);
}

/* A batch without commands, before the program's, which waits for permission (level 2), or behind them, which
 * signals that all before it is complete. */
struct own_batch {
    struct xs_vk_submit batch;
    struct xs_vk_timeline_submit timeline;
};

static void fill_gate_batch(struct own_batch *b, const struct submission *s)
{
    static const uint32_t all = XS_VK_STAGE_ALL;

    b->timeline = (struct xs_vk_timeline_submit){.type = XS_VK_TYPE_TIMELINE_SUBMIT, .waits_count = 1, .waits = &s->gate_value};
    b->batch = (struct xs_vk_submit){.type = XS_VK_TYPE_SUBMIT, .next = &b->timeline, .waits_count = 1, .waits = &s->gate,
                                     .wait_stages = &all};
}

static void fill_end_batch(struct own_batch *b, const struct submission *s)
{
    b->timeline = (struct xs_vk_timeline_submit){.type = XS_VK_TYPE_TIMELINE_SUBMIT, .signals_count = 1, .signals = &s->value};
    b->batch = (struct xs_vk_submit){.type = XS_VK_TYPE_SUBMIT, .next = &b->timeline, .signals_count = 1,
                                     .signals = &s->hw->semaphore};
}

/* In a call of its own. @return whether it is there */
static bool submit_end_batch(const struct submission *s)
{
    struct own_batch b;

    if (!s->queue || !s->hw->semaphore)
        return false;
    fill_end_batch(&b, s);
    return s->device->api.vkQueueSubmit(s->native, 1, &b.batch, 0) == XS_VK_SUCCESS;
}

static xs_vk_result submit_gate_batch(const struct submission *s)
{
    struct own_batch b;

    if (!s->gate_value)
        return XS_VK_SUCCESS;
    fill_gate_batch(&b, s);
    return s->device->api.vkQueueSubmit(s->native, 1, &b.batch, 0);
}

static inline uint64_t mix(uint64_t h, xs_vk_handle command)
{
    return (h ^ xs_vk_key(command)) * 0x9E3779B97F4A7C15ull;
}

static uint64_t key_of(uint64_t h)
{
    return xs_hash_u64(h) | 1;
}

/* Gates matter to a submission that waits for a binary semaphore, and values that nothing has signalled yet are not its
 * own time. @return the XS_VK_* of a device for which the waits of its submissions matter */
static inline uint32_t waits_matter(const struct xs_vk_device *d)
{
    return atomic_load_explicit(&d->waits_matter, memory_order_relaxed); /* the thread that relies on it stores it before */
}

/* Where waits matter. @return whether one of the batches waits for a binary semaphore and gates may stand closed */
static __attribute__((noinline)) bool look_at_waits(const struct submission *s, uint32_t count,
                                                    const struct xs_vk_submit *batches)
{
    uint32_t why = waits_matter(s->device);

    if ((why & XS_VK_TIMELINES) && s->hw->semaphore)
        xs_vk_await_host(s->hw, s->queue, batches);
    for (uint32_t i = 0; i < count && (why & XS_VK_GATED); i++) {
        for (uint32_t k = 0; k < batches[i].waits_count; k++) {
            if (!xs_vk_is_timeline(s->device->device, batches[i].waits[k]))
                return true;
        }
    }
    return false;
}

static __attribute__((noinline)) bool look_at_waits_2(const struct submission *s, uint32_t count,
                                                      const struct xs_vk_submit_2 *batches)
{
    uint32_t why = waits_matter(s->device);

    if ((why & XS_VK_TIMELINES) && s->hw->semaphore)
        xs_vk_await_host_2(s->hw, s->queue, batches);
    for (uint32_t i = 0; i < count && (why & XS_VK_GATED); i++) {
        for (uint32_t k = 0; k < batches[i].waits_count; k++) {
            if (!xs_vk_is_timeline(s->device->device, batches[i].waits[k].semaphore))
                return true;
        }
    }
    return false;
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
        if (XS_LIKELY(!waits_matter(s.device)))
            begin(&s, key, commands, false);
        else
            begin_slow(&s, key, commands, look_at_waits(&s, count, batches));
    } else {
        s.queue = NULL;           /* a fence alone */
    }
    if (s.queue && s.hw->semaphore && count <= BATCHES_MOST) {
        struct xs_vk_submit all[BATCHES_MOST + 2], *to = all;
        struct own_batch gate, last;

        if (XS_UNLIKELY(s.gate_value)) {
            fill_gate_batch(&gate, &s);
            *to++ = gate.batch;
        }
        *to++ = batches[0];       /* mostly that is all */
        for (uint32_t i = 1; i < count; i++)
            *to++ = batches[i];
        fill_end_batch(&last, &s);
        *to++ = last.batch;
        r = s.device->api.vkQueueSubmit(queue, (uint32_t)(to - all), all, fence);
        marked = r == XS_VK_SUCCESS;
    } else {
        r = submit_gate_batch(&s);
        if (r == XS_VK_SUCCESS)
            r = s.device->api.vkQueueSubmit(queue, count, batches, fence);
        marked = r == XS_VK_SUCCESS && submit_end_batch(&s);
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
        if (XS_LIKELY(!waits_matter(s.device)))
            begin(&s, key, commands, false);
        else
            begin_slow(&s, key, commands, look_at_waits_2(&s, count, batches));
    } else {
        s.queue = NULL;
    }
    if (s.queue && s.hw->semaphore && count <= BATCHES_MOST) {
        struct xs_vk_semaphore_submit wait, signal = {.type = XS_VK_TYPE_SEMAPHORE_SUBMIT, .semaphore = s.hw->semaphore,
                                                      .value = s.value, .stages = XS_VK_STAGE_2_ALL};
        struct xs_vk_submit_2 all[BATCHES_MOST + 2], *to = all;

        if (XS_UNLIKELY(s.gate_value)) {
            wait = (struct xs_vk_semaphore_submit){.type = XS_VK_TYPE_SEMAPHORE_SUBMIT, .semaphore = s.gate,
                                                   .value = s.gate_value, .stages = XS_VK_STAGE_2_ALL};
            *to++ = (struct xs_vk_submit_2){.type = XS_VK_TYPE_SUBMIT_2, .waits_count = 1, .waits = &wait};
        }
        *to++ = batches[0];       /* mostly that is all */
        for (uint32_t i = 1; i < count; i++)
            *to++ = batches[i];
        *to++ = (struct xs_vk_submit_2){.type = XS_VK_TYPE_SUBMIT_2, .signals_count = 1, .signals = &signal};
        r = s.device->api.vkQueueSubmit2(queue, (uint32_t)(to - all), all, fence);
        marked = r == XS_VK_SUCCESS;
    } else {
        r = submit_gate_batch(&s);
        if (r == XS_VK_SUCCESS)
            r = s.device->api.vkQueueSubmit2(queue, count, batches, fence);
        marked = r == XS_VK_SUCCESS && submit_end_batch(&s);
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
    if (s.queue && count)         /* the kernel's driver does it, for submissions that wait for it; never behind a gate */
        begin(&s, key_of(5), 0, waits_matter(s.device) & XS_VK_GATED);
    else
        s.queue = NULL;
    r = s.device->api.vkQueueBindSparse(queue, count, binds, fence);
    marked = r == XS_VK_SUCCESS && submit_end_batch(&s);
    end(&s, r, marked);
    return r;
}

/* Never suspended: the program submitted the image before. It waits for binary semaphores, so no gate may
 * stand closed. */
xs_vk_result xs_vk_vkQueuePresentKHR(xs_vk_handle queue, const void *present)
{
    uint64_t begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    struct xs_vk_device *d = xsched_priv_vk_device_of(queue);
    bool gated = waits_matter(d) & XS_VK_GATED;
    bool inside = gated && xsched_priv_inside_begin();
    xs_vk_result r;

    if (XS_UNLIKELY(!atomic_load_explicit(&d->presents, memory_order_relaxed))) /* a hint */
        atomic_store(&d->presents, true);
    if (gated)
        xsched_priv_vk_gates_open(d);
    r = d->api.vkQueuePresentKHR(queue, present);
    if (inside)
        xsched_priv_inside_end();
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
        if (!s.hw->semaphore)     /* a mark is a fence */
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
