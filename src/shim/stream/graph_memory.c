/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/stream/graph_memory.h"

#include "base/lock.h"
#include "base/map.h"
#include "shim/common/memory_limit.h"
#include "shim/stream/prototypes.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES     64
#define CHILDREN    8             /* graphs within graphs that this looks into */

/* Both vendors have the same numbers and the same layout. */
enum { NODE_CHILD = 4, NODE_ALLOC = 10, NODE_FREE = 11 };
enum { RESERVED_NOW = 2 };
struct alloc_params {
    uint32_t type, handle_types;
    struct {
        uint32_t type;
        int32_t id;
    } where;
    uint64_t pool[9];
    void *access;
    size_t access_count, bytes;
    uint64_t at;
};
_Static_assert(sizeof(struct alloc_params) == 120, "CUDA_MEM_ALLOC_NODE_PARAMS");

static xs_api_result (*s_nodes)(void *graph, void **ret, size_t *count);
static xs_api_result (*s_type)(void *node, int *ret);
static xs_api_result (*s_alloc)(void *node, struct alloc_params *ret);
static xs_api_result (*s_free)(void *node, uint64_t *ret);
static xs_api_result (*s_child)(void *node, void **ret);
static xs_api_result (*s_ask)(int dev, int what, uint64_t *ret);

/* What the executable graphs with allocations need. */
struct need {
    struct need *next;
    const void *exec, *owner;
    struct xs_graph_need of;
};
/* Lock 4: what executable graphs with allocations need. A thread that makes, launches or ends one holds it,
 * under a limit, and counts its memory. */
static struct xs_lock g_lock;
static struct need *g_needs;
static uint64_t g_counted[DEVICES]; /* of each device, in the limit's sum */
static _Atomic bool g_any;          /* the program has made such a graph */

void xs_graph_memory_open(const struct xs_api_runtime *rt)
{
    memcpy(&s_nodes, &rt->real[ROW_XS_API_GRAPH_NODES], sizeof(s_nodes));
    memcpy(&s_type, &rt->real[ROW_XS_API_GRAPH_NODE_TYPE], sizeof(s_type));
    memcpy(&s_alloc, &rt->real[ROW_XS_API_GRAPH_ALLOC], sizeof(s_alloc));
    memcpy(&s_free, &rt->real[ROW_XS_API_GRAPH_FREE], sizeof(s_free));
    memcpy(&s_child, &rt->real[ROW_XS_API_GRAPH_CHILD], sizeof(s_child));
    memcpy(&s_ask, &rt->real[ROW_XS_API_GRAPH_MEMORY], sizeof(s_ask));
}

static uint64_t reserved(int dev)
{
    uint64_t bytes = 0;

    return s_ask(dev, RESERVED_NOW, &bytes) == XS_API_OK ? bytes : 0;
}

/* ---- what a graph needs ---- */

struct sum {
    uint64_t all, freed, largest; /* bytes */
    int dev;                      /* of the first allocation; -1: there is none */
    struct xs_map bytes;          /* by address, of each allocation */
};

static void add_alloc(struct sum *s, const struct alloc_params *p)
{
    if (s->dev < 0)
        s->dev = p->where.id;
    if (p->where.type != 1 || p->where.id != s->dev) /* on a device; graphs with memory of two are rare */
        return;
    if (xs_map_put(&s->bytes, p->at, (void *)(uintptr_t)p->bytes) < 0) /* no memory: rather too little counts */
        return;
    s->all += p->bytes;
    s->largest = XS_MAX(s->largest, (uint64_t)p->bytes);
}

/* @param frees  whether to look for nodes that free, else for nodes that allocate */
static void walk(struct sum *s, void *graph, bool frees, int depth)
{
    void **nodes, *child;
    size_t n = 0;
    int type;

    if (s_nodes(graph, NULL, &n) != XS_API_OK || n == 0 || !(nodes = malloc(n * sizeof(*nodes))))
        return;
    if (s_nodes(graph, nodes, &n) != XS_API_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        struct alloc_params p;
        uint64_t at = 0;

        if (s_type(nodes[i], &type) != XS_API_OK)
            continue;
        memset(&p, 0, sizeof(p));
        if (type == NODE_ALLOC && !frees && s_alloc(nodes[i], &p) == XS_API_OK)
            add_alloc(s, &p);
        else if (type == NODE_FREE && frees && s_free(nodes[i], &at) == XS_API_OK)
            s->freed += (uint64_t)(uintptr_t)xs_map_get(&s->bytes, at);
        else if (type == NODE_CHILD && depth < CHILDREN && s_child(nodes[i], &child) == XS_API_OK)
            walk(s, child, frees, depth + 1);
    }
    free(nodes);
}

/* What it does not free, and its largest allocation. */
static struct xs_graph_need need_of(void *graph)
{
    struct sum s = {.dev = -1};
    struct xs_graph_need need = {.dev = -1};

    if (!s_nodes || !s_type || !s_alloc || !s_free || !s_child || !s_ask || !graph)
        return need;
    walk(&s, graph, false, 0);
    if (s.all)
        walk(&s, graph, true, 0);
    xs_map_fini(&s.bytes);
    if (s.dev >= 0 && s.dev < DEVICES)
        need = (struct xs_graph_need){.dev = s.dev, .bytes = XS_MAX(s.largest, s.all - XS_MIN(s.all, s.freed))};
    return need;
}

/* ---- what counts ---- */

/* Graphs use the same memory one after another, so the largest one counts. */
static uint64_t needed_locked(int dev)
{
    uint64_t bytes = 0;

    for (const struct need *n = g_needs; n; n = n->next)
        if (n->of.dev == dev)
            bytes = XS_MAX(bytes, n->of.bytes);
    return bytes;
}

void xs_graph_memory_count(int dev, int device)
{
    uint64_t bytes;

    if (device < 0 || dev < 0 || dev >= DEVICES || !atomic_load(&g_any))
        return;
    bytes = reserved(dev);
    xs_lock_acquire(&g_lock);
    bytes = XS_MAX(bytes, needed_locked(dev));
    if (bytes > g_counted[dev])
        xs_mem_count(device, bytes - g_counted[dev]);
    else
        xs_mem_give(device, g_counted[dev] - bytes);
    g_counted[dev] = bytes;
    xs_lock_release(&g_lock);
}

bool xs_graph_memory_fits(void *graph, int (*device_of)(int dev), struct xs_graph_need *ret)
{
    uint64_t more;
    int device;

    *ret = need_of(graph);
    if (ret->dev < 0 || (device = device_of(ret->dev)) < 0)
        return true;
    atomic_store(&g_any, true);
    xs_graph_memory_count(ret->dev, device);
    xs_lock_acquire(&g_lock);
    more = ret->bytes - XS_MIN(ret->bytes, g_counted[ret->dev]);
    xs_lock_release(&g_lock);
    if (!xs_mem_take(device, more))
        return false;
    xs_mem_give(device, more);        /* xs_graph_memory_made counts it */
    return true;
}

void xs_graph_memory_made(void *exec, const void *owner, const struct xs_graph_need *need, int (*device_of)(int dev))
{
    struct need *n = need->dev < 0 ? NULL : malloc(sizeof(*n));

    if (!n)
        return;
    n->exec = exec;
    n->owner = owner;
    n->of = *need;
    xs_lock_acquire(&g_lock);
    n->next = g_needs;
    g_needs = n;
    xs_lock_release(&g_lock);
    xs_graph_memory_count(need->dev, device_of(need->dev));
}

/* Those of one executable graph, or of one owner. */
static void remove_needs(const void *exec, const void *owner)
{
    struct need *gone = NULL, *n;

    if (!atomic_load(&g_any))
        return;
    xs_lock_acquire(&g_lock);
    for (struct need **at = &g_needs; (n = *at);) {
        if (exec ? n->exec != exec : !owner || n->owner != owner) {
            at = &n->next;
            continue;
        }
        *at = n->next;
        n->next = gone;
        gone = n;
    }
    xs_lock_release(&g_lock);
    while ((n = gone)) {
        gone = n->next;
        free(n);
    }
}

void xs_graph_memory_gone(const void *exec)
{
    remove_needs(exec, NULL);
}

void xs_graph_memory_owner_gone(const void *owner)
{
    remove_needs(NULL, owner);
}
