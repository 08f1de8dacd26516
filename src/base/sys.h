/* SPDX-License-Identifier: Apache-2.0 */
/* open, write, read and close as plain system calls. The C library's are points at which a thread is cancelled; these
 * are reached in threads of the program, with locks of ours held and commands half counted. */
#ifndef XS_SYS_H
#define XS_SYS_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int xs_sys_open(const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline long xs_sys_write(int fd, const void *bytes, size_t size)
{
    return syscall(SYS_write, fd, bytes, size);
}

static inline long xs_sys_read(int fd, void *bytes, size_t size)
{
    return syscall(SYS_read, fd, bytes, size);
}

static inline int xs_sys_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

#endif
