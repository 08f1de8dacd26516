/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours in somebody else's process: detached, every signal blocked, a small stack. */
#ifndef XS_THREAD_H
#define XS_THREAD_H

/** @return 0 or -errno */
int xs_thread_start(void *(*main)(void *), void *arg);

#endif
