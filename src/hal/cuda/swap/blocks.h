/* SPDX-License-Identifier: Apache-2.0 */
/* Served memory, as far as bookkeeping goes: which addresses, whose, and where their bytes are. Nothing here calls the
 * driver or takes a lock; the caller holds the lock of the table.
 *
 * A range is one reservation of addresses. It lives as long as the process, with or without memory, and serves one
 * allocation after another. Its memory is in blocks, one handle each: one block up to 64 MiB, blocks of 64 MiB
 * beyond. */
#ifndef XS_HAL_CUDA_SWAP_BLOCKS_H
#define XS_HAL_CUDA_SWAP_BLOCKS_H

#include "base/xs_base.h"

#define XS_SWAP_LEAST ((size_t)2 << 20)    /* what a range's size is a multiple of; smaller allocations are the driver's */
#define XS_SWAP_BLOCK ((size_t)64 << 20)

enum xs_swap_state {
    XS_SWAP_EMPTY,                /* addresses alone, for the next allocation that fits */
    XS_SWAP_KEPT,                 /* addresses and memory, likewise */
    XS_SWAP_BUSY,                 /* one thread works on it, without the lock */
    XS_SWAP_USED,                 /* the program's */
    XS_SWAP_OUT,                  /* the program's; its bytes are in the store */
    XS_SWAP_FREED,                /* the program freed it, and its work may still use it */
};

struct xs_swap_range {
    uint64_t at;
    size_t reserved;              /* bytes of addresses */
    size_t bytes;                 /* that have memory, if any; the program asked for `wanted` */
    size_t wanted;
    int dev;
    void *owner;                  /* the context with whose end it ends */
    uint64_t number;              /* of the allocation; they count up */
    enum xs_swap_state state;
    bool stays;                   /* someone outside knows the memory: it does not move */
    uint64_t *handles;            /* of its blocks; 0: none */
    uint64_t store_at;            /* while OUT */
};

struct xs_swap_table {
    struct xs_swap_range **all;   /* by address */
    unsigned count, room;
};

/** @return a multiple of XS_SWAP_LEAST; 0: there is none so large */
static inline size_t xs_swap_round(size_t bytes)
{
    return bytes > SIZE_MAX - XS_SWAP_LEAST ? 0 : (bytes + XS_SWAP_LEAST - 1) & ~(XS_SWAP_LEAST - 1);
}

static inline unsigned xs_swap_blocks(size_t bytes)
{
    return (unsigned)((bytes + XS_SWAP_BLOCK - 1) / XS_SWAP_BLOCK);
}

/** The bytes of a range's block. */
static inline size_t xs_swap_block_bytes(const struct xs_swap_range *r, unsigned block)
{
    size_t from = block * XS_SWAP_BLOCK;

    return XS_MIN(r->bytes - from, XS_SWAP_BLOCK);
}

/** @return BUSY and without memory, not in a table; NULL: no memory */
struct xs_swap_range *xs_swap_range_new(uint64_t at, size_t reserved, int dev);
void xs_swap_range_free(struct xs_swap_range *r);

/** @return false: no memory */
bool xs_swap_table_add(struct xs_swap_table *t, struct xs_swap_range *r);
void xs_swap_table_remove(struct xs_swap_table *t, const struct xs_swap_range *r);
/** The range that has this address, whatever its state; NULL: none. */
struct xs_swap_range *xs_swap_table_find(const struct xs_swap_table *t, uint64_t at);
/** For an allocation of so many bytes (a multiple of XS_SWAP_LEAST): BUSY from now on. A range with memory of exactly
 *  this size comes first, then addresses that waste at most one part in eight.
 *  @return NULL: none. *ret_memory: its memory is there */
struct xs_swap_range *xs_swap_table_take(struct xs_swap_table *t, size_t bytes, int dev, bool *ret_memory);
/** A range in one of these states (bits 1 << state), at or behind *from, which moves on; NULL: no more. */
struct xs_swap_range *xs_swap_table_next(const struct xs_swap_table *t, unsigned states, unsigned *from);
/** The bytes of ranges in these states, of one device or of all (-1). */
size_t xs_swap_table_bytes(const struct xs_swap_table *t, unsigned states, int dev);

#endif
