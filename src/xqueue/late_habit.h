/* SPDX-License-Identifier: Apache-2.0 */
/* What the bursts of a queue teach about how late they may start (late.h). Pure: no clock, no lock. */
#ifndef XS_LATE_HABIT_H
#define XS_LATE_HABIT_H

#include "base/xs_base.h"

#define XS_LATE_BURSTS 8u         /* a window: so many are judged together */

/** One burst: from a command that found the queue idle until a wait for its end returned. */
struct xs_late_burst {
    uint64_t commands;
    uint64_t launch_ns;           /* from the first command to the wait */
    uint64_t end_ns;              /* from the first command to the end of the wait */
};

/** What bursts taught. All zero: nothing. */
struct xs_late_habit {
    uint64_t commands;            /* of a burst */
    uint64_t bursts;              /* so many had about as many commands */
    uint64_t launch_ns[XS_LATE_BURSTS];
    uint64_t natural_ns;          /* what is waited for at the end of one without a delay, on average */
    uint64_t waited_ns;           /* in this window */
    uint32_t n;                   /* bursts of this window */
    uint32_t tried, good;         /* the delay of this window, and the longest that did no harm; rows of a table */
    uint32_t windows;             /* since it is settled */
    uint32_t strange;             /* bursts of another size, less those that made up for them */
    bool settled;                 /* the longest good delay is found; a longer one is tried much later */
};

/** Takes notice of a burst. */
void xs_late_learn(struct xs_late_habit *h, const struct xs_late_burst *b);
/** How long the next one may be delayed; 0: not at all. */
uint64_t xs_late_delay_ns(const struct xs_late_habit *h);

#endif
