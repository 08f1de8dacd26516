/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded behind us: descriptor 1000 is NVIDIA's driver, which says yes to everything. */
#include <dlfcn.h>
#include <linux/stat.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#define DRIVER 1000

__attribute__((visibility("default"))) long syscall(long number, ...);

long syscall(long number, ...)
{
    long (*real)(long, ...), a[6];
    void *next = dlsym(RTLD_NEXT, "syscall");
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_statx && (int)a[0] == DRIVER) {
        struct statx *st = (struct statx *)a[4];

        memset(st, 0, sizeof(*st));
        st->stx_mode = 0020666;
        st->stx_rdev_major = 195;
        st->stx_rdev_minor = 255;
        return 0;
    }
    memcpy(&real, &next, sizeof(real));
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...);

int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    return fd == DRIVER ? 0 : (int)syscall(SYS_ioctl, fd, request, arg);
}
