/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl(2) as the vendor's library finds it in this process: passed on by a plain system call, and
 * watched when it is one of the few that make or free an object of NVIDIA's driver. Everything
 * else costs two compares. libc's own function does the same system call and sets errno, so what
 * is not called through the symbol loses nothing. */
#include "hal/cuda/rm/rm.h"
#include "shim/common/ioctl_next.h"

#include <stdarg.h>

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...);

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...)
{
    /* the kernel takes 32 bits; musl's callers pass an int, whose sign must not spread */
    unsigned long number = (unsigned long)(unsigned)request;
    va_list ap;
    void *arg;
    int r;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (XS_UNLIKELY(((number >> 8) & 0xff) == 'K')) /* AMD's driver: another shim may stand behind this one */
        return xs_ioctl_next(fd, number, arg);
    if (XS_LIKELY(!xs_rm_wants(number)))
        return xs_nvrm_ioctl(fd, (unsigned long)request, arg);
    xs_rm_observe_before(fd, number, arg);
    r = xs_nvrm_ioctl(fd, (unsigned long)request, arg);
    if (XS_UNLIKELY(xs_rm_observe(fd, number, arg, r)))
        xs_rm_group_made();
    return r;
}
