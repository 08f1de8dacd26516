/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an urgent program, and how many commands of the next one may gather (gather.c). A step ends when a call
 * that waited for all of the program's commands returns. What follows the same two numbers of commands, or nearly the same,
 * counts as one kind of step: a token of a language model has some hundred commands, and the same number as the token before.
 * Pure: no clock, no lock. */
#ifndef XS_SCHED_STEPS_H
#define XS_SCHED_STEPS_H

#include "sched/sched.h"

#include <stdbool.h>
#include <stdint.h>

#define XS_STEP_KINDS  16u
#define XS_STEP_PLAINS 5u
#define XS_STEP_LEAD_NS 200000u   /* others leave the device within that time */

struct xs_step {
    uint32_t commands;
    uint64_t gap_ns;              /* from the end of the step before to its first command */
    uint64_t ns;                  /* from its first command to the end of its last wait */
    uint64_t waited_ns;           /* threads waited for so long */
    uint64_t period_ns;           /* from the first command of the step before to its own; 0: not known */
    uint64_t lead_ns;             /* others were told to leave the device so long before the gate opened */
    bool gathered, alone;         /* its commands gathered; others had left the device before it */
    bool helper;                  /* a thread that submits nothing waited, and the program went on meanwhile */
    bool graph;                   /* ... and a graph, before which the gate opens, has most of the work (step_graph.h) */
    bool overdue;                 /* its commands gathered for so long that it did not seem to wait for them */
    bool spoiled;                 /* it was suspended meanwhile: only its number of commands says something */
};

struct xs_step_kind {
    uint64_t used;                /* the step that was the last of this kind; 0: free */
    uint32_t before[2];           /* commands of the two steps before it, as they came first; the last one first */
    uint32_t seen, odd;           /* odd: grows with steps of another length than the one before */
    uint32_t commands, to;        /* as the last step had them; so many gather */
    bool helper, graph;           /* as the last step */
    int32_t early;                /* others leave at so many commands before those that come within XS_STEP_LEAD_NS */
    uint32_t rest, rests;         /* for so many steps none gathers; how often that came */
    uint32_t well;                /* steps that gathered since */
    uint32_t in_time;             /* likewise, none of which was overdue */
    uint32_t gathers;             /* steps that did since `to` grew last */
    bool late_once;
    uint64_t gathered_took, alone_took; /* what the last such step took; alone: and no step gathered since */
    int32_t loss;                 /* average: so much longer steps take that gather, in 1/1024 */
    int64_t loss_off;             /* average of the squares of how far each comparison is from that */
    uint32_t pairs;               /* these are of so many comparisons */
    uint64_t ns, gap_ns, gap_off_ns; /* averages; gap_off_ns: of how far the gap is from its average */
    int64_t late_ns;              /* average: so much longer threads waited than in steps by themselves */
    uint64_t plain_ns[XS_STEP_PLAINS]; /* waited_ns of the last steps by themselves */
    uint32_t plains;              /* so many ever */
};

/** All zero: nothing is known. */
struct xs_steps {
    bool helped;                  /* constant: commands may gather where a helper thread waits */
    uint64_t n;
    uint32_t before;              /* commands of the last step */
    struct xs_step_kind kinds[XS_STEP_KINDS];
    struct xs_step_kind *now;     /* of the step under way; NULL: not known */
    struct {
        struct xs_step_kind *kind;
        bool gathered, alone;
    } last[2];                    /* the steps before it, the last one first */
};

/** What is best for the step under way. */
struct xs_step_plan {
    uint32_t to;                  /* so many commands gather; 0: none */
    uint32_t lead;                /* the others leave the device so many commands before the last of these; 0: see off_ns */
    uint64_t off_ns;              /* ... so long after the step before ended; UINT64_MAX: as the gate opens */
    uint64_t alone_ns;            /* to 0: the others stay off the device for so long until it begins; 0: they do not */
    uint64_t opens_ns;            /* the last of these is expected so long after the first command */
    bool trusted;                 /* many such steps came in time: one may take longer */
};

/** A step ended, and the next begins. */
void xs_steps_ended(struct xs_steps *s, const struct xs_step *step);
/** The step under way is not to be learnt from. */
void xs_steps_broke(struct xs_steps *s);
/** The plan for the step under way. */
struct xs_step_plan xs_steps_plan(const struct xs_steps *s);
/** Fewer commands within a step are not worth that they gather. */
uint32_t xs_steps_least(const struct xs_steps *s);
/** What is known of the steps of late; never XS_SCHED_GATHER_NO. */
enum xs_sched_gather_state xs_steps_state(const struct xs_steps *s);
/** Some steps are worth that their commands gather. */
bool xs_steps_any(const struct xs_steps *s);

#endif
