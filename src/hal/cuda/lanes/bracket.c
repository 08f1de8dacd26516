/* SPDX-License-Identifier: Apache-2.0 */
/* One launch on a lane. Each bracket records its events and waits for them anew, even at once: a wait is for
 * the last record before the wait. Meanwhile no other thread has the pair. */
#include "hal/cuda/lanes/lanes.h"

/* Entries in the stream and on the lane beside the kernel: two records, two waits. */
#define ENTRIES 4u

static _Atomic uint64_t g_counts[XS_LANE_OUTCOMES], g_est_ns[XS_LANE_OUTCOMES]; /* for tests */

XS_EXPORT uint64_t xsched_priv_cuda_lane_count(unsigned outcome, uint64_t *ret_est_ns)
{
    *ret_est_ns = atomic_load_explicit(&g_est_ns[outcome], memory_order_relaxed);
    return atomic_load_explicit(&g_counts[outcome], memory_order_relaxed);
}

static void count(const struct xs_ticket *t, enum xs_lane_outcome outcome)
{
    atomic_fetch_add_explicit(&g_counts[outcome], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&g_est_ns[outcome], t->est_ns, memory_order_relaxed);
}

static bool take_pair(struct xs_lanes *l, unsigned *ret)
{
    uint32_t taken = atomic_load(&l->events_taken);

    do {
        for (*ret = 0; *ret < XS_LANE_PAIRS && taken & 1u << *ret; ++*ret)
            ;
        if (*ret == XS_LANE_PAIRS)
            return false;
    } while (!atomic_compare_exchange_weak(&l->events_taken, &taken, taken | 1u << *ret));
    return true;
}

static void give_pair(struct xs_lanes *l, unsigned pair)
{
    atomic_fetch_and(&l->events_taken, ~(1u << pair));
}

/* The kernel may start when all before it in the program's stream is complete. */
static bool begin(const struct xs_cuda_api *api, struct xs_lanes *l, struct xs_cuda_bracket *b)
{
    if (!take_pair(l, &b->pair))
        return false;
    if (!(XS_LANE_RULES & XS_LANE_RULE_BEFORE))
        return true;
    if (api->cuEventRecord(l->events[b->pair].in, b->program) == XS_CU_SUCCESS &&
        api->cuStreamWaitEvent(b->stream, l->events[b->pair].in, 0) == XS_CU_SUCCESS)
        return true;
    give_pair(l, b->pair);
    return false;
}

static struct xs_cuda_hw *find(CUstream stream, bool per_thread)
{
    uint64_t native = xs_cuda_native(stream, per_thread);

    return native ? (struct xs_cuda_hw *)xs_stream_find(&xs_cuda_streams, native) : NULL;
}

static bool width_of(const struct xs_cuda_context *c, uint32_t lane, unsigned *ret)
{
    for (*ret = 0; *ret < XS_LANE_WIDTHS; ++*ret)
        if (c->greens.multiprocessors[*ret] == lane)
            return true;
    return false;
}

XS_EXPORT bool xsched_priv_cuda_lane_enter(struct xs_ticket *ticket, CUstream stream, bool per_thread,
                                           const struct xs_cuda_kernel *k, struct xs_cuda_bracket *ret)
{
    const struct xs_cuda_api *api = xsched_priv_cuda_api(NULL);
    struct xs_cuda_hw *hw = find(stream, per_thread);
    enum xs_lane_outcome outcome = XS_LANE_REFUSED;
    struct xs_lanes *l;
    unsigned width;

    if (!hw || atomic_load_explicit(&hw->no_lanes, memory_order_relaxed))
        return false;
    l = xs_lanes_use(hw);
    if (!l) {
        xs_lanes_want(hw);
        return false;
    }
    if (width_of(hw->context, XS_LANE_WIDTH(ticket->lane), &width) && !(ticket->flags & XS_SUBMIT_COLLECTIVE) &&
        xs_cuda_may_append(hw))
        outcome = xs_lane_fits(hw->context, l, width, k);
    if (outcome == XS_LANE_FITS) {
        ret->lanes = l;
        ret->program = hw->stream;
        ret->stream = l->streams[width];
        outcome = begin(api, l, ret) ? XS_LANE_FITS : XS_LANE_REFUSED;
    }
    count(ticket, outcome);
    if (outcome == XS_LANE_FITS) {
        atomic_store(&l->busy, true);
        xsched_priv_submit_weighs(ticket, ENTRIES);
        return true;
    }
    xs_lanes_let_go(l);
    if (outcome == XS_LANE_TOO_SMALL || outcome == XS_LANE_SHARED)
        xsched_priv_submit_whole(ticket);
    return false;
}

/* If the driver refuses, this thread waits in the stream's place, so that later commands there come after the
 * kernel. */
static void end(const struct xs_cuda_api *api, const struct xs_cuda_bracket *b)
{
    CUevent out = b->lanes->events[b->pair].out;

    if (api->cuEventRecord(out, b->stream) != XS_CU_SUCCESS || api->cuStreamWaitEvent(b->program, out, 0) != XS_CU_SUCCESS)
        api->cuStreamSynchronize(b->stream);
}

XS_EXPORT void xsched_priv_cuda_lane_leave(struct xs_cuda_bracket *b, bool launched)
{
    if (launched && XS_LANE_RULES & XS_LANE_RULE_AFTER)
        end(xsched_priv_cuda_api(NULL), b);
    give_pair(b->lanes, b->pair);
    xs_lanes_let_go(b->lanes);
}

XS_EXPORT void xsched_priv_cuda_lane_never(CUstream stream, bool per_thread)
{
    struct xs_cuda_hw *hw = find(stream, per_thread);

    if (hw && XS_LANE_RULES & XS_LANE_RULE_ATTACH)
        atomic_store(&hw->no_lanes, true);
}
