/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one call through the shim. */
#ifndef XS_SHIM_STREAM_STREAM_CALL_H
#define XS_SHIM_STREAM_STREAM_CALL_H

#include "base/clock.h"
#include "shim/stream/stream_table.h"

/** Whether a scheduler may suspend single streams of this process: then XSched must know which waits for
 *  which. */
static inline bool xs_api_intra(void)
{
    return XS_API_LENDS && atomic_load_explicit(&xsched_priv_intra, memory_order_relaxed) != 0; /* a hint */
}

/** Whether it matters to a scheduler which calls wait for which commands: it may suspend single streams, or follows the
 *  waits of this process. */
static inline bool xs_api_waits_matter(void)
{
    return xs_api_intra() || atomic_load_explicit(&xsched_priv_follows, memory_order_relaxed) != 0; /* a hint */
}

/** After such an error the device runs nothing of the context any more: commands in flight never complete.
 *  The numbers are the same for CUDA and HIP. */
static inline bool xs_api_is_over(xs_api_result r)
{
    switch ((int)r) {
    case 214: /* uncorrectable memory error */
    case 220: /* uncorrectable NVLink error */
    case 700: /* illegal address */
    case 702: /* launch timed out */
    case 710: /* assertion */
    case 714: /* hardware stack error */
    case 715: /* illegal instruction */
    case 716: /* misaligned address */
    case 717: /* invalid address space */
    case 718: /* invalid program counter */
    case 719: /* launch failed */
        return true;
    default:
        return false;
    }
}

/** Takes the current context's commands in flight for complete, so that no thread waits for them. */
void xs_api_over(const struct xs_api_runtime *rt);

/** A command on a stream. */
struct xs_api_submit {
    struct xs_queue *queue;       /* NULL: not scheduled */
    const struct xs_api_runtime *rt;
    xs_api_stream stream;
    enum xs_row row;
    uint64_t begin_ns;            /* while tracing */
    struct xs_ticket ticket;
};

/** A command that we put into this stream now would become part of a graph. */
static inline bool xs_api_captured(const void *hal, xs_api_stream stream, bool per_thread)
{
    /* relaxed: a thread sees the captures that it began itself, and those of streams that it got from another
     * thread, by the program's own order */
    if (XS_LIKELY(atomic_load_explicit(&xs_api_captures, memory_order_relaxed) == 0))
        return false;
    if (xs_api_recording())
        return true;
    return xs_api_capturing(hal, !stream && per_thread ? XS_API_PER_THREAD : stream);
}

static inline void xs_api_submit_open(struct xs_api_submit *s, const struct xs_api_runtime *rt, enum xs_row row,
                                      const void *caller, xs_api_stream stream, bool per_thread)
{
    s->queue = NULL;
    s->rt = rt;
    s->stream = stream;
    s->row = row;
    s->begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    if (XS_LIKELY(!xs_row_filtered(row, caller)) && !xs_api_captured(rt->hal, stream, per_thread))
        s->queue = xs_api_queue(rt->hal, stream, per_thread);
    if (XS_UNLIKELY(xs_api_intra()) && s->queue)
        xs_api_implicit(rt->hal, s->queue, stream, per_thread);
}

#ifdef xs_api_code_mark
/** For streams without a queue. If this context has not seen a captured command yet, that may load its code
 *  now, as a launch would. */
static inline void xs_api_captured_open(struct xs_api_submit *s, uint64_t key)
{
    s->ticket.inside = false;
    if (XS_LIKELY(atomic_load_explicit(&xs_api_captures, memory_order_relaxed) == 0)) /* see xs_api_captured */
        return;
    s->ticket.key = xs_api_code_mark(s->rt, key);
    if (!xs_loaded_known(s->ticket.key))
        s->ticket.inside = xsched_priv_inside_begin();
}

static inline void xs_api_captured_close(struct xs_api_submit *s, bool ok)
{
    if (XS_LIKELY(!s->ticket.inside))
        return;
    xsched_priv_inside_end();
    if (ok)
        xs_loaded_remember(s->ticket.key);
}
#else
static inline void xs_api_captured_open(struct xs_api_submit *s, uint64_t key)
{
    (void)s, (void)key;
}

static inline void xs_api_captured_close(struct xs_api_submit *s, bool ok)
{
    (void)s, (void)ok;
}
#endif

static inline void xs_api_submit_close(struct xs_api_submit *s, xs_api_result r)
{
    if (XS_LIKELY(s->queue != NULL))
        xsched_priv_submit_end(&s->ticket, r == XS_API_OK, false);
    else
        xs_api_captured_close(s, r == XS_API_OK);
    if (XS_UNLIKELY(r != XS_API_OK) && xs_api_is_over(r))
        xs_api_over(s->rt);
    if (XS_UNLIKELY(xs_shim_tracing))
        xs_trace_call(xs_row_info[s->row].symbol, s->queue && s->ticket.queue ? XS_HOW_SUBMIT : XS_HOW_PASS,
                      (uint64_t)(uintptr_t)s->stream, r, false, s->begin_ns);
}

static inline struct xs_queue *xs_api_queue_known(const void *hal, xs_api_stream stream, bool per_thread)
{
    uint64_t native = xs_api_native(hal, stream, per_thread);

    return native ? xsched_priv_queue_find(XS_API_PLATFORM, native) : NULL;
}

/** A call that waits for a stream. */
struct xs_api_wait {
    struct xs_queue *queue;
    const struct xs_api_runtime *rt;
    uint64_t began, begin_ns;
};

/** @param waits  false: it only asks whether the stream is idle, and a mark before it would be the answer */
static inline void xs_api_wait_open(struct xs_api_wait *w, const struct xs_api_runtime *rt, enum xs_row row,
                                    const void *caller, xs_api_stream stream, bool per_thread, bool waits)
{
    w->begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;
    w->rt = rt;
    w->queue = XS_UNLIKELY(xs_row_filtered(row, caller)) ? NULL : xs_api_queue_known(rt->hal, stream, per_thread);
    if (!w->queue)
        w->began = 0;
    else if (waits && !xs_api_captured(rt->hal, stream, per_thread))
        w->began = xsched_priv_wait_begin_own(w->queue);
    else
        w->began = xsched_priv_wait_begin(w->queue);
    if (XS_UNLIKELY(xs_api_intra()) && xs_api_is_legacy(stream, per_thread))
        xs_api_lend_context(rt->hal); /* it waits for other streams */
}

static inline void xs_api_wait_close(struct xs_api_wait *w, enum xs_row row, xs_api_stream stream, xs_api_result r)
{
    if (w->queue)
        xsched_priv_wait_end(w->queue, w->began, r == XS_API_OK);
    if (XS_UNLIKELY(r != XS_API_OK) && xs_api_is_over(r))
        xs_api_over(w->rt);
    if (XS_UNLIKELY(xs_shim_tracing))
        xs_trace_call(xs_row_info[row].symbol, xs_row_info[row].how, (uint64_t)(uintptr_t)stream, r, false,
                      w->begin_ns);
}

/** Calls that wait for all of a context; the empty one: the current one. */
#define XS_API_WAIT_QUEUES 64u
struct xs_api_wait_all {
    const struct xs_api_runtime *rt;
    size_t n;
    uint64_t begin_ns;
    struct {
        struct xs_queue *queue;
        uint64_t began;
    } of[XS_API_WAIT_QUEUES];
};
void xs_api_wait_all_open(struct xs_api_wait_all *w, const struct xs_api_runtime *rt, xs_api_context ctx);
void xs_api_wait_all_close(struct xs_api_wait_all *w, enum xs_row row, xs_api_result r);

#endif
