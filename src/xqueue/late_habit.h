/* SPDX-License-Identifier: Apache-2.0 */
/* What the bursts of a queue teach about how late they may start (late.h). Pure: no clock, no lock. */
#ifndef XS_LATE_HABIT_H
#define XS_LATE_HABIT_H

#include "base/xs_base.h"

#define XS_LATE_BURSTS 8u         /* that are remembered, and must be alike before anything is delayed by them */

/** One burst: from a command that found the queue idle until a wait for its end returned. */
struct xs_late_burst {
    uint64_t commands;
    uint64_t launch_ns;           /* from the first command to the wait */
    uint64_t delay_ns;            /* from the first command until it might begin on the device */
    uint64_t end_ns;              /* from the first command to the end of the wait */
};

/** What bursts taught. All zero: nothing. */
struct xs_late_habit {
    uint64_t commands;            /* of the last one */
    uint64_t bursts;              /* so many in a row had about as many commands */
    uint64_t launch_ns[XS_LATE_BURSTS];
    uint64_t device_ns;           /* what one takes from its beginning on the device, at most; 0: not known */
    uint32_t step;                /* of the delays that are tried; after the last one device_ns counts */
    uint32_t strange;             /* bursts of another size, less those that made up for them */
    bool found;                   /* device_ns is what it takes; else it may be less */
    uint32_t looked, late;        /* bursts; those of the last few that ended late */
    uint64_t late_ns;             /* the least that one of these took */
};

/** Takes notice of a burst. */
void xs_late_learn(struct xs_late_habit *h, const struct xs_late_burst *b);
/** How long the next one may be delayed; 0: not at all. */
uint64_t xs_late_delay_ns(const struct xs_late_habit *h);

#endif
