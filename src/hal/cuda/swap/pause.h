/* SPDX-License-Identifier: Apache-2.0 */
/* The program's calls wait while its memory is out. */
#ifndef XS_HAL_CUDA_SWAP_PAUSE_H
#define XS_HAL_CUDA_SWAP_PAUSE_H

#include "hal/cuda/swap/swap.h"

/** Once, before the first call.
 *  @param on_wait  called by each thread that begins to wait; NULL: none */
void xs_swap_pause_init(void (*on_wait)(void));
/** Whether this process was forked from one that swaps. */
bool xs_swap_pause_is_child(void);
/** From now on calls wait from this state on. Those that have begun go on. Owner: one thread, the mover. */
void xs_swap_pause_set(uint32_t state);
/** Until no thread is in such a call.
 *  @return false: the time came first, or a thread has no slot */
bool xs_swap_pause_wait(uint64_t until_ns);

#endif
