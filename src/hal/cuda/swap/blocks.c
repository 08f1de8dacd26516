/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/cuda/swap/blocks.h"

#include <stdlib.h>
#include <string.h>

#define WASTE 8u                  /* at most one part in so many of a range's addresses */

struct xs_swap_range *xs_swap_range_new(uint64_t at, size_t reserved, int dev)
{
    struct xs_swap_range *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->handles = calloc(xs_swap_blocks(reserved), sizeof(*r->handles));
    if (!r->handles) {
        free(r);
        return NULL;
    }
    r->at = at;
    r->reserved = reserved;
    r->dev = dev;
    r->state = XS_SWAP_BUSY;
    return r;
}

void xs_swap_range_free(struct xs_swap_range *r)
{
    free(r->handles);
    free(r);
}

/* The place of the first range that ends behind this address. */
static unsigned place(const struct xs_swap_table *t, uint64_t at)
{
    unsigned low = 0, high = t->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (t->all[middle]->at + t->all[middle]->reserved <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool xs_swap_table_add(struct xs_swap_table *t, struct xs_swap_range *r)
{
    unsigned at;

    if (t->count == t->room) {
        unsigned room = t->room ? 2 * t->room : 64;
        struct xs_swap_range **all = realloc(t->all, room * sizeof(struct xs_swap_range *));

        if (!all)
            return false;
        t->all = all;
        t->room = room;
    }
    at = place(t, r->at);
    memmove(t->all + at + 1, t->all + at, (t->count - at) * sizeof(struct xs_swap_range *));
    t->all[at] = r;
    t->count++;
    return true;
}

void xs_swap_table_remove(struct xs_swap_table *t, const struct xs_swap_range *r)
{
    unsigned at = place(t, r->at);

    if (at == t->count || t->all[at] != r)
        return;
    t->count--;
    memmove(t->all + at, t->all + at + 1, (t->count - at) * sizeof(struct xs_swap_range *));
}

struct xs_swap_range *xs_swap_table_find(const struct xs_swap_table *t, uint64_t at)
{
    unsigned i = place(t, at);

    return i < t->count && t->all[i]->at <= at ? t->all[i] : NULL;
}

struct xs_swap_range *xs_swap_table_take(struct xs_swap_table *t, size_t bytes, int dev, bool *ret_memory)
{
    struct xs_swap_range *best = NULL;

    for (unsigned i = 0; i < t->count; i++) {
        struct xs_swap_range *r = t->all[i];

        if (r->dev != dev || r->stays)
            continue;
        if (r->state == XS_SWAP_KEPT && r->bytes == bytes) {
            r->state = XS_SWAP_BUSY;
            *ret_memory = true;
            return r;
        }
        if (r->state == XS_SWAP_EMPTY && r->reserved >= bytes && r->reserved - bytes <= r->reserved / WASTE &&
            (!best || r->reserved < best->reserved))
            best = r;
    }
    if (!best)
        return NULL;
    best->state = XS_SWAP_BUSY;
    *ret_memory = false;
    return best;
}

struct xs_swap_range *xs_swap_table_next(const struct xs_swap_table *t, unsigned states, unsigned *from)
{
    while (*from < t->count) {
        struct xs_swap_range *r = t->all[(*from)++];

        if (states & 1u << r->state)
            return r;
    }
    return NULL;
}

size_t xs_swap_table_bytes(const struct xs_swap_table *t, unsigned states, int dev)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < t->count; i++)
        if (states & 1u << t->all[i]->state && (dev < 0 || t->all[i]->dev == dev))
            bytes += t->all[i]->bytes;
    return bytes;
}
