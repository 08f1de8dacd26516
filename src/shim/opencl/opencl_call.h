/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one call through the shim. */
#ifndef XS_SHIM_OPENCL_OPENCL_CALL_H
#define XS_SHIM_OPENCL_OPENCL_CALL_H

#include "base/clock.h"
#include "base/map.h"
#include "shim/common/size_class.h"
#include "shim/opencl/opencl_table.h"

/** A call that is no command. */
struct xs_ocl_call {
    uint64_t begin_ns;
    int depth;                    /* before this call */
    bool outer;                   /* no outer layer handles it already */
    bool handled;                 /* outer, and not filtered */
};

static inline void xs_ocl_call_begin(struct xs_ocl_call *c, enum xs_row row, const void *caller)
{
    c->depth = xsched_priv_depth();
    c->outer = !xs_depth_is_inner(c->depth);
    /* relaxed: a hint */
    if (XS_UNLIKELY(atomic_load_explicit(&xsched_priv_implementers, memory_order_relaxed)) &&
        xsched_priv_is_implementer(caller))
        c->outer = false;
    c->handled = c->outer && !xs_row_filtered(row, caller);
    c->begin_ns = 0;
    if (c->outer) {
        xsched_priv_depth_add(1);
        if (xs_shim_tracing)
            c->begin_ns = xs_now_ns();
    }
}

static inline void xs_ocl_call_end(struct xs_ocl_call *c, enum xs_row row, enum xs_how how,
                                   const void *queue, int64_t result, bool pointer)
{
    if (!c->outer)
        return;
    xsched_priv_depth_add(-1);
    if (XS_UNLIKELY(xs_shim_tracing))
        xs_trace_call(xs_row_info[row].symbol, c->handled ? how : XS_HOW_PASS, (uint64_t)(uintptr_t)queue, result,
                      pointer, c->begin_ns);
}

#define XS_IS_POINTER(ret) (!__builtin_types_compatible_p(ret, cl_int))
#define XS_RESULT(r)       ((int64_t)(intptr_t)(r))

/** A command on a queue. */
struct xs_ocl_submit {
    struct xs_ocl_call call;
    struct xs_queue *queue;       /* NULL: not scheduled */
    cl_command_queue native;
    const struct xs_ocl_api *api; /* of the queue's loader; with want_event */
    cl_event own;                 /* for the mark, when the program wants no event */
    bool want_event;
    bool blocking;
    enum xs_row row;
    uint64_t began;
    struct xs_ticket ticket;
};

/** @return true when XSched schedules the command: then call xs_ocl_submit_gate */
bool xs_ocl_submit_open(struct xs_ocl_submit *s, enum xs_row row, const void *caller,
                        cl_command_queue queue);
/** May sleep. @param flags  XS_SUBMIT_*
 *  @param count, list  the events for which the command waits on the device */
void xs_ocl_submit_gate(struct xs_ocl_submit *s, uint64_t key, bool blocking, uint32_t flags, cl_uint count,
                        const cl_event *list);
/** Whether the program has made user events. A hint; owner: opencl_submit.c. */
extern _Atomic bool xs_ocl_user_events;
/** After the vendor call. @param event  where it wrote the command's event; NULL: nowhere */
void xs_ocl_submit_close(struct xs_ocl_submit *s, cl_int err, cl_event *event);

static inline uint64_t xs_ocl_key(enum xs_row row, uint64_t what)
{
    return xs_hash_u64((uint64_t)row + 1 + what * 0x9E3779B97F4A7C15ull) | 1;
}

static inline uint64_t xs_ocl_key_region(enum xs_row row, const size_t *region)
{
    return xs_ocl_key(row, region ? xs_size_class((uint64_t)region[0] * region[1] * region[2]) : 0);
}

static inline uint64_t xs_ocl_key_range(enum xs_row row, cl_kernel kernel, cl_uint dimensions,
                                        const size_t *size)
{
    uint64_t h = (uint64_t)(uintptr_t)kernel;

    if (dimensions > 3) /* the vendor will refuse it, and the array may be shorter */
        size = NULL;
    for (cl_uint i = 0; size && i < dimensions; i++)
        h = (h ^ size[i]) * 0x9E3779B97F4A7C15ull;
    return xs_ocl_key(row, h);
}

#endif
