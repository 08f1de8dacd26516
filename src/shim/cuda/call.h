/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one call through the shim. */
#ifndef XS_SHIM_CUDA_CALL_H
#define XS_SHIM_CUDA_CALL_H

#include "base/clock.h"
#include "base/map.h"
#include "shim/cuda/table.h"

/** A command on a stream. */
struct xs_cuda_submit {
    struct xs_queue *queue;       /* NULL: not scheduled */
    CUstream stream;
    enum xs_cuda_row row;
    uint64_t begin_ns;            /* while tracing */
    struct xs_ticket ticket;
};

/** Something put into this stream now would become part of a graph. */
static inline bool xs_cuda_captured(CUstream stream, bool per_thread)
{
    /* relaxed: a thread sees the captures that it began itself, and those of streams that were
     * handed to it by whatever orders the program's threads */
    if (XS_LIKELY(atomic_load_explicit(&xsched_priv_cuda_captures, memory_order_relaxed) == 0))
        return false;
    return xsched_priv_cuda_capturing(!stream && per_thread ? XS_CU_STREAM_PER_THREAD : stream);
}

static inline void xs_cuda_submit_open(struct xs_cuda_submit *s, enum xs_cuda_row row, const void *caller,
                                       CUstream stream, bool per_thread)
{
    s->queue = NULL;
    s->stream = stream;
    s->row = row;
    s->begin_ns = XS_UNLIKELY(xs_cuda_tracing) ? xs_now_ns() : 0;
    if (XS_LIKELY(!xs_cuda_filtered(row, caller)) && !xs_cuda_captured(stream, per_thread))
        s->queue = xs_cuda_queue(stream, per_thread);
}

static inline void xs_cuda_submit_close(struct xs_cuda_submit *s, CUresult r)
{
    if (XS_LIKELY(s->queue != NULL))
        xsched_priv_submit_end(&s->ticket, r == XS_CU_SUCCESS, false);
    if (XS_UNLIKELY(xs_cuda_tracing))
        xs_trace_call(xs_cuda_info[s->row].symbol, s->queue && s->ticket.queue ? XS_HOW_SUBMIT : XS_HOW_PASS,
                      (uint64_t)(uintptr_t)s->stream, r, false, s->begin_ns);
}

static inline struct xs_queue *xs_cuda_queue_known(CUstream stream, bool per_thread)
{
    uint64_t native = xsched_priv_cuda_native(stream, per_thread);

    return native ? xsched_priv_queue_find(kPlatformCUDA, native) : NULL;
}

/** A call that waits for a stream. */
struct xs_cuda_wait {
    struct xs_queue *queue;
    uint64_t began, begin_ns;
};

static inline void xs_cuda_wait_open(struct xs_cuda_wait *w, enum xs_cuda_row row, const void *caller, CUstream stream,
                                     bool per_thread)
{
    w->begin_ns = XS_UNLIKELY(xs_cuda_tracing) ? xs_now_ns() : 0;
    w->queue = XS_UNLIKELY(xs_cuda_filtered(row, caller)) ? NULL : xs_cuda_queue_known(stream, per_thread);
    if (w->queue)
        w->began = xsched_priv_wait_begin(w->queue);
}

static inline void xs_cuda_wait_close(struct xs_cuda_wait *w, enum xs_cuda_row row, CUstream stream, CUresult r)
{
    if (w->queue)
        xsched_priv_wait_end(w->queue, w->began, r == XS_CU_SUCCESS);
    if (XS_UNLIKELY(xs_cuda_tracing))
        xs_trace_call(xs_cuda_info[row].symbol, XS_HOW_SYNC, (uint64_t)(uintptr_t)stream, r, false, w->begin_ns);
}

/** Calls that wait for all of a context. NULL: the current one. */
#define XS_CUDA_WAIT_QUEUES 64u
struct xs_cuda_wait_all {
    size_t n;
    uint64_t begin_ns;
    struct {
        struct xs_queue *queue;
        uint64_t began;
    } of[XS_CUDA_WAIT_QUEUES];
};
void xs_cuda_wait_all_open(struct xs_cuda_wait_all *w, CUcontext ctx);
void xs_cuda_wait_all_close(struct xs_cuda_wait_all *w, enum xs_cuda_row row, CUresult r);

/* Keys of estimates. Kernels by function and number of blocks, copies by size, the rest by kind. */
static inline uint64_t xs_cuda_key(enum xs_cuda_row row, uint64_t what, uint64_t size)
{
    return xs_hash_u64(((uint64_t)row + 1) << 48 ^ what ^ size * 0x9E3779B97F4A7C15ull) | 1;
}

/** Four classes to the octave: what differs less takes about the same time. */
static inline uint64_t xs_cuda_size_class(uint64_t bytes)
{
    unsigned top;

    if (bytes < 4)
        return bytes;
    top = 63u - (unsigned)__builtin_clzll(bytes);
    return (uint64_t)top * 4 + (bytes >> (top - 2) & 3);
}

#define XS_KEY(what, size)       xs_cuda_key(row, (uint64_t)(uintptr_t)(what), (size))
#define XS_KEY_LAUNCH            XS_KEY(f, (uint64_t)gridDimX * gridDimY * gridDimZ)
#define XS_KEY_CONFIG(config, f) XS_KEY(f, xs_cuda_config_blocks(config))
#define XS_KEY_BYTES(n)          XS_KEY(0, xs_cuda_size_class(n))
#define XS_KEY_2D(copy)          XS_KEY_BYTES(xs_cuda_copy_bytes(copy))
#define XS_KEY_ROW               XS_KEY(0, 0)
#define XS_CONFIG_STREAM(config) xs_cuda_config_stream(config)

static inline CUstream xs_cuda_config_stream(const struct xs_cu_launch_config *c)
{
    return c ? c->stream : NULL;
}

static inline uint64_t xs_cuda_config_blocks(const struct xs_cu_launch_config *c)
{
    return c ? (uint64_t)c->grid[0] * c->grid[1] * c->grid[2] : 0;
}

static inline uint64_t xs_cuda_copy_bytes(const struct xs_cu_copy_2d *c)
{
    return c ? (uint64_t)c->width_bytes * c->height : 0;
}

#endif
