/* SPDX-License-Identifier: Apache-2.0 */
/* A second mapping of one page of shared memory, for a registration that ends by itself. */
#ifndef XS_HAL_ALIAS_H
#define XS_HAL_ALIAS_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XS_PAGE_BYTES 4096u

/** The same memory at another address, not inherited by children; munmap gives it back. NULL: refused. */
static inline void *xs_page_alias(uintptr_t page)
{
    /* an old size of 0 maps shared memory a second time */
    long alias = syscall(SYS_mremap, page, 0L, (long)XS_PAGE_BYTES, 1L /* MREMAP_MAYMOVE */, 0L);

    if (alias == -1)
        return NULL;
    madvise((void *)alias, XS_PAGE_BYTES, 10 /* MADV_DONTFORK */);
    return (void *)alias;
}

#endif
