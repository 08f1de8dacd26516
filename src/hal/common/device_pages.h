/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device sees pages of ours: each context gets a mapping of its own of the same memory, registered with it, so
 * that a registration lives exactly as long as its context. */
#ifndef XS_HAL_COMMON_DEVICE_PAGES_H
#define XS_HAL_COMMON_DEVICE_PAGES_H

#include "base/lock.h"
#include "base/xs_base.h"

#define XS_PAGE_BYTES 4096u
#define XS_DEVICE_PAGES      128u        /* that a context can see: marks of 32 queues each, permit words of 64 */

struct xs_device_pages {
    struct xs_lock lock;          /* nothing is called under it */
    size_t count;
    struct {
        uintptr_t page;           /* as libpreempt has it mapped */
        uint64_t serial;          /* of this use of that address */
        uint32_t forks;           /* xs_forks() of the process whose mappings these are */
        void *alias;              /* the same memory, mapped again and registered */
        uint64_t at;              /* where the device sees the alias */
    } of[XS_DEVICE_PAGES];
};

static inline uintptr_t xs_page_of(const void *word)
{
    return (uintptr_t)word & ~(uintptr_t)(XS_PAGE_BYTES - 1);
}

/** The same memory at another address, not inherited by children; munmap gives it back. NULL: refused. */
void *xs_page_alias(uintptr_t page);

/** Where the device sees this word; 0: its page is not known. */
uint64_t xs_device_pages_find(struct xs_device_pages *p, const void *word, uint64_t serial);
/** Keeps a registered alias until xs_device_pages_drop. Two threads may come with one page: both are kept, since giving a
 *  registration back waits for all work of its context, which may wait for the thread.
 *  @param at  0: the device cannot see it after all; it is not found  @return false: there is no room */
bool xs_device_pages_keep(struct xs_device_pages *p, uintptr_t page, uint64_t serial, void *alias, uint64_t at);
/** Nothing more can be kept. */
bool xs_device_pages_full(struct xs_device_pages *p);
/** The registrations ended with their context: forgets and unmaps. A forked child only forgets those of its parent, whose
 *  mappings it did not inherit: it may have others at those addresses.
 *  @param before  with each alias and arg, before it is unmapped; may be NULL */
void xs_device_pages_drop(struct xs_device_pages *p, void (*before)(void *alias, void *arg), void *arg);

#endif
