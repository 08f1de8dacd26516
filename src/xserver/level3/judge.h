/* SPDX-License-Identifier: Apache-2.0 */
/* The level-3 judge: facts of the programs on one device in, wishes out. A pure function, as policies
 * are: it reads no clock and no table, and keeps its memory in the seats. lv3_facts.c fills the seats,
 * lv3.c carries the wishes out. */
#ifndef XS_XSERVER_LEVEL3_JUDGE_H
#define XS_XSERVER_LEVEL3_JUDGE_H

#include "base/xs_base.h"

#define XS_LV3_SLICE_DEFAULT 0ull /* the driver's own */

/** The settings of a program on a device. */
struct xs_lv3_wish {
    uint64_t slice_us;            /* of its channel groups */
    bool off;                     /* it is off the device */
    bool cut_short;               /* its slices are so short that the device leaves it soon */
};

/** What the judge remembers of a program on a device from one call to the next. All 0 at first. */
struct xs_lv3_memory {
    uint64_t ready_ns;            /* when a look last found it ready; 0: never */
    uint64_t off_ns;              /* when xserver last switched it off */
    uint64_t busy_ns;             /* when it last got the slice beside a burst; 0: never */
    uint64_t burst_ns;            /* when its burst of commands began; 0: it is in none */
    uint64_t before, early;       /* its commands so far, then and a moment later */
    uint64_t completed, flight_ns; /* commands of it that ended; when that number last changed, or
                                      nothing was in flight */
    bool was_ready, in_flight;
    bool looked;                  /* early is of this burst */
    bool gaps;                    /* the device had gaps in the last one, or it was long */
};

/** One program on the device. */
struct xs_lv3_seat {
    /* facts */
    bool level3;                  /* a queue of it there is at level 3; else it gets its own settings back */
    bool own_queues;              /* the program takes its queues off the device (AMD); else xserver has its channel groups */
    bool ready;                   /* a queue of it has work */
    bool permitted;               /* ... and may run */
    int32_t priority;             /* highest of its ready queues; of all, while none is ready */
    uint64_t entered;             /* commands so far */
    uint64_t left_ns;             /* estimated device time of its commands in flight */
    bool gathers;                 /* its commands gather (sched/gather.c): then they leave no gaps */
    bool in_flight;               /* own_queues: it has something in flight */
    uint64_t completed;           /* own_queues: commands that ended */
    struct xs_lv3_wish in_force;  /* its settings there: the last wish */
    struct xs_lv3_memory memory;  /* the judge changes it; the caller keeps it */
    /* wishes */
    struct xs_lv3_wish wish;
    /* the judge's own, during a call */
    struct xs_lv3_seen {
        bool recent;              /* ready, or was a moment ago */
        bool gaps;                /* in a burst in which the judge expects gaps */
        uint64_t ran_ns;          /* for so long nothing of it has ended; 0: nothing is in flight,
                                     or unknown */
    } seen;
};

struct xs_lv3_rules {
    uint64_t now_ns;
    bool by_turns;                /* the policy lets programs run one at a time */
    bool slices;                  /* channel groups get slices; the next four are options of the same name */
    uint64_t long_us, short_us, busy_us, busy_after_us;
    bool may_switch_off;          /* lv3-queues, where the programs have own queues: channel groups
                                     never go off */
    uint64_t pairs_per_s;         /* at most so many pairs of off and on of one program */
    uint64_t pair_ns;             /* measured cost of off and on */
};

/** Slices by priority: long for the sole program of the highest priority, while something less
 *  important is ready too. Meanwhile the less important programs get the slice `busy` if that program
 *  is in a burst with gaps, else `short`. The default otherwise. A program that is not ready keeps its
 *  slice. With turns: the default.
 *  Off, by priority: a program that may not run while something more important is ready, if its work in
 *  flight would take twice the cost of a switch, or has taken that already: an estimate may be a guess.
 *  @param seats  all of one device, in any order
 *  @return when to judge again at the latest, although no fact changed; UINT64_MAX: not for that */
uint64_t xs_lv3_judge(struct xs_lv3_seat *seats, size_t n, const struct xs_lv3_rules *rules);

#endif
