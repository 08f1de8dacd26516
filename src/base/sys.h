/* SPDX-License-Identifier: Apache-2.0 */
/* open, write, read, close and poll as plain system calls. The C library's functions are cancellation
 * points. These run in threads of the program, with locks of ours taken and commands half counted. Also,
 * libfaketime and its like stretch the C library's sleeps, and ours end by the kernel's clock. */
#ifndef XS_SYS_H
#define XS_SYS_H

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define XS_SYS_SEEN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define XS_SYS_SEEN 1
#endif

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

/** @param timeout_ms  negative: without end */
static inline int xs_sys_poll(struct pollfd *fds, unsigned count, int timeout_ms)
{
#ifdef SYS_poll
    return (int)syscall(SYS_poll, fds, count, timeout_ms);
#else /* newer architectures */
    struct timespec ts = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &ts, NULL, 0);
#endif
}

/** @param timeout  NULL: without end; the kernel changes it */
static inline int xs_sys_ppoll(struct pollfd *fds, unsigned count, struct timespec *timeout)
{
    return (int)syscall(SYS_ppoll, fds, count, timeout, NULL, 0);
}

static inline int xs_sys_close(int fd)
{
#ifdef XS_SYS_SEEN /* for a sanitizer that follows descriptors from open to close */
    return close(fd);
#else
    return (int)syscall(SYS_close, fd);
#endif
}

#endif
