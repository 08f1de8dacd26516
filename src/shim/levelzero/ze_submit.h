/* SPDX-License-Identifier: Apache-2.0 */
/* One command: the turn, the call of the driver, the count, the mark. */
#ifndef XS_SHIM_LEVELZERO_ZE_SUBMIT_H
#define XS_SHIM_LEVELZERO_ZE_SUBMIT_H

#include "base/clock.h"
#include "base/map.h"
#include "hal/common/stream_queues.h"
#include "shim/common/host_signals.h"
#include "shim/common/size_class.h"
#include "shim/levelzero/ze_table.h"

struct xs_ze_submit {
    struct xs_ze_hw *hw;          /* NULL: not seen, or a list that is no immediate one */
    struct xs_queue *queue;       /* NULL: not scheduled */
    struct xs_ze_mark *own;       /* carried by the call; NULL: none */
    xs_ze_handle native;
    uint64_t begin_ns, began;     /* for the trace; of a call that returns when its work is complete */
    enum xs_row row;
    int watch, depth;             /* with `own`; of calls around this one */
    bool marker;                  /* this thread may put a mark into the list */
    struct xs_ticket ticket;
};

/** The queue of this command gets its XQueue, if queues get one by themselves. */
void xs_ze_settle(struct xs_ze_hw *hw);
/** Whether appends to this list record and run nothing. */
bool xs_ze_captures(const struct xs_ze_hw *hw);
/** How many lists record. A hint; writer: hand_queue.c */
extern _Atomic uint32_t xs_ze_captures_count;

static inline __attribute__((always_inline)) void xs_ze_submit_open(struct xs_ze_submit *s, enum xs_row row,
                                                                    xs_ze_handle native, const void *caller)
{
    s->hw = xsched_priv_ze_find(native);
    s->queue = NULL;
    s->own = NULL;
    s->marker = false;
    s->native = native;
    s->row = row;
    s->depth = 0;
    s->begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    if (!s->hw)
        return;
    s->depth = xsched_priv_depth();
    if (XS_UNLIKELY(xs_depth_is_inner(s->depth) || xs_shim_disabled || xs_row_filtered(row, caller)))
        return;
    /* relaxed: a hint */
    if (XS_UNLIKELY(atomic_load_explicit(&xs_ze_captures_count, memory_order_relaxed)) && xs_ze_captures(s->hw))
        return;
    /* acquire pairs with the store in xs_ze_settle: a look-up finds the XQueue */
    if (XS_UNLIKELY(atomic_load_explicit(&s->hw->settled, memory_order_acquire) != XS_ZE_SETTLED))
        xs_ze_settle(s->hw);
    s->queue = xsched_priv_queue_find(kPlatformLevelZero, xs_ze_key(native));
}

/** Whether the host may signal events. Owner: hand_queue.c */
extern struct xs_host_signals xs_ze_host_signals;
/** Before xs_ze_submit_begin. If the command waits for events that the host may signal, that wait goes before it as a
 *  command of its own: the time is not the command's. */
void xs_ze_submit_await_host(struct xs_ze_submit *s, const struct xs_ze_side *side, uint32_t count, xs_ze_handle *events);
static inline void xs_ze_submit_awaits(struct xs_ze_submit *s, const struct xs_ze_side *side, uint32_t count,
                                       xs_ze_handle *events)
{
    if (XS_UNLIKELY(count && events && xs_host_may_signal(&xs_ze_host_signals)))
        xs_ze_submit_await_host(s, side, count, events);
}

/** This command gets a mark. @param free  the call itself carries it */
void xs_ze_submit_marked(struct xs_ze_submit *s, bool free);

/** May sleep. @param free  the call can carry a mark of ours: the program gave no fence or event */
static inline __attribute__((always_inline)) void xs_ze_submit_begin(struct xs_ze_submit *s, uint64_t key, uint32_t flags,
                                                                     bool free)
{
    struct xs_ze_hw *hw = s->hw;

    if (XS_UNLIKELY(xs_depth_in_callback(s->depth)))
        flags |= XS_SUBMIT_PASS;  /* a thread of the vendor's: other threads wait for it */
    xsched_priv_submit_begin(s->queue, key, flags, &s->ticket);
    if (!s->ticket.queue) {       /* part of a command that counts as a whole */
        s->queue = NULL;
        return;
    }
    if (hw->synchronous)
        s->began = xsched_priv_wait_begin(s->queue);
    else if (XS_UNLIKELY(s->ticket.mark))
        xs_ze_submit_marked(s, free && hw->in_order);
}

void xs_ze_submit_end_synchronous(struct xs_ze_submit *s, bool ok);

static inline __attribute__((always_inline)) void xs_ze_submit_close(struct xs_ze_submit *s, xs_ze_result r)
{
    bool ok = r == XS_ZE_SUCCESS;
    uint64_t number;

    if (s->queue) {
        if (s->hw->synchronous) {
            xs_ze_submit_end_synchronous(s, ok);
        } else {
            number = xsched_priv_submit_end(&s->ticket, ok, s->own && ok);
            if (s->own && ok)
                xsched_priv_ze_mark_set(s->watch, s->own, s->queue, number);
            else if (s->own)
                xsched_priv_ze_mark_give_back(s->watch, s->own);
        }
        if (XS_UNLIKELY(s->marker))
            atomic_store(&s->hw->submitter, 0);
    }
    if (XS_UNLIKELY(xs_shim_tracing) && !xs_depth_is_inner(s->depth))
        xs_trace_call(xs_row_info[s->row].symbol, s->queue ? XS_HOW_SUBMIT : XS_HOW_PASS, xs_ze_key(s->native), r, false,
                      s->begin_ns);
}

static inline uint64_t xs_ze_key_of(enum xs_row row, uint64_t what)
{
    return xs_hash_u64((uint64_t)row + 1 + what * 0x9E3779B97F4A7C15ull) | 1;
}

static inline uint64_t xs_ze_key_kernel(enum xs_row row, xs_ze_handle kernel, const struct xs_ze_groups *g)
{
    uint64_t h = xs_ze_key(kernel);

    if (g)                        /* else the driver will refuse it */
        h = ((h ^ g->x) * 0x9E3779B97F4A7C15ull ^ g->y) * 0x9E3779B97F4A7C15ull ^ g->z;
    return xs_ze_key_of(row, h);
}

#define XS_ZE_LISTS_MOST 16u      /* lists of a call that its key reads */

static inline uint64_t xs_ze_key_lists(enum xs_row row, uint32_t count, const xs_ze_handle *lists)
{
    uint64_t h = count;

    for (uint32_t i = 0; lists && i < count && i < XS_ZE_LISTS_MOST; i++)
        h = (h ^ xs_ze_key(lists[i])) * 0x9E3779B97F4A7C15ull;
    return xs_ze_key_of(row, h);
}

#define XS_KEY_ROW                   xs_ze_key_of(row, 0)
#define XS_KEY_SIZE(bytes)           xs_ze_key_of(row, xs_size_class(bytes))
#define XS_KEY_OF(handle)            xs_ze_key_of(row, xs_ze_key(handle))
#define XS_KEY_KERNEL(kernel, g)     xs_ze_key_kernel(row, kernel, g)
#define XS_KEY_LISTS(count, handles) xs_ze_key_lists(row, count, handles)

#endif
