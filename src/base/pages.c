/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include "base/xs_base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEAD        16u            /* bytes before each block: its class */
#define SMALLEST    5u             /* log2 of the smallest block, head included */
#define CHUNK_BYTES (64u * 1024u)

struct block {
    size_t class;
    struct block *next;           /* while free; else the user's first bytes lie behind the head */
};
_Static_assert(sizeof(struct block) == HEAD && (1u << SMALLEST) >= 2 * HEAD, "a free block holds its link");

static size_t class_of(size_t bytes)
{
    size_t c = 0;

    while (c < XS_PAGES_CLASSES && ((size_t)1 << (c + SMALLEST)) - HEAD < bytes)
        c++;
    return c;
}

static char *from_kernel(size_t bytes)
{
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return m == MAP_FAILED ? NULL : m;
}

static struct block *fresh(struct xs_pages *p, size_t bytes)
{
    char *at;

    if (bytes >= CHUNK_BYTES)
        return (void *)from_kernel(bytes);
    if (p->left < bytes) {        /* this gives up the rest of the old one: less than one block of
                                     this size */
        at = from_kernel(CHUNK_BYTES);
        if (!at)
            return NULL;
        p->at = at;
        p->left = CHUNK_BYTES;
    }
    at = p->at;
    p->at += bytes;
    p->left -= bytes;
    return (void *)at;
}

void *xs_pages_alloc(struct xs_pages *p, size_t bytes)
{
    size_t class = class_of(bytes);
    struct block *b;

    if (!p)
        return calloc(1, bytes);
    if (class >= XS_PAGES_CLASSES)
        return NULL;
    b = p->free[class];
    if (b) {
        p->free[class] = b->next;
        memset((char *)b + HEAD, 0, bytes);
    } else {
        b = fresh(p, (size_t)1 << (class + SMALLEST));
    }
    if (!b)
        return NULL;
    b->class = class;
    return (char *)b + HEAD;
}

void *xs_pages_grow(struct xs_pages *p, void *block, size_t old_bytes, size_t bytes)
{
    void *next = xs_pages_alloc(p, bytes);

    if (next && block) {
        memcpy(next, block, XS_MIN(old_bytes, bytes));
        xs_pages_free(p, block);
    }
    return next;
}

void xs_pages_free(struct xs_pages *p, void *block)
{
    struct block *b;

    if (!p) {
        free(block);
        return;
    }
    if (!block)
        return;
    b = (struct block *)(void *)((char *)block - HEAD);
    b->next = p->free[b->class];
    p->free[b->class] = b;
}
