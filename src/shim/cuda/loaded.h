/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for in which context: it is loaded there, and asking again waits for nothing (rows ONCE). Handles come
 * back once something was unloaded or a context ended; then all of it is forgotten. Any thread, without locks. */
#ifndef XS_SHIM_CUDA_LOADED_H
#define XS_SHIM_CUDA_LOADED_H

#include <stdbool.h>
#include <stdint.h>

/** Before the call. @param row  which question. @return 0 without a handle or a context: not known, and not remembered */
uint64_t xs_loaded_mark(uint64_t handle, unsigned row, const void *context);
bool xs_loaded_known(uint64_t mark);
/** After it succeeded. Where there is no room it is not remembered. */
void xs_loaded_remember(uint64_t mark);
/** Before the call that unloads. */
void xs_loaded_forget(void);

#endif
