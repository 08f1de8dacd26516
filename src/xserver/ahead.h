/* SPDX-License-Identifier: Apache-2.0 */
/* A sleeping thread takes 20 to 300 us to wake up, which an urgent program waits for where nothing but a closed word makes
 * room for it. So the loop is awake, within the CPU time it may look for (spin-cpu), when a program is likely to come that others
 * were held for the last time, and that comes regularly. Not where those others had short slices at level 3 already when they
 * were held: the device makes room then. */
#ifndef XS_XSERVER_AHEAD_H
#define XS_XSERVER_AHEAD_H

#include "base/xs_base.h"

#include "xsched/types.h"

#define XS_AHEAD 8u           /* programs at a time that are looked for */

struct xs_client;
struct xs_server;

struct xs_ahead {
    bool on;                  /* there are CPUs enough */
    uint64_t held_ns;         /* when a program was last held that the device does not cut short by itself */
    unsigned n;
    struct {
        struct xs_client *client;
        uint64_t from_ns, until_ns;
    } windows[XS_AHEAD];
};

/** Takes over the options. */
void xs_ahead_configure(struct xs_server *s);
/** A queue of the program became ready, or idle, or a ready one is gone. */
void xs_ahead_changed(struct xs_server *s, struct xs_client *c, bool ready, uint64_t now_ns);
/** A queue of the program on that device is held. */
void xs_ahead_held(struct xs_server *s, const struct xs_client *c, XDevice device, uint64_t now_ns);
/** The program leaves. */
void xs_ahead_forget(struct xs_server *s, const struct xs_client *c);
/** When the next look begins, after now; UINT64_MAX: nobody is expected. */
uint64_t xs_ahead_next(const struct xs_server *s);
/** The doorbells of those who are likely now belong to those that are looked at.
 * @return until when somebody is; 0: nobody */
uint64_t xs_ahead_until(struct xs_server *s);

#endif
