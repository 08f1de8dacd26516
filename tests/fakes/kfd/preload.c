/* SPDX-License-Identifier: Apache-2.0 */
/* libfakekfd.so: /dev/kfd and /sys/class/kfd for one process, in front of the C library's own functions. */
#include "fake_kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#define NODES "/sys/class/kfd/kfd/topology/nodes/"
#define SHOWN __attribute__((visibility("default")))

static int of_text(const char *text)
{
    int fd = memfd_create("fake-kfd", MFD_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return -1;
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Node 0 is the CPU; the addresses are those of the fake runtime's devices. */
static int topology(const char *rest)
{
    int node = atoi(rest);
    const char *name = strchr(rest, '/');
    char text[512];

    if (!name || node < 0 || node > FAKE_KFD_GPUS) {
        errno = ENOENT;
        return -1;
    }
    if (strcmp(name, "/gpu_id") == 0)
        snprintf(text, sizeof(text), "%u\n", node ? FAKE_KFD_GPU_ID(node - 1) : 0);
    else if (node)
        fake_kfd_properties((uint32_t)(0xc3 + node - 1) << 8, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "cpu_cores_count 2\nvendor_id 4098\nlocation_id 0\ndomain 0\n");
    return of_text(text);
}

static int do_open(const char *path, int flags, int mode)
{
    int fd;

    if (strncmp(path, NODES, strlen(NODES)) == 0)
        return topology(path + strlen(NODES));
    if (strcmp(path, "/dev/kfd") != 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (getenv("FAKE_KFD") && strcmp(getenv("FAKE_KFD"), "closed") == 0) {
        errno = EACCES;
        return -1;
    }
    fd = of_text("");
    fake_kfd_set_fault(getenv("FAKE_KFD") ? getenv("FAKE_KFD") : "");
    fake_kfd_open(fd);
    return fd;
}

SHOWN int open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    return do_open(path, flags, mode);
}

SHOWN int open64(const char *path, int flags, ...);
SHOWN int open64(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
    va_end(ap);
    return do_open(path, flags, mode);
}

SHOWN int access(const char *path, int mode)
{
    if (strcmp(path, "/dev/kfd") != 0)
        return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
    if (!getenv("FAKE_KFD") || strcmp(getenv("FAKE_KFD"), "closed") != 0)
        return 0;
    errno = EACCES;
    return -1;
}

SHOWN int ioctl(int fd, unsigned long request, ...);
SHOWN int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (((request >> 8) & 0xff) == AMDKFD_IOCTL_BASE)
        return fake_kfd_ioctl(fd, request, arg);
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

SHOWN unsigned fake_kfd_speed_of(int gpu);
SHOWN unsigned fake_kfd_speed_of(int gpu)
{
    return fake_kfd_speed(gpu);
}

SHOWN bool fake_kfd_is_off(int gpu);
SHOWN bool fake_kfd_is_off(int gpu)
{
    return fake_kfd_off(gpu);
}
