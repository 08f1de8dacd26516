/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes: a second way to the device for the kernels of a queue, confined to some of its multiprocessors.
 *
 * A lane of a queue is a stream of a green context of the queue's device. A kernel on it runs between two
 * pairs of an event and a wait for it, so that its order with everything else in the program's own stream S
 * is what it would be in S:
 *
 *     record(S), wait(lane), launch(lane), record(lane), wait(S)
 *
 * A queue has lanes of its own, since in a shared one the work of one stream would wait for that of another.
 *
 *   lanes.c      lives: making, finding, ending
 *   bracket.c    one launch
 *   fits.c       which kernels may run there
 */
#ifndef XS_HAL_CUDA_LANES_H
#define XS_HAL_CUDA_LANES_H

#include "hal/cuda/hal.h"
#include "wire/page.h"

/* Rules that keep a program's results the same; tests leave out one by one, and must notice. */
#define XS_LANE_RULE_BEFORE  1u    /* a kernel waits for the commands before it in the program's stream */
#define XS_LANE_RULE_AFTER   2u    /* later commands there wait for it */
#define XS_LANE_RULE_GRID    4u    /* blocks that fit the device at once fit the lane */
#define XS_LANE_RULE_OTHERS  8u    /* ... beside those of other queues */
#define XS_LANE_RULE_ATTACH  16u   /* kernels stay in a stream that has memory of its own */
#define XS_LANE_RULE_END     32u   /* lanes end before their context */
#ifndef XS_LANE_RULES
#define XS_LANE_RULES        63u
#endif

#define XS_LANE_WIDTHS 2u          /* the wide lane, the narrow one */
#define XS_LANE_PAIRS  4u          /* threads that launch into one queue at one moment; more launch without the lane */

struct xs_lane_events {
    CUevent in, out;
};

/** The lanes of one stream. The storage stays and gets new uses. */
struct xs_lanes {
    _Atomic(struct xs_cuda_context *) context;     /* NULL: unused */
    _Atomic(struct xs_cuda_hw *) hw;
    CUstream streams[XS_LANE_WIDTHS];
    struct xs_lane_events events[XS_LANE_PAIRS];
    _Atomic uint32_t events_taken;                 /* bit i: a thread has pair i */
    _Atomic uint32_t users;                        /* threads inside a bracket; the lanes' end waits for them */
    _Atomic bool busy;                             /* it has had a kernel, which may run yet */
    _Atomic uint32_t peak;                         /* the most multiprocessors that one kernel of the queue needs at once */
    _Atomic uint64_t unknown_until_ns;             /* until then a kernel of unknown need may run; 0: none */
    uint32_t forks;                                /* xs_forks() of the process that made them */
    struct xs_lanes *next;                         /* all lanes so far; constant */
};
extern _Atomic(struct xs_lanes *) xs_lanes_all;    /* a list that only grows; owner: lanes.c */

/** Before the first command in the context: makes its green contexts, if lanes may be of use in this
 *  process. */
void xs_lanes_context_begins(struct xs_cuda_context *c);
/** The storage is another stream's from now on. */
void xs_lanes_stream_begins(struct xs_cuda_hw *hw);
/** Has a thread of ours make lanes for the stream. Once for each; returns at once. The caller is in a call of the program on
 *  the stream, so that the stream is there. */
void xs_lanes_want(struct xs_cuda_hw *hw);
/** The lanes of the stream, which stay until xs_lanes_let_go. NULL: it has none. */
struct xs_lanes *xs_lanes_use(struct xs_cuda_hw *hw);
void xs_lanes_let_go(struct xs_lanes *l);
/** The program destroys the stream, or libpreempt releases it, next: ends its lanes. May call the vendor. */
void xs_lanes_stream_ends(struct xs_cuda_hw *hw);

/** Whether the kernel may run on the lane; notes its need. Calls the driver at the second launch of a kernel.
 *  @param width  index of the lane */
enum xs_lane_outcome xs_lane_fits(struct xs_cuda_context *c, struct xs_lanes *l, unsigned width, const struct xs_cuda_kernel *k);

#endif
