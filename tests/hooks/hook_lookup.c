/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody else's preload, as an overlay or a GPU-sharing shim: it has each function that our shims have, finds the next
 * one by dlvsym and goes on there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>

#define HOOK __attribute__((visibility("default")))

int hooked_lookups;

static void *next(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.3.4", "GLIBC_2.17"};
    void *p = NULL;

    for (size_t i = 0; !p && i < sizeof(versions) / sizeof(versions[0]); i++)
        p = dlvsym(RTLD_NEXT, name, versions[i]);
    return p;
}

HOOK void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);

    if (!real)
        real = (void *(*)(void *, const char *))next("dlsym");
    hooked_lookups++;
    return real(handle, name);
}

#ifdef HOOK_ALL
HOOK void *dlopen(const char *file, int mode)
{
    static void *(*real)(const char *, int);

    if (!real)
        real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return real(file, mode);
}

HOOK void *dlmopen(Lmid_t where, const char *file, int mode)
{
    static void *(*real)(Lmid_t, const char *, int);

    if (!real)
        real = (void *(*)(Lmid_t, const char *, int))dlsym(RTLD_NEXT, "dlmopen");
    return real(where, file, mode);
}

HOOK int ioctl(int fd, unsigned long request, ...)
{
    static int (*real)(int, unsigned long, ...);
    va_list ap;
    void *arg;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (!real)
        real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return real(fd, request, arg);
}
#endif
