/* SPDX-License-Identifier: Apache-2.0 */
/* The queries of the program in each context: after one the code is loaded there, and the next one waits for
 * nothing (rows ONCE). After the program unloads code or ends a context, the driver may give its handles
 * again; so the table forgets everything then. Any thread, without locks. */
#ifndef XS_SHIM_CUDA_LOADED_H
#define XS_SHIM_CUDA_LOADED_H

#include <stdbool.h>
#include <stdint.h>

/** Before the call. @param row  of the query. @return 0 without a handle or a context: unknown, not to
 *  remember */
uint64_t xs_loaded_mark(uint64_t handle, unsigned row, const void *context);
bool xs_loaded_known(uint64_t mark);
/** After its success. A full table does not remember it. */
void xs_loaded_remember(uint64_t mark);
/** Before the call that unloads. */
void xs_loaded_forget(void);

#endif
