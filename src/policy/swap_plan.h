/* SPDX-License-Identifier: Apache-2.0 */
/* Whose device memory goes to host memory, and whose comes back. A pure function. */
#ifndef XS_SWAP_PLAN_H
#define XS_SWAP_PLAN_H

#include "base/xs_base.h"

enum xs_swap_step {
    XS_SWAP_STEP_NONE,
    XS_SWAP_STEP_OUT,
    XS_SWAP_STEP_IN,
    XS_SWAP_STEP_FOLLOW,          /* in, as others go out */
    XS_SWAP_STEP_RETRY,           /* its allocation may find memory now */
    XS_SWAP_STEP_REFUSE,          /* its allocation finds none */
};

/** A program whose device memory can move, as of now. Times in ns, by one clock. */
struct xs_swap_program {
    int32_t priority;             /* the highest of its queues */
    uint64_t bytes;               /* that can move */
    bool out;
    bool moving;                  /* out or in, right now */
    bool by_hand;                 /* somebody moved it out, and brings it back */
    bool works;                   /* it has work for the device, or a thread that waits for its memory */
    uint64_t idle_ns;             /* in, and without new commands for so long */
    uint64_t stayed_ns;           /* in for so long, or out */
    uint64_t waits_ns;            /* out and with work, or waits in an allocation, for so long */
    uint64_t move_ns;             /* its last move took so long; 0: none yet */
    uint64_t patience_ns;         /* it makes room for others that are not more important only once it was idle for so long */
    uint64_t wants;               /* bytes for which a thread waits in an allocation; 0: none does */
    uint64_t lacks;               /* bytes that were missing when it last tried; 0: it has not tried since others made room */
    enum xs_swap_step step;       /* the answer */
};

/** Among programs of equal priority that all work, each stays in for at least this long, and for XS_SWAP_STAY_MOVES of
 *  its moves. */
#define XS_SWAP_STAY_NS    (2 * XS_NS_PER_S)
#define XS_SWAP_STAY_MOVES 10u
/** One of them that is idle makes room after so long, or so many of its moves: as much as it loses if it has work again
 *  at once. */
#define XS_SWAP_IDLE_NS    (500 * XS_NS_PER_MS)
#define XS_SWAP_IDLE_MOVES 2u
/** An allocation is refused when others can make room only later than this, counted from when it began to wait. */
#define XS_SWAP_WANT_NS    (8 * XS_NS_PER_S)

/** Fills `step` of each program of one device. The most important program that lacks memory comes first; less important
 *  ones make room for it at once, others once they are idle, or have stayed long enough.
 *  @return when to ask again at the latest, in so many ns; UINT64_MAX: when something changes */
uint64_t xs_swap_plan(struct xs_swap_program *p, size_t n);

#endif
