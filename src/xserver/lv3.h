/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets which slice, and who is switched off: decided anew when a program at level 3 becomes
 * ready, idle, held or permitted, whatever the policy is. Main loop's thread. */
#ifndef XS_XSERVER_LV3_H
#define XS_XSERVER_LV3_H

#include "xserver/lv3_nvidia.h"

struct xs_server;
struct xs_client;

/** What is known of one program on one device, and what is decided. */
struct xs_lv3_seat {
    /* facts */
    int32_t priority;             /* highest of its ready queues; of all, while none is ready */
    bool ready;
    bool recent;                  /* ready, or was a moment ago */
    bool held;                    /* ready, and none of its ready queues may run */
    uint64_t left_ns;             /* estimated device time of what it has in flight */
    bool off_now;
    /* decision */
    enum { XS_LV3_KEEP, XS_LV3_DEFAULT, XS_LV3_LONG, XS_LV3_SHORT } slice;
    bool off;
};

struct xs_lv3_rules {
    bool may_switch_off;
    uint64_t pair_ns;             /* measured cost of off and on */
};

/** Pure. Slices: long for the sole program of the highest priority while something less important
 *  is ready too, short for that, the default otherwise; what is not ready keeps what it has.
 *  Off: who is held while something more important is ready, if its work in flight would take
 *  twice what switching costs. */
void xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules);

/** Called after each decision of the scheduler. @return when to call again at the latest */
uint64_t xs_lv3_update(struct xs_server *s);
void xs_lv3_forget(struct xs_server *s, struct xs_client *c);

#endif
