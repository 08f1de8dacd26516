/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of a decision keep: the verdict that they give, their timers, and for each stage a struct of its own in
 * the entity, the user or the group that it judges. The stage's file alone writes it. Inside src/sched only. */
#ifndef XS_SCHED_STAGE_STATE_H
#define XS_SCHED_STAGE_STATE_H

#include "base/list.h"
#include "sched/step_graph.h"
#include "sched/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xs_sched_process;

#define XS_STAGE_TIMED(name) XS_TIMER_##name,
#define XS_STAGE_NONE(name)

/** When a view has to be looked at again. UINT64_MAX: for no such reason. */
enum xs_timer {
    /* then it decides; the judges of stages set these: */
#define XS_STAGE(name, timer, active, facts, judge, applied) XS_STAGE_##timer(name)
#include "sched/stages.def"
#undef XS_STAGE
    XS_TIMERS_OF_JUDGES,
    /* likewise, by other hooks: */
    XS_TIMER_SURPLUS = XS_TIMERS_OF_JUDGES,        /* ... at surplus queues (surplus.c) */
    XS_TIMER_GRANT,                                /* a grant begins or ends */
    XS_TIMER_DECIDES,
    /* then it looks whether to: */
    XS_TIMER_DRAIN = XS_TIMER_DECIDES,             /* ... whether suspended commands ended */
    XS_TIMER_VERIFY,                               /* ... at running ones, only idle ones suspended */
    XS_TIMER_BEGIN,                                /* ... whether an owner has begun */
    XS_TIMER_CONTENDED,
    /* only while it is contended: */
    XS_TIMER_LOOK = XS_TIMER_CONTENDED,            /* ... at watched queues */
    XS_TIMER_STALL,                                /* ... whether the running side goes on */
    XS_TIMERS
};

/** What a decision says of an entity. */
struct xs_verdict {
    _Alignas(uint64_t)                             /* copied in one go */
    bool run;                                      /* its queues may submit commands */
    bool chosen;                                   /* ... by right of the policy, or for a collective's sake: not by a
                                                      grant, nor beside others */
    bool limit;                                    /* ... only up to the end of that collective */
    bool ready;                                    /* as the policy saw it */
    uint8_t lane;                                  /* ... on a part of the device: enum xs_beside_step */
    uint8_t why;                                   /* enum xs_why */
    bool just;                                     /* inside xs_view_apply: suspended by it */
};

/** How other queues of its process run while an entity is active. */
enum xs_beside_step { XS_BESIDE_SUSPENDED, XS_BESIDE_NARROW, XS_BESIDE_WIDE };

/** What an urgent entity's threads did while it was active. */
struct xs_beside_time { uint64_t active_ns, waited_ns; };

/* Of an entity beside which others could run. */
struct xs_beside {
    enum xs_beside_step step, back;                /* back: the step that follows a look at it by itself; 0: the next one */
    int32_t share;                                 /* of its time in which threads waited for the device, in 1/1024; average */
    uint64_t seen_ns;                              /* the last look; 0: none since it became active */
    uint64_t since_ns;                             /* this step began */
    uint64_t try_ns[XS_BESIDE_WIDE];               /* a wider one than each comes after so long */
    uint64_t others_ns;                            /* so long others ran beside it since it was last by itself */
    uint64_t low_ns, low_wanted_ns;                /* so long the share was low since it was high; a try takes that */
    struct xs_beside_time alone, here;             /* by itself; in this step, where others run beside it */
};

enum xs_gather_phase {
    XS_GATHER_OFF,                                 /* its commands run as they come */
    XS_GATHER_HOLDS,                               /* they gather, and others run */
    XS_GATHER_LEAVE,                               /* they gather, and others leave the device */
    XS_GATHER_ALONE,                               /* they run as they come, and others are off until then */
    XS_GATHER_OPEN,                                /* they ran from some command of this step on */
};

struct xs_gather {
    uint64_t entered, waited_ns;                   /* of all its queues, as read so far */
    uint64_t ended;                                /* ... as the last wait ended that is over */
    uint64_t step_entered, step_waited_ns;         /* ... as the step under way began */
    uint64_t seen_entered;                         /* ... as the scheduler saw that */
    uint64_t seen_waited_ns;                       /* ... as it looked last */
    uint64_t step_ns, first_ns;                    /* then; its first command, 0: none came */
    uint64_t before_ns;                            /* the first command of the step before; 0: not known */
    uint64_t until_ns;                             /* these gather until then at most; 0: none came */
    uint64_t off_ns;                               /* the others leave then; UINT64_MAX: at no time */
    uint64_t back_ns;                              /* ... and come back then if no command has come */
    uint64_t left_ns, lead_ns;                     /* they were told to leave then; so long before the last opening */
    uint64_t others_ns;                            /* others had work then */
    struct xs_step_plan plan;                      /* for the step under way */
    struct xs_step_graph graph;                    /* where a helper thread waits */
    struct xs_sched_queue *graph_queue;            /* which has it; NULL: none */
    uint64_t graph_entered, graph_before;          /* commands of that; the last graph as the step began */
    struct xs_steps *steps;                        /* NULL: none were followed */
    enum xs_gather_phase phase;
    uint32_t passed;                               /* waits in a row that were not for its last commands */
    bool last;                                     /* the last wait that is over was for its last command */
    bool helper;                                   /* ... by a thread that submits none */
    bool follows;                                  /* its queues tell of waits */
    bool gathered;                                 /* commands of this step did */
    bool closes;                                   /* its words close with this decision */
    bool awaited;                                  /* a thread waits for commands that came meanwhile */
    bool others_left;                              /* ... the device for this opening, or were to */
    bool spoiled;                                  /* it was suspended in this step */
    bool expired;                                  /* they gathered too long: no further command of this step does */
    bool drains;                                   /* its gathered commands run; further ones may gather after that */
    uint32_t early;                                /* the step before ended before the wait for it; so many waits may be that */
    bool helped;                                   /* a helper thread waits for its steps */
    bool observed;                                 /* this step is, command by command */
    bool asked;                                    /* its owner knows that gates would be of use */
};

struct xs_linger {
    uint64_t until_ns;                             /* 0: it does not linger */
    uint32_t us;                                   /* how long it lingers; 0: as configured */
    bool too_short;                                /* its last linger ended before it had work again */
};

struct xs_grant {
    struct xs_stake *stakes[2];                    /* its user's on its device, and on the host */
    uint64_t since_ns;                             /* when it last began to run by a grant */
};

/* Handing over the device (turns.c). */
struct xs_turn {
    uint64_t begin_until_ns;                       /* xs_turns_charge charges it from then on at the latest */
    uint64_t drain_until_ns;                       /* others wait for its commands until then at most */
    bool draining;                                 /* suspended while commands of it were in flight */
    bool owns;                                     /* xs_turns_charge charges it for the time that passes */
    bool begins;                                   /* resumed, and nothing of it has come to the device yet */
};

struct xs_gang_facts {
    bool loses;                                    /* ready, and this device's decision suspends it */
};

enum xs_stake_state {
    XS_STAKE_IDLE,                                 /* nothing of the user is ready */
    XS_STAKE_RUNS,                                 /* something that is ready runs */
    XS_STAKE_WAITS,                                /* something is ready and only others' programs run */
    XS_STAKE_BEHIND                                /* ... of whose programs one is exempt */
};

/** A user on a device, or on the host for a policy of that scope. */
struct xs_stake {
    struct xs_list link;                           /* xs_view.stakes */
    uint64_t user;
    size_t entities;
    uint32_t weight;
    enum xs_stake_state state;                     /* since xs_view.stakes_ns */
    int64_t owed;                                  /* ns times 10^6 that waiting earned and running did not use */
    int64_t ppm;                                   /* of the device; no other user's priority takes that */
};

/** Gangs whose collectives belong together: one of a name, or those of one job. */
struct xs_collective_group {
    struct xs_list link;                           /* xs_sched.collective_groups */
    char *name;
    size_t gangs;
    struct xs_list ranks;                          /* processes that take part in collectives */
    size_t peers;                                  /* ... that opened memory of others */
    bool under_way;                                /* something that others wait for */
    bool named;                                    /* ... a kernel that it knows by its name */
    bool told;                                     /* ranks ring when one begins */
    bool doubted;                                  /* not believed until a collective completes */
    bool in_flight, several_stuck;                 /* of members with peer memory, one of them suspended */
    const struct xs_sched_process *stuck;          /* a member with commands in flight that do not end */
    uint64_t moved_ns;                             /* a queue of it completed something, or a collective
                                                      began or ended */
    uint64_t kept_since_ns, kept_ns;               /* others wait for it; last seen then, 0: none does */
};

#endif
