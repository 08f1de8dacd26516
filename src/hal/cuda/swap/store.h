/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory for the bytes that are out: private pages of this process, in pieces, which the kernel frees with the
 * process. Pieces stay for the next time. The mover's alone, but for xs_swap_store_context_gone. */
#ifndef XS_HAL_CUDA_SWAP_STORE_H
#define XS_HAL_CUDA_SWAP_STORE_H

#include "hal/cuda/hal.h"

#define XS_SWAP_PIECE ((size_t)64 << 20)

/** Makes so many bytes of host memory, and touches them by several threads. Calls no driver.
 *  @return 0; -ENOMEM: the host, or the process's cgroup, has not so much */
int xs_swap_store_prepare(size_t bytes);
/** Where the byte with this number is, and how many follow it there. Prepared before. With the context current, the
 *  piece is pinned there, as far as the driver does that. */
char *xs_swap_store_at(const struct xs_cuda_api *api, CUcontext ctx, size_t offset, size_t *ret_bytes);
/** The context is gone, and what was pinned in it is no longer. */
void xs_swap_store_context_gone(CUcontext ctx);
/** Host memory that a process may still have, by the kernel's files; SIZE_MAX: they do not say. */
size_t xs_swap_store_room(void);
/** The same from their texts; NULL: there is none. */
size_t xs_swap_store_room_of(const char *meminfo, const char *limit, const char *used);

#endif
