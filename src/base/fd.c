/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#endif
#ifndef F_SEAL_SEAL
#define F_SEAL_SEAL   0x1
#define F_SEAL_SHRINK 0x2
#define F_SEAL_GROW   0x4
#endif

int xs_fd_raise(int fd)
{
    int high;

    if (fd < 0 || fd > 2)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (high < 0)
        high = -errno;
    xs_sys_close(fd);
    return high;
}

int xs_fd_high(int fd)
{
    int high, saved = errno;

    if (fd < 0)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, 900);
    if (high < 0)
        high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
    errno = saved;
    if (high < 0)
        return fd;
    xs_sys_close(fd);
    return high;
}

void xs_fd_close(int *fd)
{
    if (*fd >= 0)
        xs_sys_close(*fd);
    *fd = -1;
}

/* The kernel counts a memory file as a file. Beyond this limit ftruncate would send SIGXFSZ, which ends a program. */
static bool is_within_limit(size_t size)
{
    struct { uint64_t soft, hard; } limit;

    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0 || size <= limit.soft;
}

int xs_fd_memfd(const char *name, size_t size)
{
    int fd = is_within_limit(size) ? 0 : -EFBIG;

    if (fd < 0)
        return fd;
    fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    fd = xs_fd_raise(fd);
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int r = -errno;

        xs_sys_close(fd);
        return r;
    }
    return fd;
}

int xs_fd_map_sealed(int fd, size_t size, int writable, void **ret_map)
{
    int seals = fcntl(fd, F_GET_SEALS);
    off_t end;
    void *map;

    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return -EPERM;
    end = lseek(fd, 0, SEEK_END); /* fstat has another symbol on each C library */
    if (end < 0)
        return -errno;
    if ((uint64_t)end != size)
        return -EMSGSIZE;
    map = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    *ret_map = map;
    return 0;
}

int xs_fd_eventfd(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    return fd < 0 ? -errno : xs_fd_raise(fd);
}

void xs_fd_eventfd_signal(int fd)
{
    uint64_t one = 1;
    int saved = errno;
    long r = xs_sys_write(fd, &one, sizeof(one));

    (void)r; /* EAGAIN: it has a signal already */
    errno = saved;
}

void xs_fd_eventfd_drain(int fd)
{
    uint64_t count;
    int saved = errno;
    long r = xs_sys_read(fd, &count, sizeof(count));

    (void)r;
    errno = saved;
}
