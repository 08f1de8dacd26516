/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit on platforms of the room stream. With a limit, the functions of the platform's memory.def
 * stand between our entries and the real ones. They are in the table of real functions, so that rows of every
 * kind go through them. Without a limit they are not there.
 *
 *   MEM(shape, symbol)   with these first parameters:
 *
 *   ALLOC        (out pointer, bytes)             FREE        (pointer)
 *   ASYNC        (out pointer, bytes, stream)     FREE_ASYNC  (pointer, stream)
 *   FROM_POOL    (out pointer, bytes, pool, stream)
 *                a stream that captures allocates and frees nothing: graph_memory.h counts what its graph does.
 *                _PTDS: their stream 0 is the thread's own
 *   INSTANTIATE  (out executable graph, graph)    EXEC_END    (executable graph)
 *   PITCH        (out pointer, out pitch, width in bytes, height)
 *   ARRAY        (out array, descriptor)          ARRAY3D     the same with a depth
 *   MIPMAP       (out array, descriptor with a depth, levels)
 *   ARRAY_FREE   (array)
 *   CREATE       (out handle, bytes, properties)  RELEASE     (handle)
 *   RETAIN       (out handle, address)
 *   MAP          (address, bytes, offset, handle) UNMAP       (address, bytes)
 *   INFO         (out free, out total)            TOTAL       (out bytes, device)
 *   CONTEXT_END  (context)
 *   PRIMARY      (out context, device)            PRIMARY_END (device)   PRIMARY_RELEASE (device)
 *   DEVICE_RESET () */
#ifndef XS_SHIM_STREAM_STREAM_MEMORY_H
#define XS_SHIM_STREAM_STREAM_MEMORY_H

#include "shim/stream/stream_table.h"

/** While the shim fills in a library's table; does nothing without a limit. Of several libraries the first
 *  one has the limit. */
void xs_api_memory_wrap(struct xs_api_runtime *rt, void *handle);
/** @return the row whose place has a limit's function, and whose vendor's function is `real`; -1: none */
int xs_api_memory_row(const struct xs_api_runtime *rt, const void *real);

#endif
