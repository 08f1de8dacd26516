/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/captures.h"

#include "base/map.h"

/* Created streams at which the program began a capture; others join it, and it does not end with them. A
 * capture that found no memory here counts until its own end. */
static struct xs_map g_begun;

static void count(int delta)
{
    atomic_fetch_add_explicit(&xs_api_captures, delta, memory_order_relaxed);
}

static bool note(xs_api_stream stream)
{
    uint64_t key = (uintptr_t)stream;

    return key > 2 && !xs_map_get(&g_begun, key) && xs_map_put(&g_begun, key, &g_begun) == 0;
}

static bool unnote(xs_api_stream stream)
{
    return (uintptr_t)stream > 2 && xs_map_remove(&g_begun, (uintptr_t)stream);
}

bool xs_api_capture_begins(xs_api_stream stream)
{
    count(1);
    return note(stream);
}

void xs_api_capture_refused(xs_api_stream stream, bool noted)
{
    count(-1);
    if (noted)
        unnote(stream);
}

void xs_api_capture_ended(xs_api_stream stream)
{
    count(-1);
    unnote(stream);
}

bool xs_api_capture_stream_ends(xs_api_stream stream)
{
    return atomic_load_explicit(&xs_api_captures, memory_order_relaxed) != 0 && unnote(stream);
}

void xs_api_capture_stream_ended(xs_api_stream stream, bool destroyed)
{
    if (destroyed)
        count(-1);
    else
        note(stream);
}
