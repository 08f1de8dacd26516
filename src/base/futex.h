/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a 32-bit word. Words may be shared between processes. */
#ifndef XS_FUTEX_H
#define XS_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/** Sleeps while *word == expected, at most timeout_ns (UINT64_MAX: no limit).
 *  @return 0 woken (or spuriously), -EAGAIN the word differed, -ETIMEDOUT, -EINTR */
int xs_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/** Sleeps for so long, or a little less if a signal comes. */
void xs_futex_pause(uint64_t ns);

/** Wakes up to count sleepers. @return how many it woke */
int xs_futex_wake(_Atomic uint32_t *word, int count);

/** The half of a 64-bit word that futexes can sleep on: the low one. */
static inline _Atomic uint32_t *xs_futex_low(_Atomic uint64_t *word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (_Atomic uint32_t *)(void *)word;
#else
    return (_Atomic uint32_t *)(void *)word + 1;
#endif
}

#endif
