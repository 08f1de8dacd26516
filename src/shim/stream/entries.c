/* SPDX-License-Identifier: Apache-2.0 */
/* The exported functions of all rows that are not plain jumps. */
#include "shim/stream/stream_call.h"
#include "shim/stream/prototypes.h"

#include "hal/common/note.h"

XS_SHIM_NOTE;

#pragma GCC diagnostic ignored "-Wunused-variable"

#define PER_THREAD_LEGACY false
#define PER_THREAD_ANY    false
#define PER_THREAD_PTDS   true

#define BODY_SUBMIT_WITH(flags, symbol, streams, args, on, key)                                   \
    struct xs_api_submit s;                                                                       \
    xs_api_submit_open(&s, rt, row, __builtin_return_address(0), (xs_api_stream)(on), PER_THREAD_##streams); \
    if (XS_LIKELY(s.queue != NULL)) {                                                             \
        uint64_t key_ = key;                                                                      \
        xsched_priv_submit_begin(s.queue, key_, XS_UNLIKELY(key_ & XS_KEY_COLLECTIVE)             \
                                 ? (flags) | XS_SUBMIT_COLLECTIVE : (flags), &s.ticket);          \
    } else {                                                                                      \
        xs_collective_captured(key);                                                              \
    }                                                                                             \
    r = XS_REAL(symbol) args;                                                                     \
    xs_api_submit_close(&s, r);

/* A copy from or to pageable memory waits for what stands before it. */
#define MAY_WAIT(symbol) (__builtin_strstr(#symbol, "Memcpy") ? XS_SUBMIT_HOST : 0)

#define BODY_SUBMIT(symbol, streams, args, on, key) BODY_SUBMIT_WITH(MAY_WAIT(symbol), symbol, streams, args, on, key)
#define BODY_COUNT(symbol, streams, args, on, key) BODY_SUBMIT_WITH(XS_SUBMIT_PASS, symbol, streams, args, on, key)

#define BODY_SYNC(symbol, streams, args, on, key) BODY_SYNC_WITH(true, symbol, streams, args, on)

#define BODY_SYNC_WITH(waits, symbol, streams, args, on)                                          \
    struct xs_api_wait w;                                                                         \
    xs_api_wait_open(&w, rt, row, __builtin_return_address(0), (xs_api_stream)(on), PER_THREAD_##streams, waits); \
    r = XS_REAL(symbol) args;                                                                     \
    xs_api_wait_close(&w, row, (xs_api_stream)(on), r);

/* What returns at once inherits for no time; a thread that asks and asks waits. It is busy, so that a mark changes no
 * answer: one that was found idle stays idle. */
#define BODY_QUERY(symbol, streams, args, on, key)                                                \
    BODY_SYNC_WITH(false, symbol, streams, args, on)                                              \
    if (r == XS_API_NOT_READY && w.queue) {                                                       \
        if (!xs_api_captured(rt->hal, (xs_api_stream)(on), PER_THREAD_##streams))                 \
            xsched_priv_end_near(w.queue);                                                        \
        if (XS_UNLIKELY(xs_api_intra()))                                                          \
            xsched_priv_polled(w.queue, w.began);                                                 \
    }

/* Waits, as far as one knows, for whatever the context holds, and proves nothing. */
#define BODY_WAIT(symbol, streams, args, on, key)                                                 \
    uint64_t begin_ns = XS_UNLIKELY(xs_api_tracing) ? xs_now_ns() : 0;                           \
    xs_api_begin_late();                                                                          \
    if (XS_UNLIKELY(xs_api_intra()) && !xs_api_filtered(row, __builtin_return_address(0)))      \
        xs_api_lend_context(rt->hal);                                                             \
    r = XS_REAL(symbol) args;                                                                     \
    if (XS_UNLIKELY(xs_api_tracing))                                                             \
        xs_trace_call(#symbol, XS_HOW_PASS, 0, r, false, begin_ns);

/* The same, and every other call on the context waits for this one meanwhile. */
#define BODY_BLOCK_IF(it_does, symbol, args)                                                      \
    uint64_t begin_ns = XS_UNLIKELY(xs_api_tracing) ? xs_now_ns() : 0;                           \
    bool inside = false;                                                                          \
    if ((it_does) && XS_LIKELY(!xs_api_filtered(row, __builtin_return_address(0)))) {             \
        if (XS_UNLIKELY(xs_api_intra()))                                                          \
            xs_api_lend_context(rt->hal);                                                         \
        inside = xsched_priv_inside_begin();                                                      \
    }                                                                                             \
    r = XS_REAL(symbol) args;                                                                     \
    if (inside)                                                                                   \
        xsched_priv_inside_end();                                                                 \
    if (XS_UNLIKELY(xs_api_tracing))                                                             \
        xs_trace_call(#symbol, XS_HOW_PASS, 0, r, false, begin_ns);

#define BODY_BLOCK(symbol, streams, args, on, key) BODY_BLOCK_IF(true, symbol, args)

#define BODY_NAMED(symbol, streams, args, on, key)                                                \
    BODY_BLOCK_IF(true, symbol, args)                                                             \
    if (r == XS_API_OK)                                                                           \
        xs_api_named_##symbol args;

#define BODY_ONCE(symbol, streams, args, on, key)                                                 \
    uint64_t mark = xs_api_mark(rt, row, key);                                                    \
    bool known = xs_loaded_known(mark);                                                           \
    BODY_BLOCK_IF(!known, symbol, args)                                                           \
    if (r == XS_API_OK) {                                                                         \
        if (!known)                                                                               \
            xs_loaded_remember(mark);                                                             \
        xs_api_named_##symbol args;                                                               \
    }

#define BODY_UNLOAD(symbol, streams, args, on, key)                                               \
    xs_loaded_forget();                                                                           \
    BODY_BLOCK_IF(true, symbol, args)

#define BODY_SYNC_CTX(symbol, streams, args, on, key)                                             \
    struct xs_api_wait_all w;                                                                     \
    xs_api_wait_all_open(&w, rt, XS_CTX_##symbol);                                                \
    r = XS_REAL(symbol) args;                                                                     \
    xs_api_wait_all_close(&w, row, r);

#define BODY_MADE(symbol, streams, args, on, key)                                                 \
    uint64_t begin_ns = XS_UNLIKELY(xs_api_tracing) ? xs_now_ns() : 0;                           \
    r = QUIET_MADE(symbol, args);                                                                 \
    if (XS_UNLIKELY(xs_api_tracing))                                                             \
        xs_trace_call(#symbol, XS_HOW_PASS, 0, r, false, begin_ns);

#define BODY_HAND(symbol, streams, args, on, key)                                                 \
    uint64_t begin_ns = xs_api_tracing ? xs_now_ns() : 0;                                         \
    r = xs_hand_##symbol(rt, XS_UNPACK args);                                                     \
    if (XS_UNLIKELY(xs_api_tracing))                                                              \
        xs_trace_call(#symbol, XS_HOW_HAND, 0, r, false, begin_ns);

#define BODY_OPEN(symbol, streams, args, on, key) BODY_HAND(symbol, streams, args, on, key)

#define BODY_HAND0(symbol, streams, args, on, key)                                                \
    uint64_t begin_ns = xs_api_tracing ? xs_now_ns() : 0;                                         \
    r = xs_hand_##symbol(rt);                                                                     \
    if (XS_UNLIKELY(xs_api_tracing))                                                              \
        xs_trace_call(#symbol, XS_HOW_HAND, 0, r, false, begin_ns);

/* Answers of cuGetProcAddress are looked through also when nothing is scheduled: the functions are
 * kept by the program, and it may make an XQueue later. */
#define QUIET_SUBMIT(symbol, args)   XS_REAL(symbol) args
#define QUIET_COUNT(symbol, args)    XS_REAL(symbol) args
#define QUIET_SYNC(symbol, args)     XS_REAL(symbol) args
#define QUIET_WAIT(symbol, args)     XS_REAL(symbol) args
#define QUIET_BLOCK(symbol, args)    XS_REAL(symbol) args
#define QUIET_NAMED(symbol, args)                                                                 \
    (r = XS_REAL(symbol) args, r == XS_API_OK ? xs_api_named_##symbol args : (void)0, r)
#define QUIET_ONCE(symbol, args)     QUIET_NAMED(symbol, args)
#define QUIET_MADE(symbol, args)     QUIET_NAMED(symbol, args)
#define QUIET_UNLOAD(symbol, args)   XS_REAL(symbol) args
#define QUIET_QUERY(symbol, args)    XS_REAL(symbol) args
#define QUIET_SYNC_CTX(symbol, args) XS_REAL(symbol) args
#define QUIET_OPEN(symbol, args)     QUIET_HAND(symbol, args)
#define QUIET_HAND0(symbol, args)    xs_hand_##symbol(rt)
#define QUIET_HAND(symbol, args)     xs_hand_##symbol(rt, XS_UNPACK args)

#define LOOK_SUBMIT   false
#define LOOK_COUNT    false
#define LOOK_SYNC     false
#define LOOK_QUERY    false
#define LOOK_WAIT     false
#define LOOK_BLOCK    false
#define LOOK_NAMED    false
#define LOOK_ONCE     false
#define LOOK_UNLOAD   false
#define LOOK_SYNC_CTX false
#define LOOK_MADE     false
#define LOOK_HAND     false
#define LOOK_HAND0    false
#define LOOK_OPEN     true

#define XS_ROW(kind, symbol, name, version, streams, params, args, on, key)                       \
    XS_EXPORT xs_api_result symbol params                                                         \
    {                                                                                             \
        const enum xs_api_row row = ROW_##symbol;                                                 \
        const struct xs_api_runtime *rt;                                                          \
        int xs_mode_ = xs_api_mode_now();                                                         \
        xs_api_result r;                                                                          \
        if (XS_UNLIKELY(xs_mode_ == XS_API_UNBOUND) && !xs_api_start(__builtin_return_address(0))) \
            return XS_API_NOT_INITIALIZED;                                                        \
        if (LOOK_##kind)                                                                          \
            xs_api_caller_new(__builtin_return_address(0));                                       \
        rt = xs_api_runtime_with(xs_api_runtime_of(__builtin_return_address(0)), (xs_api_stream)(on)); \
        if (xs_mode_ == XS_API_QUIET)                                                             \
            return QUIET_##kind(symbol, args);                                                    \
        BODY_##kind(symbol, streams, args, on, key)                                               \
        return r;                                                                                 \
    }
#include XS_API_ROWS
