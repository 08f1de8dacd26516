/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one thread that must not use the C library's heap. The program may have a heap of its own
 * instead, and keep its locks for as long as it likes. Pages come from the kernel and stay. */
#ifndef XS_PAGES_H
#define XS_PAGES_H

#include <stddef.h>

#define XS_PAGES_CLASSES 16u

/** Zero-filled: empty. Owner: one thread at a time. */
struct xs_pages {
    void *free[XS_PAGES_CLASSES]; /* freed blocks, by size */
    char *at;                     /* rest of the newest chunk */
    size_t left;
};

/** Zeroed, aligned to 16 bytes. With p NULL from the C library's heap. @return NULL when there is none */
void *xs_pages_alloc(struct xs_pages *p, size_t bytes);
/** Copies the first `old_bytes`; the rest is zero. block may be NULL. @return NULL: the block is as it was */
void *xs_pages_grow(struct xs_pages *p, void *block, size_t old_bytes, size_t bytes);
/** p is the one that the block came from. */
void xs_pages_free(struct xs_pages *p, void *block);

#endif
