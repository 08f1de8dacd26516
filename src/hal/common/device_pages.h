/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device sees pages of ours. Each context gets a mapping of its own of the same memory and registers
 * it, so that a registration lives exactly as long as its context. */
#ifndef XS_HAL_COMMON_DEVICE_PAGES_H
#define XS_HAL_COMMON_DEVICE_PAGES_H

#include "base/lock.h"
#include "base/xs_base.h"

#define XS_PAGE_BYTES 4096u
#define XS_DEVICE_PAGES      128u        /* that a context can see: marks of 32 queues each, permit words of 64 */

struct xs_device_pages {
    /* Lock 7: the table of pages that a device sees. */
    struct xs_lock lock;
    size_t count;
    struct {
        uintptr_t page;           /* libpreempt's mapping */
        uint64_t serial;          /* of this use of that address */
        uint32_t forks;           /* xs_forks() of the process that has these mappings */
        void *alias;              /* the same memory, mapped and registered a second time */
        uint64_t at;              /* where the device sees the alias */
    } of[XS_DEVICE_PAGES];
};

static inline uintptr_t xs_page_of(const void *word)
{
    return (uintptr_t)word & ~(uintptr_t)(XS_PAGE_BYTES - 1);
}

/** The same memory at another address, which children do not inherit; munmap gives it back. NULL: the kernel
 *  refused. */
void *xs_page_alias(uintptr_t page);

/** Where the device sees this word; 0: its page is unknown. */
uint64_t xs_device_pages_find(struct xs_device_pages *p, const void *word, uint64_t serial);
/** Keeps a registered alias until xs_device_pages_drop. Two threads may come with one page. Keeps both:
 *  giving a registration back waits for all work of its context, which may wait for the thread.
 *  @param at  0: the device cannot see it after all; xs_device_pages_find does not find it  @return false:
 *  the table is full */
bool xs_device_pages_keep(struct xs_device_pages *p, uintptr_t page, uint64_t serial, void *alias, uint64_t at);
/** The table is full. */
bool xs_device_pages_full(struct xs_device_pages *p);
/** The registrations ended with their context: forgets and unmaps them. A forked child only forgets those of
 *  its parent: it did not inherit the mappings, and may have others at those addresses.
 *  @param before  called with each alias and arg before the unmapping; may be NULL */
void xs_device_pages_drop(struct xs_device_pages *p, void (*before)(void *alias, void *arg), void *arg);

#endif
