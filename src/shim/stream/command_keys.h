/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of estimates: kernels by function and number of blocks, copies by size, the rest by kind. */
#ifndef XS_SHIM_STREAM_COMMAND_KEYS_H
#define XS_SHIM_STREAM_COMMAND_KEYS_H

#include "base/map.h"
#include "shim/common/size_class.h"
#include "shim/stream/collective_names.h"

static inline uint64_t xs_api_key(unsigned row, uint64_t what, uint64_t size)
{
    return (xs_hash_u64(((uint64_t)row + 1) << 48 ^ what ^ size * 0x9E3779B97F4A7C15ull) | 1) & ~XS_KEY_COLLECTIVE;
}

#define XS_KEY(what, size) xs_api_key((unsigned)row, (uint64_t)(uintptr_t)(what), (size))
#define XS_KEY_KERNEL(f, size) (XS_KEY(f, size) | xs_collective_key(f))
#define XS_KEY_GRAPH(g)        (XS_KEY(g, 0) | xs_collective_graph_key())
#define XS_KEY_BYTES(n)    XS_KEY(0, xs_size_class(n))
#define XS_KEY_ROW         XS_KEY(0, 0)

/** Operations on memory in a stream, as an array of CUstreamBatchMemOpParams or hipStreamBatchMemOpParams: 48 bytes
 *  each, of which the first four say which one. */
static inline bool xs_api_batch_awaits(unsigned count, const void *operations)
{
    enum { WAIT_32 = 1, WAIT_64 = 4, BYTES = 48, MOST = 256 };

    for (unsigned i = 0; operations && i < count && i < MOST; i++) {
        uint32_t which = *(const uint32_t *)((const char *)operations + (size_t)i * BYTES);

        if (which == WAIT_32 || which == WAIT_64)
            return true;
    }
    return false;
}
#define XS_KEY_BATCH(count, operations) (xs_api_batch_awaits(count, operations) ? (uint64_t)XS_KEY_AWAITS : XS_KEY_ROW)

#endif
