/* SPDX-License-Identifier: Apache-2.0 */
/* A sleeping thread takes 20 to 300 us to wake up, which an urgent program waits for where nothing but a closed word makes
 * room for it. So the loop is awake, within the CPU time it may look for (spin-cpu), when a program is likely to come that others
 * were held for the last time, and that comes regularly. Not where all those others had short slices at level 3 on its devices:
 * the device makes room then. */
#ifndef XS_XSERVER_PREWAKE_PREWAKE_H
#define XS_XSERVER_PREWAKE_PREWAKE_H

#include "base/xs_base.h"

#include "xsched/types.h"

#define XS_PREWAKE         8u   /* programs at a time that are looked for */
#define XS_PREWAKE_DEVICES 16u  /* where somebody waits, at a time */

struct xs_client;
struct xs_server_queue;
struct xs_server;

struct xs_prewake {
    bool on;                  /* there are CPUs enough */
    unsigned n;
    struct {
        struct xs_client *client;
        uint64_t from_ns, until_ns;
    } windows[XS_PREWAKE];
    struct {
        XDevice device;
        uint32_t queues;      /* that have work, are held, and are not cut short by the device itself */
        uint64_t ns;          /* when that was last another number */
    } waits[XS_PREWAKE_DEVICES];
};

/** Takes over the options. */
void xs_prewake_configure(struct xs_server *s);
/** A queue of the program became ready, or idle, or a ready one is gone. */
void xs_prewake_changed(struct xs_server *s, struct xs_client *c, bool ready, uint64_t now_ns);
/** A queue has work or none, is held or not, or its slices became short or long. */
void xs_prewake_queue(struct xs_server *s, struct xs_server_queue *q, uint64_t now_ns);
/** The program leaves. */
void xs_prewake_forget(struct xs_server *s, const struct xs_client *c);
/** When the next look begins, after now; UINT64_MAX: nobody is expected. */
uint64_t xs_prewake_next(const struct xs_server *s);
/** The doorbells of those who are likely now belong to those that are looked at.
 * @return until when somebody is; 0: nobody */
uint64_t xs_prewake_until(struct xs_server *s);

#endif
