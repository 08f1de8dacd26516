/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which slice, and who is switched off: decided anew when a program at level 3 becomes
 * ready, idle, held or permitted. Main loop's thread. */
#ifndef XS_XSERVER_LEVEL3_LV3_H
#define XS_XSERVER_LEVEL3_LV3_H

#include "xserver/level3/lv3_nvidia.h"

struct xs_server;
struct xs_client;
struct xs_lv3_memory;

/** What is known of one program on one device, and what is decided. */
struct xs_lv3_seat {
    /* facts */
    int32_t priority;             /* highest of its ready queues; of all, while none is ready */
    bool ready;
    bool recent;                  /* ready, or was a moment ago */
    bool gaps;                    /* in a burst of commands, in which the device is thought to have gaps */
    uint64_t entered;             /* commands so far */
    bool held;                    /* ready, and none of its ready queues may run */
    uint64_t left_ns;             /* estimated device time of what it has in flight */
    uint64_t ran_ns;              /* for so long nothing of it has ended; 0: nothing is in flight, or it is not asked */
    bool off_now;
    /* decision */
    enum { XS_LV3_KEEP, XS_LV3_DEFAULT, XS_LV3_LONG, XS_LV3_SHORT, XS_LV3_BUSY } slice;
    bool off;
};

struct xs_lv3_rules {
    bool by_turns;                /* programs are let run one at a time */
    bool may_switch_off;
    uint64_t pair_ns;             /* measured cost of off and on */
};

/** Pure. Slices by priority: long for the sole program of the highest priority while something less important is
 *  ready too; for that, busy while the other one is in a burst with gaps, else short; the default otherwise. What is
 *  not ready keeps what it has. By turns: the default.
 *  Off, by priority: who is held while something more important is ready, if its work in flight would take
 *  twice what switching costs, or has taken that already: an estimate may be a guess. */
void xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules);

/** A look at a program's work in flight on a device. @return seat's ran_ns */
uint64_t xs_lv3_ran_ns(struct xs_lv3_memory *m, uint64_t now_ns, bool in_flight, uint64_t completed);

/** Called after each decision of the scheduler. @return when to call again at the latest */
uint64_t xs_lv3_update(struct xs_server *s);
/** Whether the device takes itself off this program soon, whatever its words say: it has short slices there. */
bool xs_lv3_cuts_short(const struct xs_client *c, XDevice device);
void xs_lv3_forget(struct xs_server *s, struct xs_client *c);

#endif
