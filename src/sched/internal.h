/* SPDX-License-Identifier: Apache-2.0 */
/* The decision driver's own structures; inside src/sched only.
 *
 *  sched.c       life, settings, queues           facts.c     words of the pages -> ready queues
 *  tables.c      groups, devices, entities        doorbells.c which processes ring, which queues it watches
 *  status.c      what users see                   bells.c     the doorbells of processes
 *  decide.c      views, the policy, timers        permit.c    permits, leases, bounds in flight
 *  transition.c  verdicts -> queues               idle_hints.c the hints of an entity of which nothing is ready
 *  steps.c       steps of a program, for gather.c
 *
 * The stages of a decision: stages.def, one file each.
 *
 * A queue belongs to an entity, an entity to a device and a group. A view is the input of one call
 * of the policy: the entities of a device, or of the host. */
#ifndef XS_SCHED_INTERNAL_H
#define XS_SCHED_INTERNAL_H

#include "sched/sched.h"
#include "sched/stage_state.h"
#include "sched/why.h"

#include "base/list.h"
#include "base/map.h"

#define XS_LOOK_MIN_NS      (10 * XS_NS_PER_US)    /* first step after the estimated end */
#define XS_LOOK_MAX_NS      (1 * XS_NS_PER_MS)     /* largest step; also where the process rings by itself */
#define XS_HELD_LOOK_NS     (10 * XS_NS_PER_MS)    /* from look to look whether suspended ones are ready */
#define XS_LOOK_FIRST_NS    (10 * XS_NS_PER_MS)    /* it trusts an estimate for this long at most */
#define XS_INFER_NS         (50 * XS_NS_PER_MS)    /* quiet for this long beyond its estimate: idle */
#define XS_QUIET_NS         (200 * XS_NS_PER_US)   /* no submit for so long: another thread may mark it */
#define XS_LENT_LOOK_NS     (5 * XS_NS_PER_MS)     /* ... whether a queue with waiters is complete */
#define XS_COLLECTIVE_NS    (250 * XS_NS_PER_US)   /* ... whether a group still runs for a collective */
#define XS_VERIFY_NS        XS_LEASE_TICK_NS       /* ... at running ones, only idle ones suspended */
#define XS_ESTIMATE_MAX_NS  (60 * XS_NS_PER_S)     /* it does not believe a longer estimate */
#define XS_LINGER_GROWTH    8u                     /* longest linger, times the configured one */
#define XS_IDLE_CLOSES      8u                     /* idle queues of one entity that a suspension closes */
#define XS_DRAIN_NS         (100 * XS_NS_PER_MS)   /* longest wait for suspended commands in flight */
#define XS_DRAIN_LOOK_NS    (100 * XS_NS_PER_US)   /* ... and from look to look meanwhile */
#define XS_BACK_NS          (10 * XS_NS_PER_MS)    /* a time that is older comes from another clock */
#define XS_RESCAN_STEP      128u                   /* queues of one process that it reads in one go */
#define XS_RESCAN_NS        (250 * XS_NS_PER_US)   /* ... and the next ones after that */
#define XS_READY_OF_VIEW    2048u                  /* ready queues that entities of a view share: see surplus.c */
#define XS_READY_MOST       256u                   /* ... of one entity */
#define XS_WATCH_MOST       64u                    /* ready queues of one entity that it watches */
#define XS_READY_LEAST      4u
#define XS_ROUNDS           8u                     /* decisions of one view in a row */
#define XS_TIMER_MIN_NS     (1 * XS_NS_PER_US)     /* if a policy sets its timer to now, the next call comes after this time */

struct xs_view {
    struct xs_policy_entity **entities;            /* in order of id */
    size_t n, cap;
    uint64_t memo[8];
    uint64_t next_ns;                              /* the policy's timer, on its clock */
    uint64_t at_ns[XS_TIMERS];
    uint64_t soonest_ns;                           /* of those that count now, at the end of the last run */
    uint64_t look_step_ns;                         /* between looks; 0: none is due */
    uint64_t held_look_ns;                         /* next look at suspended ones */
    uint64_t progress_ns;                          /* the running side last completed something, or changed */
    bool progressed;                               /* it did, at a time that the next run fills in */
    struct xs_list pending;                        /* queues whose word does not fit their entity */
    bool dirty;                                    /* decide at the next run */
    bool some_lose, some_put_off, some_kept;       /* of its entities; may be so for none of them any more */
    bool some_limited, some_intra, some_space, some_gather; /* likewise */
    bool resettle;                                 /* read and arm all queues first */
    uint64_t stands_since_ns, stood_ns;            /* the policy's clock: stands since then (0: goes); stood so long */
    uint64_t charged_ns;                           /* the owners' service is right up to here */
    bool recheck;                                  /* a gang of this one turned on another device */
    struct xs_list stakes;                         /* of the users that have entities here */
    size_t nstakes;
    struct xs_stake *granted;                      /* the user that runs in place of others; NULL: none */
    uint64_t stakes_ns;                            /* the stakes are right up to here */
    bool contended;                                /* the policy suspends something that is ready */
    bool stalled;                                  /* suspended ones run until others complete something */
};

struct xs_device {
    XDevice device;
    uint32_t index;
    size_t groups, queues;
    struct xs_view view;
};

/** A gang: one process, or the processes of one name. */
struct xs_group {
    struct xs_list link;                           /* named ones: xs_sched.groups */
    char *name;                                    /* NULL: of one process */
    struct xs_collective_group *collective;
    struct xs_policy_process pp;
    uint64_t user;
    uint32_t weight;                               /* of its user */
    bool exempt;                                   /* of its processes: all are */
    bool ended;                                    /* likewise */
    uint64_t space;                                /* of its processes: that of all; 0: they share in time, or differ */
    enum xs_drain drain;                           /* of its processes: one ON counts before OFF, OFF
                                                      before neither */
    struct xs_list processes;
    struct xs_list presences;
};

/** A group on a device. */
struct xs_presence {
    struct xs_list link;                           /* xs_group.presences */
    struct xs_group *group;
    struct xs_device *device;
    struct xs_entity *gang;                        /* of queues that are no entities of their own */
    size_t queues;
};

struct xs_entity {
    struct xs_policy_entity pe;
    struct xs_sched *sched;
    struct xs_presence *presence;
    struct xs_view *view;                          /* the one on which the present policy decides */
    struct xs_list ready, idle;                    /* queues; idle: most recently used first */
    size_t queues, nready, nready_top;             /* ready ones; those of the highest priority */
    size_t ntimed;                                 /* ready ones with a deadline or a laxity */
    size_t nwatched;
    size_t put_off;                                /* so many of idle are still to read: some have work */
    uint64_t dried_ns;                             /* when it last became idle */
    uint64_t stale_at_ns;                          /* hints change by time then (laxity) */
    bool top;                                      /* more important than some other here, and none above it */
    struct xs_hints rest;                          /* hints while nothing is ready */
    struct xs_idle_hints_counts *rest_counts;            /* idle_hints.c; NULL: few queues */
    bool intra;
    bool hints_stale, rest_stale;
    struct xs_gang_facts gang;
    struct xs_verdict now;                         /* of the last decision */
    struct xs_verdict before;                      /* as its queues last heard: what it does */
    uint64_t chosen_ns;                            /* now.chosen since then */
    struct xs_gather gather;
    struct xs_linger linger;
    struct xs_grant grant;
    struct xs_turn turn;
    struct xs_beside beside;
    uint32_t on_lanes;                             /* queues whose word names a lane */
    uint32_t limited;                              /* queues of it with a limit */
};

struct xs_sched_queue {
    struct xs_list link;                           /* entity's ready or idle */
    struct xs_list process_link;
    struct xs_list pending_link;                   /* xs_view.pending */
    struct xs_list busy_link;                      /* xs_sched_process.busy */
    struct xs_entity *entity;
    struct xs_sched_process *process;
    struct xs_client_cell *client;                 /* NULL: facts come by set_ready */
    struct xs_server_cell *server;
    void *user;
    uint64_t handle;
    uint32_t cell;
    struct xs_hints hints;
    struct xs_hints_later later;
    /* the words as last read, judged */
    uint64_t entered, returned, completed;
    uint64_t told;                                 /* completed as the program knows it, for est_left_ns */
    uint64_t est_left_ns;
    uint64_t service_base_ns, service_ns;
    int32_t inherit_priority;                      /* PRIORITY_NO_EXECUTE: nothing waits for it */
    uint64_t changed_ns;                           /* entered or completed last moved */
    uint64_t inferred_entered;                     /* idle by inference while entered is this */
    bool inferred;
    uint32_t sleepers;                             /* threads that wait for its permit */
    bool marks;                                    /* the device writes its completions */
    bool covered;                                  /* a mark in flight will show its end */
    bool gated;                                    /* level 2: commands in flight may be behind a gate */
    uint64_t waited_ns, waited_at_ns;              /* the waits of its threads, as read then (beside.c) */
    uint64_t waited_ahead_ns;                      /* part of a wait that has not ended, counted already */
    uint64_t gather_waited_ns;                     /* likewise (gather.c) */
    uint64_t gather_opened;                        /* entered as its word opened last */
    uint32_t awaited;                              /* threads that wait for it */
    bool tells_waits;                              /* XS_ARMED_WAITS is stored */
    uint64_t gathers_to, rings_at;                 /* as stored */
    uint32_t lanes, lane;                          /* its lanes, as read; the word XS_LANE_*, as stored */
    uint64_t asked_returned;                       /* the scheduler asked for a mark when returned was this */
    /* facts that follow from it */
    bool ready;
    bool barred;                                   /* never permitted: hint or operator */
    bool watched;                                  /* the scheduler waits for its end: arms it, looks */
    bool permitted;                                /* as stored */
    uint64_t limit;                                /* ... but no command after this one; XS_PERMIT_OPEN: none */
    uint64_t collective;                           /* number of a collective that was under way at the
                                                      last look; 0: none */
    uint64_t collective_done;                      /* its completed number then */
    uint32_t armed;                                /* as stored */
    uint32_t inflight_us;                          /* as stored */
    uint64_t ready_since_ns, added_ns, since_ns, running_ns, waiting_ns, gathered_ns, suspensions, preemptions;
    uint64_t charged_ns, charged_service_ns;       /* running_ns and waiting_ns are right up to here */
    uint64_t told_running_ns;                      /* the largest that a status showed */
};

struct xs_sched_process {
    struct xs_list link;
    struct xs_list group_link;
    struct xs_list closed_link;                    /* xs_sched.closed while closed > 0 */
    struct xs_list rank_link;                      /* xs_collective_group.ranks since its first collective */
    struct xs_collective_group *collective;        /* the one; only while it is in that list */
    bool peer;                                     /* it opened memory of other processes */
    bool stopped;                                  /* by a signal, at the last look (judge_stall) */
    bool stuck;                                    /* ... and its commands in flight did not end at some time */
    struct xs_sched *sched;
    struct xs_group *group;
    struct xs_client_page *client;
    struct xs_server_page *server;
    void *user;
    uint64_t id;
    bool intra, held, absent, window, exempt;
    bool ended;                                    /* it is gone, and its queues go one by one: what they report counts no more */
    uint64_t space;                                /* see xs_sched_process_info */
    int32_t priority_most;                         /* it inherits no higher priority */
    enum xs_drain drain;
    int64_t clock_ahead_ns;
    uint64_t inflight_us;                          /* bound of its own; 0: as configured */
    int32_t utilization, cpu_class;                /* utilization -1: the process gave none */
    struct xs_list queues;
    struct xs_list busy;                           /* those that have work, or do not ring when they get some; of ranks only */
    struct xs_sched_queue **cells;                 /* by cell index */
    size_t ncells;
    size_t closed;                                 /* queues with a closed word */
    uint64_t bell_seen;
    size_t nqueues, rescan_left;                   /* rescan_left: so many of the nqueues are still to read */
    struct xs_list rescan_link;                    /* xs_sched.rescans while rescan_left > 0 */
};

struct xs_sched {
    const struct xs_policy_ops *policy;
    struct xs_sched_config config;
    struct xs_sched_ops ops;
    struct xs_pages *pages;                        /* of config */
    void *ctx;
    uint64_t now_ns, ahead_ns;                     /* its time; so much more than the owner's */
    uint64_t next_id;
    struct xs_list processes, groups, closed, rescans, collective_groups;
    size_t ranks;                                  /* processes that take part in collectives */
    uint64_t rescan_ns;                            /* the next step of one of rescans */
    struct xs_map devices_by_id;
    struct xs_device **devices;                    /* by index; NULL: free */
    size_t devices_n, devices_cap, devices_free;
    struct xs_view host;
    bool stall_said;
    bool unbound;                                  /* inside run: gangs are decided upon device by device */
    size_t contended_views;
    struct xs_sched_counters c;
};

/** Sets the timer to that time, if it is set to none that is earlier. */
static inline void xs_view_wake_at(struct xs_view *v, enum xs_timer t, uint64_t at_ns)
{
    v->at_ns[t] = XS_MIN(v->at_ns[t], at_ns);
}

static inline void xs_view_stop_timers(struct xs_view *v)
{
    v->next_ns = UINT64_MAX;
    for (size_t t = 0; t < XS_TIMERS; t++)
        v->at_ns[t] = UINT64_MAX;
}

static inline struct xs_entity *xs_entity_of(struct xs_policy_entity *pe)
{
    return XS_CONTAINER_OF(pe, struct xs_entity, pe);
}

static inline bool xs_sched_several_devices(const struct xs_sched *s)
{
    return s->devices_n - s->devices_free > 1;
}

static inline bool xs_sched_is_host(const struct xs_sched *s)
{
    return s->policy->scope == XS_SCOPE_HOST;
}

static inline uint32_t xs_sched_policy_flags(const struct xs_sched *s)
{
    return xs_policy_flags(s->policy);
}

static inline bool xs_sched_uses_service(const struct xs_sched *s)
{
    return xs_sched_policy_flags(s) & XS_POLICY_USES_SERVICE;
}

/** The policy gives turns: see turns.c. */
static inline bool xs_sched_turns(const struct xs_sched *s)
{
    return xs_sched_policy_flags(s) & XS_POLICY_TURNS && !xs_sched_is_host(s);
}

/** The entity pays by time, and after its suspension others wait for its commands to end.
 *  Queues of one process may wait for each other on the device. So where they take turns among
 *  themselves, none waits for another's end. */
static inline bool xs_entity_is_timed(const struct xs_entity *e)
{
    return !e->intra && xs_sched_turns(e->sched);
}

/** The driver's time never goes back. If the owner's time goes back by a little, the driver's stands
 *  still. A larger step means that the owner's clock went back (a container that moved): the driver's
 *  goes on from there. @return the driver's time */
static inline uint64_t xs_sched_clock(struct xs_sched *s, uint64_t now_ns)
{
    uint64_t t = now_ns + s->ahead_ns;

    if (t + XS_BACK_NS < s->now_ns)
        s->ahead_ns += s->now_ns - t;
    else if (t > s->now_ns)
        s->now_ns = t;
    return s->now_ns;
}

/** A time of the driver's as the owner has it; UINT64_MAX stays. */
static inline uint64_t xs_sched_outside(const struct xs_sched *s, uint64_t t_ns)
{
    return t_ns == UINT64_MAX ? t_ns : t_ns - XS_MIN(t_ns, s->ahead_ns);
}

/** It completed nothing for long beyond its estimate, counted from its last change or from from_ns,
 *  the later. */
static inline bool xs_queue_is_overdue(const struct xs_sched_queue *q, uint64_t from_ns, uint64_t now_ns)
{
    return now_ns >= XS_MAX(q->changed_ns, from_ns) + q->est_left_ns + XS_INFER_NS;
}

/** Why it waits, or runs although it would not by the policy alone. */
static inline enum xs_why xs_queue_why(const struct xs_sched_queue *q)
{
    if (XS_UNLIKELY(q->barred))
        return q->process->held ? XS_WHY_HAND : q->process->absent ? XS_WHY_MEMORY : XS_WHY_NEVER;
    return q->entity->before.why;
}

/** The priority that counts: the hint, or that of its waiters if that is higher. */
static inline int32_t xs_queue_priority(const struct xs_sched_queue *q)
{
    return q->hints.priority > q->inherit_priority ? q->hints.priority : q->inherit_priority;
}

/** Its commands gather while others run. */
static inline bool xs_entity_gathers(const struct xs_entity *e)
{
    return e->gather.phase == XS_GATHER_HOLDS || e->gather.phase == XS_GATHER_LEAVE;
}

/** It counts as ready for the others. */
static inline bool xs_entity_keeps_others_off(const struct xs_entity *e)
{
    return e->gather.phase == XS_GATHER_LEAVE || (e->gather.phase == XS_GATHER_ALONE && !e->gather.first_ns);
}

/* collective.c: kernels that wait for others like them, in other queues or processes. While one of a group is
 * under way, the scheduler suspends no member of the group. */
/** The gang belongs to the group of this name. @return 0, or -1 when out of memory */
int xs_collective_join(struct xs_sched *s, struct xs_group *gang, const char *name);
void xs_collective_leave(struct xs_sched *s, struct xs_group *gang);
/** The process reported its first one, or that it may have opened memory of others. */
void xs_collective_met(struct xs_sched_process *p);
/** The process ends; its queues are gone. */
void xs_collective_gone(struct xs_sched_process *p);
/** Updates xs_sched_process.busy after armed or collective of the queue changed. */
void xs_collective_update_busy(struct xs_sched_queue *q);
/** The entity takes part in collectives, or did. */
bool xs_collective_rank(const struct xs_entity *e);
/** The entity is suspended, and members of its group that opened memory of others wait for its commands in flight: its turn
 *  ends only with them. */
bool xs_collective_end_awaited(const struct xs_entity *e);

/* bells.c */
/** It takes part in collectives, or may. */
bool xs_process_takes_part(const struct xs_sched_process *p);
/** Reads more of its queues, XS_RESCAN_STEP at most. @return true when anything changed */
bool xs_process_rescan(struct xs_sched_process *p, uint64_t now_ns);
/** Has all of its queues read, some of them now. @return as xs_process_rescan */
bool xs_process_read_all(struct xs_sched_process *p, uint64_t now_ns);

/* surplus.c: bounds the work of an event where queues without number are ready. */
bool xs_entity_has_room(const struct xs_entity *e);
/** Whether the queue, which has work, may count as ready. */
static inline bool xs_queue_has_room(const struct xs_sched_queue *q)
{
    return q->ready || q->barred || q->entity->nready < XS_READY_LEAST || xs_entity_has_room(q->entity);
}
/** It has work and counts as idle, until other ready queues of its entity become idle. */
void xs_queue_put_off(struct xs_sched_queue *q, uint64_t now_ns);
/** Some of its idle queues have work: has all of them read. */
void xs_entity_put_off(struct xs_entity *e);

/* facts.c */
/** Copies the queue's words, each once. @return true when entered or completed moved */
bool xs_queue_read(struct xs_sched_queue *q, uint64_t now_ns);
/** Reads, then makes the queue ready or idle and arms it as that asks. */
bool xs_queue_settle(struct xs_sched_queue *q, uint64_t now_ns);
void xs_queue_set_state(struct xs_sched_queue *q, bool ready, uint64_t now_ns);
void xs_queue_update_barred(struct xs_sched_queue *q, uint64_t now_ns);
/** Charges running and waiting time up to now. */
void xs_queue_charge(struct xs_sched_queue *q, uint64_t now_ns);
/** The same where its state changes now. */
void xs_queue_charge_time(struct xs_sched_queue *q, uint64_t now_ns);
/** Device time received, as far as its words show now. */
uint64_t xs_queue_service_ns(const struct xs_sched_queue *q, uint64_t now_ns);
/** Time since the last charge in which a permitted queue had work. An unwatched queue may have
 *  become idle meanwhile, so the time is at most the device time that it received, if the process reports
 *  that. */
uint64_t xs_queue_ran_ns(const struct xs_sched_queue *q, uint64_t service_ns, uint64_t now_ns);
void xs_entity_link_ready(struct xs_entity *e, struct xs_sched_queue *q);
void xs_entity_unlink_ready(struct xs_entity *e, struct xs_sched_queue *q);
/** Its first queue became ready. */
void xs_entity_wakes(struct xs_entity *e, uint64_t now_ns);
/** Brings pe.hints up to date. */
void xs_entity_update_hints(struct xs_entity *e, uint64_t now_ns);
/** Reads all ready queues: before a timer's decision. */
void xs_entity_read_service(struct xs_entity *e, uint64_t now_ns);

/* doorbells.c */
void xs_queue_arm(struct xs_sched_queue *q, uint32_t armed);
/** Its waits count and ring from now on, or no more. */
void xs_queue_tell_waits(struct xs_sched_queue *q, bool on);
/** Watches for the end of what the entity runs. */
void xs_entity_watch(struct xs_entity *e, uint64_t now_ns);
void xs_entity_unwatch(struct xs_entity *e);
/** Finds out whether an unwatched entity is still ready. */
void xs_entity_check(struct xs_entity *e, uint64_t now_ns);
void xs_view_look(struct xs_sched *s, struct xs_view *v, uint64_t now_ns);
void xs_view_plan_look(struct xs_view *v, uint64_t now_ns);
/** A thread of the process is inside a vendor call for it. */
bool xs_queue_in_call(const struct xs_sched_queue *q);
/** Asks the process for a mark, once for the commands submitted until then, if no other mark will
 *  show their end. */
void xs_queue_ask_for_mark(struct xs_sched *s, struct xs_sched_queue *q, uint64_t now_ns);
/** Reads all entities that the policy permits. @return true when any of it completed something;
 *  *ret_end_ns: the expected end of the last */
bool xs_view_running_progress(struct xs_view *v, uint64_t now_ns, uint64_t *ret_end_ns);

/* turns.c */
/** Whether the entities that may run now wait for suspended commands to leave the device; sets drain_ns. */
bool xs_view_drains(struct xs_sched *s, struct xs_view *v, uint64_t now_ns);
/** The policy's time, and its timer on the owner's clock. */
uint64_t xs_view_clock(const struct xs_view *v, uint64_t now_ns);
uint64_t xs_view_timer(const struct xs_view *v);
void xs_view_stand(struct xs_sched *s, struct xs_view *v, bool stand, uint64_t now_ns);
/** Call before the entity's suspension. */
void xs_entity_drain(struct xs_entity *e, uint64_t now_ns);
/** It is suspended, and others wait for the end of its commands on the device. */
bool xs_entity_end_awaited(const struct xs_entity *e);
/** The entity resumes. */
void xs_entity_begins(struct xs_entity *e, uint64_t now_ns);

/* user_share.c */
/** The entity is in its views; its user has a stake there. @return 0, or -1 when out of memory */
int xs_stakes_join(struct xs_sched *s, struct xs_entity *e);
void xs_stakes_leave(struct xs_sched *s, struct xs_entity *e);
/** Ends the grant and sets all debts to zero. */
void xs_view_reset_stakes(struct xs_view *v);

/* idle_hints.c */
/** A queue of the entity counts from now on, or no more, with the hints and the bar that it has now. */
void xs_idle_hints_add(struct xs_entity *e, const struct xs_sched_queue *q);
/** The same for a queue that has just joined its lists. */
void xs_idle_hints_join(struct xs_entity *e, const struct xs_sched_queue *q);
void xs_idle_hints_remove(struct xs_entity *e, const struct xs_sched_queue *q);
void xs_idle_hints_update(struct xs_entity *e);

/* gather.c */
/** The queue's words about waits. @param entered  as just read, and not noted yet */
enum xs_sched_gather_state xs_gather_state(const struct xs_entity *e);
void xs_gather_read(struct xs_sched_queue *q, uint64_t entered, bool moved);

/* linger.c */
/** Its first queue became ready. */
void xs_linger_wakes(struct xs_entity *e, uint64_t now_ns);

/* transition.c */
/** Makes the words of the queues follow the verdicts. */
void xs_view_apply(struct xs_sched *s, struct xs_view *v, uint64_t now_ns);

/* decide.c */
/** The policy's answer, in pe.run of each entity. @return its timer, on the policy's clock */
uint64_t xs_view_ask(struct xs_sched *s, struct xs_view *v, const struct xs_policy_params *params, uint64_t now_ns);
/** All devices of the gang, but one, decide again. */
void xs_group_recheck(struct xs_group *g, const struct xs_view *but);
void xs_view_decide(struct xs_sched *s, struct xs_view *v, uint64_t now_ns);

/* permit.c */
void xs_queue_permit(struct xs_sched_queue *q, bool run, uint64_t now_ns);
/** Its program opened the word of a queue that is not to run. */
void xs_queue_close_again(struct xs_sched_queue *q);
/** A permitted queue submits no command after this number; XS_PERMIT_OPEN: all. */
void xs_queue_limit(struct xs_sched_queue *q, uint64_t number, uint64_t now_ns);
/** Writes to the entity's queues whether they may run, ready ones first. */
void xs_entity_apply(struct xs_entity *e, uint64_t now_ns);
/** Closes the most recently used idle queues of a suspended entity. */
void xs_entity_close_idle(struct xs_entity *e, uint64_t now_ns);
void xs_entity_tell_inflight(struct xs_sched *s, struct xs_entity *e);
void xs_queue_tell_inflight(struct xs_sched *s, struct xs_sched_queue *q);
void xs_device_tell_inflight(struct xs_sched *s, struct xs_device *d);
/** Its commands gather up to this one; 0: they do not. It rings at command ring_at. Before the word closes. */
void xs_queue_tell_gathers(struct xs_sched_queue *q, uint64_t to, uint64_t ring_at);
/** Kernels that it launches from now on run on this lane. */
void xs_queue_tell_lane(struct xs_sched_queue *q, uint32_t lane);

/* tables.c */
int xs_view_insert(struct xs_view *v, struct xs_entity *e);
void xs_view_remove(struct xs_view *v, struct xs_entity *e);
int xs_queue_attach(struct xs_sched *s, struct xs_sched_queue *q, XDevice device);
void xs_queue_detach(struct xs_sched *s, struct xs_sched_queue *q);
struct xs_group *xs_group_join(struct xs_sched *s, struct xs_sched_process *p,
                               const struct xs_sched_process_info *info);
void xs_group_leave(struct xs_sched *s, struct xs_sched_process *p);
void xs_group_update(struct xs_group *g);

#endif
