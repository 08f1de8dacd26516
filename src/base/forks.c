/* SPDX-License-Identifier: Apache-2.0 */
#include "base/forks.h"

#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static _Atomic uint32_t g_none;
_Atomic(_Atomic uint32_t *) xs_forks_word = &g_none;
static _Atomic uint32_t g_last;   /* a child goes on where its parent was */
static _Atomic uint32_t g_stays;  /* where the kernel wipes no page */

/* Gives all callers the same word, for good: a taken lock contains the number in it. */
static _Atomic uint32_t *word_get(void)
{
    _Atomic uint32_t *word = atomic_load(&xs_forks_word), *other = &g_none;
    void *page;

    if (word != &g_none)
        return word;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, 4096, MADV_WIPEONFORK) == 0)
        word = page;
    else
        word = &g_stays;
    if (atomic_compare_exchange_strong(&xs_forks_word, &other, word))
        other = word;
    if (page != MAP_FAILED && other != page)
        munmap(page, 4096);
    return other;
}

uint32_t xs_forks_begin(void)
{
    _Atomic uint32_t *word = word_get();
    uint32_t number = 0, next = atomic_fetch_add(&g_last, 4) + 4;

    if (!next)
        next = atomic_fetch_add(&g_last, 4) + 4;
    return atomic_compare_exchange_strong(word, &number, next) ? next : number;
}
