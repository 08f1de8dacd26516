/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a platform in somebody else's process: detached, every signal blocked. */
#ifndef XS_HAL_WORKER_H
#define XS_HAL_WORKER_H

/** @return 0, or an error number: a limit of processes */
int xs_worker_start(void *(*main)(void *), void *arg);

#endif
