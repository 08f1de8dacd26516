/* SPDX-License-Identifier: Apache-2.0 */
/* Several of our shims export ioctl, and only the first is called: a request that is another's business goes to the
 * next, which is a shim of ours, another preloaded object, or the C library. */
#ifndef XS_SHIM_IOCTL_NEXT_H
#define XS_SHIM_IOCTL_NEXT_H

#include "base/xs_base.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__)
typedef unsigned long xs_ioctl_request_t;
#else
typedef int xs_ioctl_request_t;   /* musl */
#endif

/** Looked up once, by a thread of the program: rarely, and never on the way of a submit. */
static inline int xs_ioctl_next(int fd, unsigned long request, void *arg)
{
    static _Atomic(void *) next;  /* any thread's answer is the same */
    void *found = atomic_load(&next);
    int (*fn)(int, xs_ioctl_request_t, ...) = NULL;

    if (!found) {
        found = dlsym(RTLD_NEXT, "ioctl");
        atomic_store(&next, found);
    }
    memcpy(&fn, &found, sizeof(fn));
    return fn ? fn(fd, (xs_ioctl_request_t)request, arg) : (int)syscall(SYS_ioctl, fd, request, arg);
}

#endif
