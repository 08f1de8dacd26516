/* SPDX-License-Identifier: Apache-2.0 */
/* Haste: signals that end waits inside the kernel. Closing a descriptor can wait for as long as its maker likes (a TCP
 * socket with SO_LINGER and data that nobody takes), and it is closed wherever its last reference goes: in close(2), in
 * recvmsg(2) that has no room for it, in the close of a socket with unread messages. The kernel gives such a wait up when
 * a signal comes. */
#ifndef XS_XSERVER_HASTE_H
#define XS_XSERVER_HASTE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Signals for one thread. Zero it before the first use. */
struct xs_haste {
    timer_t timer;
    bool usable; /* else begin() and end() do nothing */
};

/** For the calling thread, which is the only one that may use it. Takes SIGURG for the process (a handler that does
 *  nothing). Without a timer the thread works on, without haste. */
void xs_haste_init(struct xs_haste *h);
/** From now on a signal comes after each period of so many microseconds: a call that waits fails with EINTR. */
void xs_haste_begin(struct xs_haste *h, unsigned period_us);
/** One signal, after so many microseconds, instead of the periodic ones. */
void xs_haste_once(struct xs_haste *h, unsigned delay_us);
void xs_haste_end(struct xs_haste *h);
void xs_haste_fini(struct xs_haste *h);

#endif
