/* SPDX-License-Identifier: Apache-2.0 */
/* Haste: signals that end waits inside the kernel. Closing a descriptor can wait for as long as its
 * maker likes (a TCP socket with SO_LINGER and data that its peer does not read). The last reference
 * may go anywhere: in close(2), in recvmsg(2) that has no place for it, in the close of a socket with
 * unread messages. When a signal comes, the kernel ends such a wait. */
#ifndef XS_HOST_HASTE_H
#define XS_HOST_HASTE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Signals for one thread. Zero it before the first use. */
struct xs_haste {
    timer_t timer;
    bool usable; /* else begin() and end() do nothing */
};

/** For the calling thread; no other thread may use it. Takes SIGURG for the process (a handler that
 *  does nothing). Without a timer the thread works on, without haste. */
void xs_haste_init(struct xs_haste *h);
/** From now on a signal comes after each period of so many microseconds: a call that waits fails with EINTR. */
void xs_haste_begin(struct xs_haste *h, unsigned period_us);
/** One signal, after so many microseconds, instead of the periodic ones. */
void xs_haste_once(struct xs_haste *h, unsigned delay_us);
void xs_haste_end(struct xs_haste *h);
void xs_haste_fini(struct xs_haste *h);

#endif
