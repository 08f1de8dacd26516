/* SPDX-License-Identifier: Apache-2.0 */
/* Several real libraries in one process (XS_API_MULTI): each caller keeps its own (shim/common/callers.h). Streams,
 * functions and events belong to the copy that made them, so mixing two ends in errors far from the cause. So a
 * stream, an event, a module and a function go to the library that made them, from any caller. */
#include "shim/stream/stream_table.h"

#include "base/map.h"

#include <stdlib.h>

struct xs_api_runtime xs_api_first;

#if XS_API_MULTI

#ifndef XS_API_TRACKS
#define XS_API_TRACKS 1           /* 0 in a test, to show the errors without it */
#endif

static struct xs_map g_made;      /* stream, event, module, function -> the library that made it */
static struct xs_api_runtime g_absent; /* of callers whose library is not to be found; constant once bound */

void *xs_copy_new(void *handle)
{
    struct xs_api_runtime *rt = calloc(1, sizeof(*rt));

    if (rt)
        xs_api_fill(rt, handle);
    if (rt && !xs_shim_disabled)
        xs_api_library_found(handle);
    return rt;
}

void xs_copy_several(bool several)
{
    if (several || !xs_shim_tracing)
        xs_api_slots_direct(!several);
}

void xs_api_runtime_bound(bool alone)
{
    for (int row = 0; row < ROW_COUNT; row++)
        g_absent.real[row] = xs_api_absent((enum xs_row)row, true);
    xs_callers_bound(xs_api_first.handle, &xs_api_first, alone);
}

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    const struct xs_api_runtime *rt = xs_callers_copy(caller);

    return rt ? rt : &g_absent;
}

void xs_api_object_made(const struct xs_api_runtime *rt, const void *object)
{
    /* in place of one whose end we did not see */
    xs_map_put(&g_made, (uintptr_t)object, (void *)(uintptr_t)rt);
}

void xs_api_object_ends(const void *object)
{
    xs_map_remove(&g_made, (uintptr_t)object);
}

const struct xs_api_runtime *xs_api_runtime_made(const struct xs_api_runtime *rt, const void *object)
{
    const struct xs_api_runtime *made = XS_API_TRACKS ? xs_map_get(&g_made, (uintptr_t)object) : NULL;

    if (!made && XS_API_TRACKS)   /* a stub lies in the object that registered it */
        made = xs_callers_of_object(object);
    return made ? made : rt;
}

#else

void xs_api_runtime_bound(bool alone)
{
    xs_callers_bound(xs_api_first.handle, &xs_api_first, alone);
}

void xs_api_object_made(const struct xs_api_runtime *rt, const void *object)
{
    (void)rt, (void)object;
}

void xs_api_object_ends(const void *object)
{
    (void)object;
}

const struct xs_api_runtime *xs_api_runtime_made(const struct xs_api_runtime *rt, const void *object)
{
    (void)object;
    return rt;
}

const struct xs_api_runtime *xs_api_runtime_by(const void *caller)
{
    (void)caller;
    return &xs_api_first;
}

#endif
