/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that graphs allocate: nodes that the program adds, or that it captures. The vendor takes it at a launch and
 * keeps it for the next graphs, one amount for each device. Only with a memory limit. Any thread. */
#ifndef XS_SHIM_STREAM_GRAPH_MEMORY_H
#define XS_SHIM_STREAM_GRAPH_MEMORY_H

#include "shim/stream/stream_table.h"

/** Once, while the shim fills in the limited library's table. */
void xs_graph_memory_open(const struct xs_api_runtime *rt);
/** Before an allocation, or a question for the free memory: counts what the device's graphs have now.
 *  @param dev  the vendor's number of the device  @param device  memory_limit.h's number */
void xs_graph_memory_count(int dev, int device);
struct xs_graph_need {
    uint64_t bytes;               /* at least, in whatever order its nodes run */
    int dev;                      /* -1: none */
};
/** Before the vendor makes an executable graph.
 *  @param device_of  memory_limit.h's number of a device; -1: it has no limit
 *  @return false: the graph needs more than the limit leaves */
bool xs_graph_memory_fits(void *graph, int (*device_of)(int dev), struct xs_graph_need *ret);
/** After it: what the graph needs counts until the end of `exec`, or of its owner (a context, as in memory_limit.h). */
void xs_graph_memory_made(void *exec, const void *owner, const struct xs_graph_need *need, int (*device_of)(int dev));
void xs_graph_memory_gone(const void *exec);
void xs_graph_memory_owner_gone(const void *owner);

#endif
