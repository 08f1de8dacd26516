/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of one context between the device and the store. For the mover's thread. */
#ifndef XS_SWAP_COPY_H
#define XS_SWAP_COPY_H

#include "hal/cuda/swap/serve.h"

struct xs_swap_way {
    struct xs_swap *s;
    CUcontext ctx;
    CUstream stream;
    struct xs_cuda_entered entered;
};

/** The context is the thread's current one until it is closed. */
CUresult xs_swap_way_open(struct xs_swap_way *w, struct xs_swap *s, CUcontext ctx);
void xs_swap_way_close(struct xs_swap_way *w);
/** Puts the copy of one block into the stream. */
CUresult xs_swap_copy(struct xs_swap_way *w, const struct xs_swap_range *r, unsigned block, bool out);

/** @return error */
int xs_swap_failed(struct xs_swap_report *r, int error, const char *why);

/** come_in.c: all that is out comes in, or nothing changes.
 *  @param room_ns  others leave the device: wait so long for the next piece of memory that is not there; 0: nobody does
 *  @return 0 or -errno, as in the report */
int xs_swap_come_in(struct xs_swap *s, uint64_t room_ns, struct xs_swap_report *report);

#endif
