/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that the program began and has not ended, counted for libhal, which asks the vendor whether a stream
 * captures only while there are some. For the one file of a shim that handles captures. Any thread. */
#ifndef XS_SHIM_CAPTURES_H
#define XS_SHIM_CAPTURES_H

#include "base/map.h"
#include "shim/stream/prototypes.h"

/* Created streams at which one was begun; others join it, and it does not end with them. What could not be noted counts
 * until it is ended. */
static struct xs_map g_begun;

static inline void capture_count(int delta)
{
    atomic_fetch_add_explicit(&xs_api_captures, delta, memory_order_relaxed);
}

static inline bool capture_note(const void *stream)
{
    uint64_t key = (uintptr_t)stream;

    return key > 2 && !xs_map_get(&g_begun, key) && xs_map_put(&g_begun, key, &g_begun) == 0;
}

static inline bool capture_unnote(const void *stream)
{
    return (uintptr_t)stream > 2 && xs_map_remove(&g_begun, (uintptr_t)stream);
}

/** Before the call: other threads may already put work into the stream. @return for the next */
static inline bool capture_begins(const void *stream)
{
    capture_count(1);
    return capture_note(stream);
}

static inline void capture_refused(const void *stream, bool noted)
{
    capture_count(-1);
    if (noted)
        capture_unnote(stream);
}

static inline void capture_ended(const void *stream)
{
    capture_count(-1);
    capture_unnote(stream);
}

/** Around the stream's end, with which one that was begun there ends. The handle may be another stream's when the call
 *  returns. @return for the next: whether one was */
static inline bool capture_stream_ends(const void *stream)
{
    return XS_UNLIKELY(atomic_load_explicit(&xs_api_captures, memory_order_relaxed) != 0) && capture_unnote(stream);
}

static inline void capture_stream_ended(const void *stream, bool was, bool destroyed)
{
    if (was && destroyed)
        capture_count(-1);
    else if (was)
        capture_note(stream);
}

#endif
