/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: always CLOEXEC, never 0..2 (those belong to the program). */
#ifndef XS_FD_H
#define XS_FD_H

#include <stddef.h>
#include <stdint.h>

/** Moves fd above 2 if it is not; closes the old one. @return the new one or -errno */
int xs_fd_raise(int fd);
/** Moves fd far up, out of the way of programs that close or reuse low numbers. Where the limit does
 *  not allow that, the number stays. @return the new one; a negative fd unchanged */
int xs_fd_high(int fd);
void xs_fd_close(int *fd);
/** Makes a zeroed memory file of exactly size bytes, with seals against shrinking, growing and further
 *  seals. @return fd or -errno; -EFBIG where the process may make no file of that size (RLIMIT_FSIZE) */
int xs_fd_memfd(const char *name, size_t size);
/** Maps size bytes of a memory file that another process made. First checks for the seal against
 *  shrinking and for exactly this size, so that reading cannot fault.
 *  @param writable  map read and write, else read only
 *  @return 0 or -errno; -EPERM without the seal, -EMSGSIZE on another size */
int xs_fd_map_sealed(int fd, size_t size, int writable, void **ret_map);
/** @return eventfd or -errno */
int xs_fd_eventfd(void);
/** Adds one to an eventfd; never blocks. */
void xs_fd_eventfd_signal(int fd);
/** Empties an eventfd; never blocks. */
void xs_fd_eventfd_drain(int fd);

#endif
