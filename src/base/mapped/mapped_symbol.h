/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a function up in the tables of one mapped object. Calls nothing, so it may run before the C library is up. */
#ifndef XS_MAPPED_SYMBOL_H
#define XS_MAPPED_SYMBOL_H

#include "base/xs_base.h"

#include <link.h>

struct xs_mapped {
    ElfW(Addr) base;
    const ElfW(Dyn) *dyn;
    bool as_in_file;              /* the dynamic linker did not touch it: the kernel's object */
};

/** What an entry of the dynamic section points to. glibc relocates these addresses in place, musl leaves the offsets. */
static inline const void *xs_mapped_at(ElfW(Addr) base, const ElfW(Dyn) *d)
{
    return (const void *)(d->d_un.d_ptr < base ? base + d->d_un.d_ptr : d->d_un.d_ptr);
}

/** Ignores the versions of symbols. @return NULL: the object does not define the name */
void *xs_mapped_symbol(const struct xs_mapped *o, const char *name);

/** The object that the kernel maps into each process (vdso(7)). @return false: there is none */
bool xs_mapped_kernel(struct xs_mapped *ret);

#endif
