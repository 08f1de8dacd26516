/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of graphs that allocate and free. As documented, memory is taken at a launch and kept for later graphs; all graphs of
 * a device use the same. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { NODE_ALLOC = 10, NODE_FREE = 11 };
struct alloc_params {
    uint32_t type, handle_types, where_type;
    int where_id;
    uint64_t pool[9];
    void *access;
    size_t access_count, bytes;
    CUdeviceptr at;
};
struct fake_node {
    struct fake_node *next;
    int type;
    struct alloc_params alloc; /* a node that frees: `at` alone */
};
static uint64_t g_reserved[DEVICES];

static struct fake_node *add(CUgraph g, int type, const struct alloc_params *p)
{
    struct fake_node *n = calloc(1, sizeof(*n));

    n->type = type;
    n->alloc = *p;
    pthread_mutex_lock(&fake_lock);
    n->next = g->nodes;
    g->nodes = n;
    pthread_mutex_unlock(&fake_lock);
    return n;
}

API cuGraphCreate(CUgraph *ret, unsigned flags)
{
    *ret = calloc(1, sizeof(**ret));
    return flags ? XS_CU_INVALID_VALUE : 0;
}

API cuGraphAddMemAllocNode(void **ret, CUgraph g, const void *after, size_t n, struct alloc_params *p)
{
    static CUdeviceptr next = 0x500000000000;

    (void)after, (void)n;
    p->at = next;
    next += p->bytes + 4096;
    *ret = add(g, NODE_ALLOC, p);
    return 0;
}

API cuGraphAddMemFreeNode(void **ret, CUgraph g, const void *after, size_t n, CUdeviceptr at)
{
    (void)after, (void)n;
    *ret = add(g, NODE_FREE, &(struct alloc_params){.at = at});
    return 0;
}

/* Under no lock: what a stream that captures records. */
bool fake_captures_alloc(CUstream s, CUdeviceptr *ret, size_t bytes)
{
    struct alloc_params p = {.type = 1, .where_type = 1, .where_id = 0, .bytes = bytes};
    void *node;

    if ((uintptr_t)s <= 2 || !s->capture)
        return false;
    cuGraphAddMemAllocNode(&node, s->capture, NULL, 0, &p);
    *ret = p.at;
    return true;
}

bool fake_captures_free(CUstream s, CUdeviceptr at)
{
    void *node;

    if ((uintptr_t)s <= 2 || !s->capture)
        return false;
    cuGraphAddMemFreeNode(&node, s->capture, NULL, 0, at);
    return true;
}

API cuGraphGetNodes(CUgraph g, void **ret, size_t *count)
{
    size_t n = 0;

    for (struct fake_node *k = g->nodes; k; k = k->next, n++)
        if (ret && n < *count)
            ret[n] = k;
    *count = n;
    return 0;
}

API cuGraphNodeGetType(const struct fake_node *node, int *ret)
{
    *ret = node->type;
    return 0;
}

API cuGraphMemAllocNodeGetParams(const struct fake_node *node, struct alloc_params *ret)
{
    *ret = node->alloc;
    return node->type == NODE_ALLOC ? 0 : XS_CU_INVALID_VALUE;
}

API cuGraphMemFreeNodeGetParams(const struct fake_node *node, CUdeviceptr *ret)
{
    *ret = node->alloc.at;
    return node->type == NODE_FREE ? 0 : XS_CU_INVALID_VALUE;
}

API cuGraphChildGraphNodeGetGraph(const struct fake_node *node, CUgraph *ret)
{
    (void)node, (void)ret;
    return XS_CU_INVALID_VALUE;
}

API cuGraphExecDestroy(CUgraphExec exec)
{
    return exec ? 0 : XS_CU_INVALID_VALUE;
}

API cuGraphDestroy(CUgraph g)
{
    return g ? 0 : XS_CU_INVALID_VALUE;
}

void fake_graph_memory_launched_locked(CUgraph g)
{
    uint64_t bytes = 0;
    int dev = 0;

    for (const struct fake_node *n = g->nodes; n; n = n->next)
        if (n->type == NODE_ALLOC) {
            bytes += n->alloc.bytes;
            dev = n->alloc.where_id;
        }
    if (bytes > g_reserved[dev])
        g_reserved[dev] = bytes;
}

API cuDeviceGetGraphMemAttribute(int dev, int what, uint64_t *ret)
{
    *ret = g_reserved[dev];
    return what == 2 ? 0 : XS_CU_NOT_SUPPORTED;
}

API cuDeviceGraphMemTrim(int dev)
{
    g_reserved[dev] = 0;
    return 0;
}
