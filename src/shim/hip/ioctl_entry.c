/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl(2) as ROCr finds it in this process. The requests to AMD's compute driver that ask its version and make, change, mask
 * or end a queue go through hal/hip/kfd; all requests end at the next ioctl in line. */
#include "hal/hip/kfd/kfd.h"
#include "shim/common/ioctl_next.h"

#include <stdarg.h>

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...);

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...)
{
    /* the kernel takes 32 bits; musl's callers pass an int, whose sign must not spread */
    unsigned long number = (unsigned long)(unsigned)request;
    va_list ap;
    void *arg;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (XS_UNLIKELY(xs_kfd_wants(number))) {
        xs_kfd_set_ioctl(xs_ioctl_next);
        return xs_kfd_call(fd, number, arg);
    }
    return xs_ioctl_next(fd, (unsigned long)request, arg);
}
