/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/common/device_pages.h"

#include "base/forks.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *xs_page_alias(uintptr_t page)
{
    /* an old size of 0 maps shared memory a second time */
    long alias = syscall(SYS_mremap, page, 0L, (long)XS_PAGE_BYTES, 1L /* MREMAP_MAYMOVE */, 0L);

    if (alias == -1)
        return NULL;
    madvise((void *)alias, XS_PAGE_BYTES, MADV_DONTFORK);
    return (void *)alias;
}

uint64_t xs_device_pages_find(struct xs_device_pages *p, const void *word, uint64_t serial)
{
    uintptr_t page = xs_page_of(word);
    uint32_t forks = xs_forks();
    uint64_t at = 0;

    xs_lock_acquire(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        if (p->of[i].page == page && p->of[i].serial == serial && p->of[i].forks == forks)
            at = p->of[i].at;
    xs_lock_release(&p->lock);
    return at ? at + ((uintptr_t)word - page) : 0;
}

bool xs_device_pages_keep(struct xs_device_pages *p, uintptr_t page, uint64_t serial, void *alias, uint64_t at)
{
    bool kept = false;

    xs_lock_acquire(&p->lock);
    if (p->count < XS_DEVICE_PAGES) {
        p->of[p->count].page = page;
        p->of[p->count].serial = serial;
        p->of[p->count].forks = xs_forks();
        p->of[p->count].alias = alias;
        p->of[p->count++].at = at;
        kept = true;
    }
    xs_lock_release(&p->lock);
    return kept;
}

bool xs_device_pages_full(struct xs_device_pages *p)
{
    bool full;

    xs_lock_acquire(&p->lock);
    full = p->count == XS_DEVICE_PAGES;
    xs_lock_release(&p->lock);
    return full;
}

void xs_device_pages_drop(struct xs_device_pages *p, void (*before)(void *alias, void *arg), void *arg)
{
    void *alias[XS_DEVICE_PAGES];
    uint32_t forks = xs_forks();
    size_t n = 0;

    xs_lock_acquire(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        if (p->of[i].forks == forks)
            alias[n++] = p->of[i].alias;
    p->count = 0;
    xs_lock_release(&p->lock);
    for (size_t i = 0; i < n; i++) {
        if (before)
            before(alias[i], arg);
        munmap(alias[i], XS_PAGE_BYTES);
    }
}
