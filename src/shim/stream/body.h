/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the entries, by kind of row (shim/common/kinds.def). In their scope are `row`, the library `rt`,
 * and `r`, in which they leave the result; `on` is the row's stream. */
#ifndef XS_SHIM_STREAM_BODY_H
#define XS_SHIM_STREAM_BODY_H

#include "shim/stream/captures.h"
#include "shim/stream/stream_call.h"
#include "shim/stream/stream_events.h"
#include "wire/page.h"

#define PER_THREAD_LEGACY false
#define PER_THREAD_ANY    false
#define PER_THREAD_PTDS   true

#define ON(on)            ((xs_api_stream)(on))

/* ---- commands ---- */

#define SUBMIT_FLAGS(kind) (XS_COLUMN(suspended, kind) ? 0 : XS_SUBMIT_PASS)

#define BODY_SUBMIT(kind, symbol, streams, args, on, key)                                         \
    BODY_SUBMIT_WITH(SUBMIT_FLAGS(kind), symbol, streams, args, on, key)

#define BODY_SUBMIT_WITH(flags, symbol, streams, args, on, key)                                   \
    BODY_SUBMIT_CALL(flags, XS_REAL(symbol) args, streams, on, key)

#define BODY_SUBMIT_CALL(flags, call, streams, on, key)                                           \
    struct xs_api_submit s;                                                                       \
    xs_api_submit_open(&s, rt, row, __builtin_return_address(0), ON(on), PER_THREAD_##streams);   \
    if (XS_LIKELY(s.queue != NULL)) {                                                             \
        uint64_t key_ = key;                                                                      \
        xsched_priv_submit_begin(s.queue, key_, XS_UNLIKELY(key_ & XS_KEY_COLLECTIVE)             \
                                 ? (flags) | XS_SUBMIT_COLLECTIVE                                 \
                                 : (flags), &s.ticket);                                           \
    } else {                                                                                      \
        uint64_t key_ = key;                                                                      \
        xs_collective_captured(key_);                                                             \
        xs_api_captured_open(&s, key_);                                                           \
    }                                                                                             \
    r = call;                                                                                     \
    xs_api_submit_close(&s, r);

#define BODY_COUNT BODY_SUBMIT

#define BODY_WHOLE(kind, symbol, streams, args, on, key)                                          \
    BODY_SUBMIT_WITH(XS_SUBMIT_WHOLE, symbol, streams, args, on, key)

#define BODY_GRAPH(kind, symbol, streams, args, on, key)                                          \
    BODY_SUBMIT_WITH(XS_SUBMIT_WHOLE | XS_SUBMIT_GRAPH, symbol, streams, args, on, key)

/* The scheduler may want the kernel confined. */
#define BODY_LAUNCH(kind, symbol, streams, args, on, key)                                         \
    BODY_SUBMIT_CALL(SUBMIT_FLAGS(kind),                                                          \
                     XS_LIKELY(!s.queue || s.ticket.lane == XS_LANE_OFF)                          \
                         ? XS_REAL(symbol) args                                                   \
                         : xs_api_lane_##symbol(rt, &s.ticket, XS_UNPACK args),                   \
                     streams, on, key)

/* In a default stream: */
#define BODY_ON_DEVICE(it_is, symbol, streams, args, on, key)                                     \
    if (it_is) {                                                                                  \
        BODY_SUBMIT_WITH(0, symbol, streams, args, on, key)                                       \
    } else {                                                                                      \
        BODY_WAIT(WAIT, symbol, streams, args, on, key)                                           \
    }

#define FIRST(first, ...) first
#define BODY_FILL(kind, symbol, streams, args, on, key)                                           \
    BODY_ON_DEVICE(xs_api_is_device(rt, FIRST args), symbol, streams, args, on, key)

#define BODY_COPY(kind, symbol, streams, args, on, key)                                           \
    BODY_ON_DEVICE(xs_api_on_device_##symbol args, symbol, streams, args, on, key)

#define BODY_WAITED(kind, symbol, streams, args, on, key)                                         \
    if (XS_UNLIKELY(xs_api_intra()))                                                              \
        xs_api_lend_context(rt->hal);                                                             \
    BODY_SUBMIT_WITH(XS_SUBMIT_OUTSIDE, symbol, streams, args, on, key)

/* ---- calls that wait ---- */

/* QUERY only asks: a mark before the query would be its answer. */
#define BODY_SYNC(kind, symbol, streams, args, on, key)                                           \
    struct xs_api_wait w;                                                                         \
    xs_api_wait_open(&w, rt, row, __builtin_return_address(0), ON(on), PER_THREAD_##streams,      \
                     XS_WAITS(kind) == XS_WAITS_STREAM);                                          \
    r = XS_REAL(symbol) args;                                                                     \
    xs_api_wait_close(&w, row, ON(on), r);

/* A call that returns at once inherits for no time; a thread that polls waits. The stream is busy then, so
 * that a mark changes no answer: an idle one stays idle. */
#define BODY_QUERY(kind, symbol, streams, args, on, key)                                          \
    BODY_SYNC(kind, symbol, streams, args, on, key)                                               \
    if (r == XS_API_NOT_READY && w.queue) {                                                       \
        if (!xs_api_captured(rt->hal, ON(on), PER_THREAD_##streams))                              \
            xsched_priv_end_near(w.queue);                                                        \
        if (XS_UNLIKELY(xs_api_waits_matter()))                                                   \
            xsched_priv_polled(w.queue, w.began);                                                 \
    }

#define BODY_SYNC_CTX(kind, symbol, streams, args, on, key)                                       \
    struct xs_api_wait_all w;                                                                     \
    xs_api_wait_all_open(&w, rt, XS_CTX_##symbol);                                                \
    r = XS_REAL(symbol) args;                                                                     \
    xs_api_wait_all_close(&w, row, r);

/* A call with its line in the trace. */
#define TRACED(kind, symbol, ...)                                                                 \
    uint64_t begin_ns = XS_UNLIKELY(xs_shim_tracing) ? xs_now_ns() : 0;                           \
    __VA_ARGS__                                                                                   \
    if (XS_UNLIKELY(xs_shim_tracing))                                                             \
        xs_trace_call(#symbol, XS_HOW(kind), 0, r, false, begin_ns);

#define BODY_WAIT(kind, symbol, streams, args, on, key)                                           \
    TRACED(kind, symbol,                                                                          \
        if (XS_UNLIKELY(xs_api_intra()) && !xs_row_filtered(row, __builtin_return_address(0)))    \
            xs_api_lend_context(rt->hal);                                                         \
        r = XS_REAL(symbol) args;)

#define BODY_BLOCK_IF(it_does, kind, symbol, args)                                                \
    TRACED(kind, symbol,                                                                          \
        bool inside = false;                                                                      \
        if ((it_does) && XS_LIKELY(!xs_row_filtered(row, __builtin_return_address(0)))) {         \
            if (XS_UNLIKELY(xs_api_intra()))                                                      \
                xs_api_lend_context(rt->hal);                                                     \
            inside = xsched_priv_inside_begin();                                                  \
        }                                                                                         \
        r = XS_REAL(symbol) args;                                                                 \
        if (inside)                                                                               \
            xsched_priv_inside_end();)

#define BODY_BLOCK(kind, symbol, streams, args, on, key) BODY_BLOCK_IF(true, kind, symbol, args)

/* The result of a successful call. */
#define NOTE(symbol, args)                                                                        \
    if (r == XS_API_OK)                                                                           \
        xs_api_named_##symbol args;

#define BODY_NAMED(kind, symbol, streams, args, on, key)                                          \
    BODY_BLOCK_IF(true, kind, symbol, args)                                                       \
    NOTE(symbol, args)

#define BODY_ONCE(kind, symbol, streams, args, on, key)                                           \
    uint64_t mark = xs_api_mark(rt, row, key);                                                    \
    bool known = xs_loaded_known(mark);                                                           \
    BODY_BLOCK_IF(!known, kind, symbol, args)                                                     \
    if (r == XS_API_OK) {                                                                         \
        if (!known)                                                                               \
            xs_loaded_remember(mark);                                                             \
        xs_api_named_##symbol args;                                                               \
    }

#define BODY_UNLOAD(kind, symbol, streams, args, on, key)                                         \
    xs_api_code_gone();                                                                           \
    BODY_BLOCK_IF(true, kind, symbol, args)

#define BODY_MADE(kind, symbol, streams, args, on, key)                                           \
    TRACED(kind, symbol, r = XS_REAL(symbol) args; NOTE(symbol, args))

/* ---- streams, captures, events ---- */

/* If we still know a queue under a new stream's handle, we did not see the end of its stream. */
#define BODY_STREAM(kind, symbol, streams, args, on, key)                                         \
    TRACED(kind, symbol,                                                                          \
        r = XS_REAL(symbol) args;                                                                 \
        if (r == XS_API_OK && (key)) {                                                            \
            xs_api_queue_gone(*(key));                                                            \
            if (XS_API_MULTI)                                                                     \
                xs_api_object_made(rt, *(key));                                                   \
        })

/* Whether or not the library waits for the stream's work: resumes its queue and forgets it first. */
#define BODY_STREAM_END(kind, symbol, streams, args, on, key)                                     \
    TRACED(kind, symbol,                                                                          \
        bool captured = xs_api_capture_stream_ends(on);                                           \
        xs_api_queue_ends(on);                                                                    \
        if (XS_API_MULTI)                                                                         \
            xs_api_object_ends(on);                                                               \
        r = XS_REAL(symbol) args;                                                                 \
        if (XS_UNLIKELY(captured))                                                                \
            xs_api_capture_stream_ended(on, r == XS_API_OK);)

#define BODY_CAPTURE(kind, symbol, streams, args, on, key)                                        \
    TRACED(kind, symbol,                                                                          \
        bool noted = xs_api_capture_begins(on);                                                   \
        r = XS_REAL(symbol) args;                                                                 \
        if (r != XS_API_OK)                                                                       \
            xs_api_capture_refused(on, noted);)

/* The stream's state in the library says whether an end really ended a capture, not the code: some errors end
 * it. */
#define BODY_CAPTURE_END(kind, symbol, streams, args, on, key)                                    \
    TRACED(kind, symbol,                                                                          \
        xs_api_stream of = PER_THREAD_##streams && !(on) ? XS_API_PER_THREAD : (on);              \
        bool was = xs_api_capturing(rt->hal, of);                                                 \
        r = XS_REAL(symbol) args;                                                                 \
        if (was && !xs_api_capturing(rt->hal, of))                                                \
            xs_api_capture_ended(of);)

#define BODY_EVENT_RECORD(kind, symbol, streams, args, on, key)                                   \
    TRACED(kind, symbol,                                                                          \
        struct xs_event_mark m = xs_api_event_before(rt, on, PER_THREAD_##streams);               \
        r = xs_api_event_recorded(XS_REAL(symbol) args, key, m);)

#define BODY_EVENT_END(kind, symbol, streams, args, on, key)                                      \
    TRACED(kind, symbol,                                                                          \
        xs_api_event_ends(key);                                                                   \
        if (XS_API_MULTI)                                                                         \
            xs_api_object_ends(key);                                                              \
        r = XS_REAL(symbol) args;)

#define BODY_EVENT_WAIT(kind, symbol, streams, args, on, key)                                     \
    TRACED(kind, symbol,                                                                          \
        struct xs_api_event_await w;                                                              \
        xs_api_event_stream_waits(rt, on, PER_THREAD_##streams, key);                             \
        xs_api_event_await_begin(&w, rt, on, PER_THREAD_##streams, key);                          \
        r = XS_REAL(symbol) args;                                                                 \
        xs_api_event_await_end(&w, r);)

#define BODY_EVENT_SYNC(kind, symbol, streams, args, on, key)                                     \
    TRACED(kind, symbol,                                                                          \
        struct xs_event_mark m;                                                                   \
        bool waits = xs_api_event_wait(key, &m);                                                  \
        r = XS_REAL(symbol) args;                                                                 \
        if (waits)                                                                                \
            xs_api_event_waited(m, r);)

#define BODY_EVENT_QUERY(kind, symbol, streams, args, on, key)                                    \
    TRACED(kind, symbol,                                                                          \
        r = XS_REAL(symbol) args;                                                                 \
        if (r == XS_API_NOT_READY)                                                                \
            xs_api_event_busy(key);)

/* ---- by hand ---- */

#define BODY_HAND(kind, symbol, streams, args, on, key)                                           \
    TRACED(kind, symbol, r = xs_hand_##symbol(rt, XS_UNPACK args);)

#define BODY_OPEN BODY_HAND

#define BODY_HAND0(kind, symbol, streams, args, on, key)                                          \
    TRACED(kind, symbol, r = xs_hand_##symbol(rt);)

/* ---- while XSched schedules nothing ---- */

#define QUIET_REAL(kind, symbol, args)                                                            \
    return XS_REAL(symbol) args;

#define QUIET_NOTED(kind, symbol, args)                                                           \
    r = XS_REAL(symbol) args;                                                                     \
    NOTE(symbol, args)                                                                            \
    return r;

/* Looks answers of cuGetProcAddress through also then: the program keeps the functions, and may make an
 * XQueue later. Rows that are not by hand go on to their body. */
#define QUIET_CODE(kind, symbol, args) XS_IF_HAND(kind, return xs_hand_##symbol(rt, XS_UNPACK args);)

#endif
