/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours in another's process: detached, every signal blocked. */
#ifndef XS_THREAD_H
#define XS_THREAD_H

#include <stddef.h>

/** @param stack_bytes  0: the program's default, for threads that run its code
 *  @return 0 or -errno */
int xs_thread_start(void *(*main)(void *), void *arg, size_t stack_bytes);

#endif
