/* SPDX-License-Identifier: Apache-2.0 */
/* Our ioctl may be one of several in a process: other shims of ours, a profiler, a sanitizer, an emulator of
 * the device. Each request goes on to the next in line, as if ours were not there; the C library's is the
 * last. */
#ifndef XS_SHIM_IOCTL_NEXT_H
#define XS_SHIM_IOCTL_NEXT_H

#include "hal/common/next_symbol.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__)
typedef unsigned long xs_ioctl_request_t;
#else
typedef int xs_ioctl_request_t;   /* musl */
#endif

/** As ioctl(2). Any thread, also before the initialisation of this object and while constructors run. */
static inline int xs_ioctl_next(int fd, unsigned long request, void *arg)
{
    static _Atomic(void *) next;  /* any thread's answer is the same */
    void *found = atomic_load_explicit(&next, memory_order_acquire); /* pairs with the store */
    int (*fn)(int, xs_ioctl_request_t, ...) = NULL;

    if (XS_UNLIKELY(!found)) {
        found = xs_symbol_next("ioctl");
        atomic_store_explicit(&next, found, memory_order_release);
    }
    memcpy(&fn, &found, sizeof(fn));
    /* none: this object is behind the C library, so only callers that look its ioctl up here reach it */
    return fn ? fn(fd, (xs_ioctl_request_t)request, arg) : (int)syscall(SYS_ioctl, fd, request, arg);
}

#endif
