/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end waits inside the kernel. Closing a descriptor can wait for as long as its
 * maker likes (a TCP socket with SO_LINGER and data that its peer does not read). The last reference
 * may go anywhere: in close(2), in recvmsg(2) that has no place for it, in the close of a socket with
 * unread messages. When a signal comes, the kernel ends such a wait. */
#ifndef XS_HOST_INTERRUPT_TIMER_H
#define XS_HOST_INTERRUPT_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Signals for one thread. Zero it before the first use. */
struct xs_interrupt_timer {
    timer_t timer;
    bool usable; /* else begin() and end() do nothing */
};

/** For the calling thread; no other thread may use it. Takes SIGURG for the process (a handler that
 *  does nothing). Without a timer the thread works on, without them. */
void xs_interrupt_timer_init(struct xs_interrupt_timer *h);
/** From now on a signal comes after each period of so many microseconds: a call that waits fails with EINTR. */
void xs_interrupt_timer_begin(struct xs_interrupt_timer *h, unsigned period_us);
/** One signal, after so many microseconds, instead of the periodic ones. */
void xs_interrupt_timer_once(struct xs_interrupt_timer *h, unsigned delay_us);
void xs_interrupt_timer_end(struct xs_interrupt_timer *h);
void xs_interrupt_timer_fini(struct xs_interrupt_timer *h);

#endif
