/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts the next arrival of a program from its earlier ones. An arrival: a queue of it becomes
 * ready after none was for a rest (XS_ARRIVALS_REST_NS). Pure: no clock, no lock. */
#ifndef XS_XSERVER_PREWAKE_ARRIVALS_H
#define XS_XSERVER_PREWAKE_ARRIVALS_H

#include "base/clock.h"
#include "base/xs_base.h"

#define XS_ARRIVALS         32u
#define XS_ARRIVALS_REST_NS XS_NS_PER_MS
/** A timer wakes a sleeping thread late: to be awake at a time, it begins that much before. */
#define XS_ARRIVALS_EARLY_NS (300 * XS_NS_PER_US)

/** So many latest times between two events, and their bounds and mean without a few strange ones. */
struct xs_arrivals_times {
    uint64_t ns[XS_ARRIVALS];
    uint64_t least_ns, most_ns, mean_ns;
};

/** All zero: no arrivals so far. */
struct xs_arrivals {
    struct xs_arrivals_times gaps;     /* from when none of its queues was ready any more */
    struct xs_arrivals_times periods;  /* from one arrival to the next */
    uint64_t n;                        /* times noted */
    uint64_t came_ns, left_ns;         /* the last arrival; since when none is ready; 0: never */
    uint32_t ready;                    /* its queues that are */
};

/** A queue of it became ready. @return true: that is an arrival */
bool xs_arrivals_ready(struct xs_arrivals *a, uint64_t now_ns);
/** A ready queue of it became idle, or is gone. @return true: none is ready any more */
bool xs_arrivals_idle(struct xs_arrivals *a, uint64_t now_ns);
/** The times between which the next arrival is likely, as long as none of its queues is ready.
 *  @return false: it is unknown, or looking for each arrival from that time on would take more than
 *          `percent` of all time */
bool xs_arrivals_next(const struct xs_arrivals *a, uint64_t percent, uint64_t *ret_from_ns, uint64_t *ret_until_ns);

#endif
