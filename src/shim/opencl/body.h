/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the generated entries, by kind of row. `fn` is the function behind us, `T` the table
 * (hand-written rows), `caller` the address that we return to. */
#ifndef XS_SHIM_OPENCL_BODY_H
#define XS_SHIM_OPENCL_BODY_H

#include "shim/opencl/opencl_call.h"

#define BODY_PASS(T, fn, ret, name, args, key, is_blocking)                                       \
    {                                                                                             \
        struct xs_ocl_call c_;                                                                    \
        ret r_;                                                                                   \
        if (XS_LIKELY(!xs_ocl_tracing))                                                           \
            return fn args;                                                                       \
        xs_ocl_call_begin(&c_, ROW_##name, caller);                                               \
        r_ = fn args;                                                                             \
        xs_ocl_call_end(&c_, ROW_##name, XS_HOW_PASS, NULL, XS_RESULT(r_), XS_IS_POINTER(ret));   \
        return r_;                                                                                \
    }

#define BODY_PASSV(T, fn, ret, name, args, key, is_blocking)                                      \
    {                                                                                             \
        struct xs_ocl_call c_;                                                                    \
        xs_ocl_call_begin(&c_, ROW_##name, caller);                                               \
        fn args;                                                                                  \
        xs_ocl_call_end(&c_, ROW_##name, XS_HOW_PASS, NULL, 0, false);                            \
    }

#define BODY_COMMAND(fn, ret, name, args, key, is_blocking, flags, waits, list)                   \
    {                                                                                             \
        struct xs_ocl_submit s_;                                                                  \
        const enum xs_ocl_row row = ROW_##name;                                                   \
        cl_int err_;                                                                              \
        if (xs_ocl_submit_open(&s_, row, caller, command_queue))                                  \
            xs_ocl_submit_gate(&s_, XS_##key, (is_blocking) != 0, flags);                         \
        xs_ocl_submit_waits(&s_, waits, list);                                                    \
        if (s_.want_event && !event)                                                              \
            event = &s_.own;                                                                      \
        err_ = fn args;                                                                           \
        xs_ocl_submit_close(&s_, err_, event);                                                    \
        return err_;                                                                              \
    }

#define BODY_SUBMIT(T, fn, ret, name, args, key, is_blocking)                                     \
    BODY_COMMAND(fn, ret, name, args, key, is_blocking, 0, num_events_in_wait_list, event_wait_list)

/* Order between commands is not work: it is counted, so that the numbers cover it, and never held. */
#define BODY_ORDER(T, fn, ret, name, args, key, is_blocking)                                      \
    BODY_COMMAND(fn, ret, name, args, key, is_blocking, XS_SUBMIT_PASS, 0, NULL)

#define BODY_JOIN(T, fn, ret, name, args, key, is_blocking)                                       \
    BODY_COMMAND(fn, ret, name, args, key, is_blocking, XS_SUBMIT_PASS, num_events_in_wait_list,  \
                 event_wait_list)

#define BODY_ORDER0(T, fn, ret, name, args, key, is_blocking)                                     \
    BODY_ORDER_BARE(fn, name, args, key, 0, NULL)

#define BODY_JOIN0(T, fn, ret, name, args, key, is_blocking)                                      \
    BODY_ORDER_BARE(fn, name, args, key, num_events, event_list)

#define BODY_ORDER_BARE(fn, name, args, key, waits, list)                                         \
    {                                                                                             \
        struct xs_ocl_submit s_;                                                                  \
        const enum xs_ocl_row row = ROW_##name;                                                   \
        cl_int err_;                                                                              \
        if (xs_ocl_submit_open(&s_, row, caller, command_queue))                                  \
            xs_ocl_submit_gate(&s_, XS_##key, false, XS_SUBMIT_PASS);                             \
        xs_ocl_submit_waits(&s_, waits, list);                                                    \
        err_ = fn args;                                                                           \
        xs_ocl_submit_close(&s_, err_, NULL);                                                     \
        return err_;                                                                              \
    }

#define BODY_MAP(T, fn, ret, name, args, key, is_blocking)                                        \
    {                                                                                             \
        struct xs_ocl_submit s_;                                                                  \
        const enum xs_ocl_row row = ROW_##name;                                                   \
        cl_int own_err_ = CL_SUCCESS;                                                             \
        void *r_;                                                                                 \
        if (xs_ocl_submit_open(&s_, row, caller, command_queue))                                  \
            xs_ocl_submit_gate(&s_, XS_##key, (is_blocking) != 0, 0);                             \
        xs_ocl_submit_waits(&s_, num_events_in_wait_list, event_wait_list);                       \
        if (s_.want_event && !event)                                                              \
            event = &s_.own;                                                                      \
        if (!errcode_ret)                                                                         \
            errcode_ret = &own_err_;                                                              \
        r_ = fn args;                                                                             \
        xs_ocl_submit_close(&s_, *errcode_ret, event);                                            \
        return r_;                                                                                \
    }

#define BODY_HAND(T, fn, ret, name, args, key, is_blocking)                                       \
    {                                                                                             \
        return xs_hand_##name(T, caller, XS_UNPACK args);                                         \
    }

#define XS_KEY_ROW                      xs_ocl_key(row, 0)
#define XS_KEY_SIZE(bytes)              xs_ocl_key(row, xs_ocl_size_class(bytes))
#define XS_KEY_REGION(region)           xs_ocl_key_region(row, region)
#define XS_KEY_RANGE(kernel, dims, n)   xs_ocl_key_range(row, kernel, dims, n)

#define BODY_ASK BODY_HAND

/* Rows that a side without work to do leaves at once. */
#define XS_QUIET_PASS   true
#define XS_QUIET_PASSV  true
#define XS_QUIET_SUBMIT true
#define XS_QUIET_MAP    true
#define XS_QUIET_ORDER  true
#define XS_QUIET_ORDER0 true
#define XS_QUIET_JOIN   true
#define XS_QUIET_JOIN0  true
#define XS_QUIET_HAND   true
#define XS_QUIET_ASK    false

/* Answers of a function that is not there. */
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
