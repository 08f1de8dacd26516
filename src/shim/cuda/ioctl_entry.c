/* SPDX-License-Identifier: Apache-2.0 */
/* ioctl(2) as the vendor's library finds it in this process. Each request goes to the next ioctl in line.
 * XSched watches the few that make or free an object of NVIDIA's driver. Everything else costs two
 * compares. */
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
    if (XS_LIKELY(!xs_rm_wants(number)))
        return xs_nvrm_pass(fd, (unsigned long)request, arg, xs_ioctl_next);
    xs_rm_observe_before(fd, number, arg);
    r = xs_nvrm_pass(fd, (unsigned long)request, arg, xs_ioctl_next);
    if (XS_UNLIKELY(xs_rm_observe(fd, number, arg, r)))
        xs_rm_group_made();
    return r;
}
