/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the generated entries, by kind of row. `fn` is the next function, `T` the table (hand-written
 * rows), `caller` the address to which we return. */
#ifndef XS_SHIM_OPENCL_BODY_H
#define XS_SHIM_OPENCL_BODY_H

#include "shim/opencl/opencl_call.h"

#define BODY_PASS(kind, T, fn, ret, name, args, key, is_blocking)                                 \
    {                                                                                             \
        struct xs_ocl_call c_;                                                                    \
        ret r_;                                                                                   \
        if (XS_LIKELY(!xs_shim_tracing))                                                           \
            return fn args;                                                                       \
        xs_ocl_call_begin(&c_, ROW_##name, caller);                                               \
        r_ = fn args;                                                                             \
        xs_ocl_call_end(&c_, ROW_##name, XS_HOW(kind), NULL, XS_RESULT(r_), XS_IS_POINTER(ret));  \
        return r_;                                                                                \
    }

#define BODY_OPENS BODY_PASS

#define BODY_PASSV(kind, T, fn, ret, name, args, key, is_blocking)                                \
    {                                                                                             \
        struct xs_ocl_call c_;                                                                    \
        xs_ocl_call_begin(&c_, ROW_##name, caller);                                               \
        fn args;                                                                                  \
        xs_ocl_call_end(&c_, ROW_##name, XS_HOW(kind), NULL, 0, false);                           \
    }

/* Where a command has an event of its own, that may be its completion marker. */
#define TAKE_EVENT                                                                                \
    if (s_.want_event && !event)                                                                  \
        event = &s_.own;
#define TAKE_EVENT_EVENT   TAKE_EVENT
#define TAKE_EVENT_MARKER
#define EVENT_OF_EVENT     event
#define EVENT_OF_MARKER    NULL

#define BODY_COMMAND(kind, fn, name, args, key, is_blocking, waits, list)                         \
    {                                                                                             \
        struct xs_ocl_submit s_;                                                                  \
        const enum xs_row row = ROW_##name;                                                   \
        cl_int err_;                                                                              \
        if (xs_ocl_submit_open(&s_, row, caller, command_queue))                                  \
            xs_ocl_submit_gate(&s_, XS_##key, (is_blocking) != 0,                                 \
                               XS_COLUMN(suspended, kind) ? 0 : XS_SUBMIT_PASS, waits, list);     \
        XS_BY(TAKE_EVENT_, marked, kind)                                                          \
        err_ = fn args;                                                                           \
        xs_ocl_submit_close(&s_, err_, XS_BY(EVENT_OF_, marked, kind));                           \
        return err_;                                                                              \
    }

#define BODY_SUBMIT(kind, T, fn, ret, name, args, key, is_blocking)                               \
    BODY_COMMAND(kind, fn, name, args, key, is_blocking, num_events_in_wait_list, event_wait_list)
#define BODY_JOIN BODY_SUBMIT
#define BODY_JOIN0(kind, T, fn, ret, name, args, key, is_blocking)                                \
    BODY_COMMAND(kind, fn, name, args, key, is_blocking, num_events, event_list)
#define BODY_COUNT(kind, T, fn, ret, name, args, key, is_blocking)                                \
    BODY_COMMAND(kind, fn, name, args, key, is_blocking, 0, NULL)
#define BODY_COUNT0 BODY_COUNT

#define BODY_MAP(kind, T, fn, ret, name, args, key, is_blocking)                                  \
    {                                                                                             \
        struct xs_ocl_submit s_;                                                                  \
        const enum xs_row row = ROW_##name;                                                   \
        cl_int own_err_ = CL_SUCCESS;                                                             \
        void *r_;                                                                                 \
        if (xs_ocl_submit_open(&s_, row, caller, command_queue))                                  \
            xs_ocl_submit_gate(&s_, XS_##key, (is_blocking) != 0, 0, num_events_in_wait_list,     \
                               event_wait_list);                                                  \
        TAKE_EVENT                                                                                \
        if (!errcode_ret)                                                                         \
            errcode_ret = &own_err_;                                                              \
        r_ = fn args;                                                                             \
        xs_ocl_submit_close(&s_, *errcode_ret, event);                                            \
        return r_;                                                                                \
    }

#define BODY_HAND(kind, T, fn, ret, name, args, key, is_blocking)                                 \
    {                                                                                             \
        return xs_hand_##name(T, caller, XS_UNPACK args);                                         \
    }
#define BODY_HAND_ACTIVE BODY_HAND

#define XS_KEY_ROW                      xs_ocl_key(row, 0)
#define XS_KEY_SIZE(bytes)              xs_ocl_key(row, xs_size_class(bytes))
#define XS_KEY_REGION(region)           xs_ocl_key_region(row, region)
#define XS_KEY_RANGE(kernel, dims, n)   xs_ocl_key_range(row, kernel, dims, n)

/* Answers of missing functions. */
#define MISS_ERR(code)  return code;
#define MISS_NULL(out)                                                                            \
    {                                                                                             \
        cl_int *out_ = (out);                                                                     \
        if (out_)                                                                                 \
            *out_ = CL_INVALID_OPERATION;                                                         \
        return NULL;                                                                              \
    }
#define MISS_NONE       return;

#endif
