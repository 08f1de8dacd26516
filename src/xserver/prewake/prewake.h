/* SPDX-License-Identifier: Apache-2.0 */
/* Prewake. A sleeping thread takes 20 to 300 us to wake up. An urgent program waits for that, if only
 * a closed word makes the others leave the device. So the loop is awake when a regular program is
 * likely to come, if xserver suspended others for it the last time. It stays within the CPU time that it
 * may look for (spin-cpu). Where all those others had short slices at level 3 on its devices, the loop
 * sleeps: the device makes them leave. */
#ifndef XS_XSERVER_PREWAKE_PREWAKE_H
#define XS_XSERVER_PREWAKE_PREWAKE_H

#include "base/xs_base.h"

#include "xsched/types.h"

#define XS_PREWAKE         8u   /* programs that it expects at a time */
#define XS_PREWAKE_DEVICES 16u  /* devices on which programs wait, at a time */

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
        uint32_t queues;      /* that have work, are suspended, and have no short slices */
        uint64_t ns;          /* when that number last changed */
    } waits[XS_PREWAKE_DEVICES];
};

/** Takes over the options. */
void xs_prewake_configure(struct xs_server *s);
/** A queue of the program became ready, or idle, or a ready one is gone. */
void xs_prewake_changed(struct xs_server *s, struct xs_client *c, bool ready, uint64_t now_ns);
/** A queue became ready or idle, suspended or resumed, or its slices became short or long. */
void xs_prewake_queue(struct xs_server *s, struct xs_server_queue *q, uint64_t now_ns);
/** The program leaves. */
void xs_prewake_forget(struct xs_server *s, const struct xs_client *c);
/** When the next look begins, after now; UINT64_MAX: it expects no program. */
uint64_t xs_prewake_next(const struct xs_server *s);
/** Adds the doorbells of programs that are likely to come now to those at which the loop looks.
 *  @return until when one is likely; 0: none is */
uint64_t xs_prewake_until(struct xs_server *s);

#endif
