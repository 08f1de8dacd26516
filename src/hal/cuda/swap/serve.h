/* SPDX-License-Identifier: Apache-2.0 */
/* What serve.c and move.c share: the table of ranges, and memory for a range. */
#ifndef XS_HAL_CUDA_SWAP_SERVE_H
#define XS_HAL_CUDA_SWAP_SERVE_H

#include "base/lock.h"
#include "hal/cuda/hal.h"
#include "hal/cuda/swap/blocks.h"
#include "hal/cuda/swap/swap.h"

#define XS_SWAP_DEVICES  32
#define XS_SWAP_CONTEXTS 64

struct xs_swap {
    const struct xs_cuda_api *api;
    struct xs_lock *lock;         /* of the table; while memory moves (XS_SWAP_FREES_WAIT), the table is the mover's */
    struct xs_swap_table table;
    uint64_t allocations;         /* and contexts, so far; under the lock */
    uint64_t movable;             /* bytes of ranges in use that may move; likewise */
    struct xs_swap_context {
        CUcontext ctx;            /* NULL: no context */
        CUdevice primary_of;      /* -1: of none */
        uint64_t number;          /* as of allocations: of this use of the handle */
    } contexts[XS_SWAP_CONTEXTS]; /* that the program has; under the lock */
    bool more_contexts;           /* than these: nothing moves */
    uint32_t users[XS_SWAP_DEVICES];            /* bits: the devices that may use one's memory; under the lock */
    bool rdma[XS_SWAP_DEVICES], asked[XS_SWAP_DEVICES];  /* the device can do that with mapped memory; likewise */
    _Atomic uint64_t others[XS_SWAP_OTHERS];
};
/** Whether the shim serves memory. */
bool xs_swap_is_on(void);
/** Only then. */
struct xs_swap *xs_swap_get(void);

/** For people. */
const char *xs_swap_other_text(enum xs_swap_other what);
/** Memory of a device, by a handle. */
CUresult xs_swap_create(struct xs_swap *s, int dev, size_t bytes, uint64_t *ret);
/** Does nothing for 0. */
void xs_swap_release(struct xs_swap *s, uint64_t handle);
/** n blocks of a range from the first one on, with access to them; all of them, or none. */
CUresult xs_swap_map(struct xs_swap *s, const struct xs_swap_range *r, unsigned first, unsigned n, const uint64_t *handles);
/** One block of a range. */
CUresult xs_swap_unmap(struct xs_swap *s, const struct xs_swap_range *r, unsigned block);
/** Unmaps and releases all that it has. A block that the driver refuses to unmap keeps its memory, and so does the range.
 *  @return whether the range has no memory any more */
bool xs_swap_drop(struct xs_swap *s, struct xs_swap_range *r);
/** steer.c: xserver moves the program's memory from now on. Once or more. */
void xs_swap_steer_begin(void);
/** A thread waits for memory that is out, or moves. */
void xs_swap_steer_waits(void);
/** Waits for all work of a context. */
CUresult xs_swap_drain(struct xs_swap *s, void *ctx);

#endif
