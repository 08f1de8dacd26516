/* SPDX-License-Identifier: Apache-2.0 */
/* While programs compete, and for spin_us after that, the loop does not sleep: it looks at the doorbells of the programs that
 * rang lately. Main loop's thread. */
#ifndef XS_XSERVER_SPIN_H
#define XS_XSERVER_SPIN_H

#include "base/xs_base.h"

#define XS_HOT_CLIENTS 64u

struct xs_server;
struct xs_client;
struct epoll_event;

struct xs_spin {
    struct xs_client *hot[XS_HOT_CLIENTS]; /* those that rang lately */
    unsigned n_hot;
    uint64_t budget_ns, refill_ns; /* of CPU time (spin-cpu) */
    uint64_t contended_ns;         /* when it last saw programs compete */
};

/** Each look lasts for spin_us after the last change, within the budget of CPU time, and as long as prewake expects a program
 *  (prewake.h). Then says that it sleeps, and looks once more.
 *  @param next  decide again then at the latest
 *  @param ev  room for so many ready descriptors, found meanwhile
 *  @return the same time, as of now */
uint64_t xs_spin(struct xs_server *s, uint64_t next, struct epoll_event *ev, int most, int *ret_n);
/** Looks at those doorbells once. @return whether any brought something new */
bool xs_spin_hear(struct xs_server *s);
/** The program rang, or may soon. */
void xs_spin_heat(struct xs_server *s, struct xs_client *c);
/** The program goes. */
void xs_spin_forget(struct xs_server *s, struct xs_client *c);

#endif
