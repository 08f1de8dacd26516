/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of collective communication, known by their names (collective_patterns.def). The shim looks at a
 * name when the program gets the function. A launch only looks up the handle, and nothing at all in a program
 * that has no such function. */
#ifndef XS_SHIM_STREAM_COLLECTIVE_NAMES_H
#define XS_SHIM_STREAM_COLLECTIVE_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/xs_base.h"

/** In a key: the command is a collective. */
#define XS_KEY_COLLECTIVE (1ull << 63)

/** The number of such functions. Writer: xs_collective_named. */
extern _Atomic uint32_t xs_collective_functions;
/** 1: a capture has taken a launch of one, so any graph may hold it. Writer: any thread that captures one. */
extern _Atomic uint32_t xs_collective_graphs;

/** The program got this handle by this name. Any thread. */
void xs_collective_named(const void *function, const char *name);
/** The program got this handle for that one. */
void xs_collective_same(const void *function, const void *known);
bool xs_collective_find(const void *function);

static inline uint64_t xs_collective_key(const void *function)
{
    /* relaxed: a thread that launches a function got it before, in an order that the program made */
    if (XS_LIKELY(atomic_load_explicit(&xs_collective_functions, memory_order_relaxed) == 0))
        return 0;
    return xs_collective_find(function) ? XS_KEY_COLLECTIVE : 0;
}

static inline uint64_t xs_collective_graph_key(void)
{
    return XS_UNLIKELY(atomic_load_explicit(&xs_collective_graphs, memory_order_relaxed)) ? XS_KEY_COLLECTIVE : 0;
}

static inline void xs_collective_captured(uint64_t key)
{
    if (XS_UNLIKELY(key & XS_KEY_COLLECTIVE))
        atomic_store_explicit(&xs_collective_graphs, 1, memory_order_relaxed); /* as above */
}

#endif
