/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's own functions, past every shim: the dlsym that programs find is ours, and gives ours. */
#ifndef XS_TEST_PAST_H
#define XS_TEST_PAST_H

#include <dlfcn.h>
#include <string.h>

/** dlsym as the C library has it. */
static inline void *past_dlsym(void *lib, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static void *(*real)(void *, const char *);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), *libdl = dlopen("libdl.so.2", RTLD_NOW), *p = NULL;

    for (size_t i = 0; !real && !p && i < sizeof(versions) / sizeof(versions[0]); i++) {
        p = dlvsym(libc, "dlsym", versions[i]);
        p = p || !libdl ? p : dlvsym(libdl, "dlsym", versions[i]);
    }
    if (p)
        memcpy(&real, &p, sizeof(p));
    return real(lib, name);
}

#endif
