/* SPDX-License-Identifier: Apache-2.0 */
/* The decision driver: tables of processes, queues and devices; facts from the shared pages;
 * a policy; permits out. The same in xserver, in the local scheduler and in the simulator.
 *
 * Not thread-safe: one thread owns a struct xs_sched. It does no I/O but stores to the server
 * pages and futex wakes; time comes in as an argument. Work per call grows with the entities of
 * the devices that changed, not with all queues. */
#ifndef XS_SCHED_H
#define XS_SCHED_H

#include "base/settings/hint_rows.h"
#include "base/pages.h"
#include "policy/policies.h"
#include "sched/why.h"
#include "wire/page.h"

#include "xsched/types.h"

struct xs_sched;
struct xs_sched_process;
struct xs_sched_queue;

/** Hooks of the owner; each may be NULL. */
struct xs_sched_ops {
    /** A decision permitted or suspended a queue; its cell has the new word already. */
    void (*on_permit)(void *ctx, struct xs_sched_queue *q, bool run, uint64_t now_ns);
    /** A queue became ready or idle as far as the scheduler knows. */
    void (*on_ready)(void *ctx, struct xs_sched_queue *q, bool ready, uint64_t now_ns);
    /** Another queue waits for the end of this one, it has been quiet for a moment, and no mark in
     *  flight will show its end. The process may put a mark there. Called once for the commands
     *  submitted until then. */
    void (*on_mark_wanted)(void *ctx, struct xs_sched_queue *q);
    /** A signal or a debugger has stopped the process, so that it reports nothing. The scheduler asks when the process
     *  has completed nothing for XS_STOPPED_NS while others are suspended for it. */
    bool (*is_stopped)(void *ctx, struct xs_sched_process *p);
    /** Its kernels are confined to so many multiprocessors from now on; 0: they have the device. */
    void (*on_lane)(void *ctx, struct xs_sched_queue *q, uint32_t multiprocessors, uint64_t now_ns);
    /** It would be of use if the commands of this process stood behind gates while it is suspended. */
    void (*on_gather)(void *ctx, struct xs_sched_process *p);
};

#define XS_STOPPED_NS (50 * XS_NS_PER_MS)

/** Where kernels of queues that are entities of their own run. */
enum xs_sched_lanes {
    XS_SCHED_LANES_BY_LOAD,        /* beside.c */
    XS_SCHED_LANES_NEVER,          /* on the whole device */
    XS_SCHED_LANES_ALWAYS,         /* on the wide lane, those that may; for tests */
    XS_SCHED_LANES_CHANGING,       /* here and there; likewise */
};

/** Whether commands of urgent programs gather while they launch them (gather.c). */
enum xs_sched_gather {
    XS_SCHED_GATHER_NEVER,
    XS_SCHED_GATHER_LEARNT,        /* where it pays */
    XS_SCHED_GATHER_HELPED,        /* ... also where a helper thread waits; on trial */
    XS_SCHED_GATHER_ALWAYS,        /* some of each step; for tests */
};

struct xs_sched_config {
    uint64_t linger_ns;            /* an entity that became idle counts as ready for this long,
                                      while others are suspended for it; default 100 us */
    uint64_t stall_ns;             /* when the running entities complete nothing for this long
                                      while others are suspended, all run until something
                                      completes; 0 off; default 1 s */
    uint64_t inflight_alone_us;    /* bound for queues that share the device with no other
                                      process; default 2000 */
    uint64_t inflight_shared_us;   /* ... with others; default XS_INFLIGHT_SHARED_US */
    uint64_t inflight_top_us;      /* ... with others, of which some are less important and none more; default 8000 */
    uint64_t user_share;           /* percent of what a user would have if all users with work
                                      had parts of a device by their weights. The programs of
                                      other users cannot take that by their standing. 0: they can
                                      take all; default 50 */
    enum xs_sched_lanes lanes;
    enum xs_sched_gather gather;   /* default: never */
    struct xs_policy_params params;
    struct xs_pages *pages;        /* where its tables come from; NULL: the C library's heap */
};
void xs_sched_config_defaults(struct xs_sched_config *c);

/** @return NULL when out of memory */
struct xs_sched *xs_sched_new(const struct xs_policy_ops *policy, const struct xs_sched_config *config,
                              const struct xs_sched_ops *ops, void *ctx);
/** Opens every queue, then frees all. */
void xs_sched_free(struct xs_sched *s);

/** Changes the policy and decides everything anew. Hints stay; memos become zero. */
void xs_sched_set_policy(struct xs_sched *s, const struct xs_policy_ops *policy);
const struct xs_policy_ops *xs_sched_policy(const struct xs_sched *s);
void xs_sched_set_params(struct xs_sched *s, const struct xs_policy_params *params);
/** See xs_sched_config.user_share. */
void xs_sched_set_user_share(struct xs_sched *s, uint64_t percent);
/** The policy gives turns of a device (XS_POLICY_TURNS). */
bool xs_sched_gives_turns(const struct xs_sched *s);
const struct xs_policy_params *xs_sched_params(const struct xs_sched *s);

/** Whether the next processes after a suspended one start only after its commands are off the device. They
 *  wait for XS_DRAIN_NS at most. */
enum xs_drain { XS_DRAIN_BY_POLICY, XS_DRAIN_OFF, XS_DRAIN_ON };

#define XS_WEIGHT_MAX 10000u

struct xs_sched_process_info {
    uint64_t id;                   /* unique, chosen by the owner */
    const char *group;             /* processes of one name are one gang; NULL or "": its own */
    const char *job;               /* without a group: processes of one job do collectives together; NULL: those without */
    uint64_t space;                /* kernels of processes of one user with the same number can run at one time (one MPS server);
                                      0: it has the device in turn with others */
    bool intra;                    /* its queues are entities of their own */
    uint64_t user;                 /* the user's number; processes of one name are of one user */
    uint32_t weight;               /* the user's part beside those of others, see user_share; 0: 1 */
    uint32_t uid;                  /* for policies */
    bool exempt;                   /* user_share of others does not bound it */
    enum xs_drain drain;
    struct xs_client_page *client; /* mapped read only by xserver */
    struct xs_server_page *server;
    int64_t clock_ahead_ns;        /* its clock less the owner's */
};
struct xs_sched_process *xs_sched_process_add(struct xs_sched *s, const struct xs_sched_process_info *info,
                                              void *user);
/** It is gone. The owner removes its queues in steps, ready ones first, and then the process: until then nothing that its
 *  pages say makes a queue ready, renews a lease, or speaks for its gang. */
void xs_sched_process_end(struct xs_sched *s, struct xs_sched_process *p);
/** Removes its queues too, and does not touch its pages afterwards. */
void xs_sched_process_remove(struct xs_sched *s, struct xs_sched_process *p, uint64_t now_ns);
void *xs_sched_process_user(const struct xs_sched_process *p);
void xs_sched_process_set_utilization(struct xs_sched *s, struct xs_sched_process *p, int32_t percent);
/** See struct xs_policy_process.sched_class_priority. */
void xs_sched_process_set_cpu_class(struct xs_sched *s, struct xs_sched_process *p, int32_t class_priority);
/** See xs_sched_process_info. A gang is exempt when all of its processes are. */
void xs_sched_process_set_exempt(struct xs_sched *s, struct xs_sched_process *p, bool exempt);
/** See xs_sched_process_info: the weight of its user, and so of all of his programs. */
void xs_sched_process_set_weight(struct xs_sched *s, struct xs_sched_process *p, uint32_t weight);
/** Its queues inherit at most this priority from their waiters; default PRIORITY_MAX. */
void xs_sched_process_set_priority_most(struct xs_sched_process *p, int32_t priority);
void xs_sched_process_set_window(struct xs_sched *s, struct xs_sched_process *p, bool active);
/** Suspends the process under any policy (an operator's suspension), or ends that. */
void xs_sched_process_set_held(struct xs_sched *s, struct xs_sched_process *p, bool held);
/** The same for queues to come; each present one follows with xs_sched_queue_follow_held. For
 *  processes with many queues, which the caller changes in steps. */
void xs_sched_process_say_held(struct xs_sched_process *p, bool held);
/** Likewise: its device memory is in host memory. So it cannot run, and no other process waits for it. */
void xs_sched_process_say_absent(struct xs_sched_process *p, bool absent);
void xs_sched_queue_follow_held(struct xs_sched *s, struct xs_sched_queue *q);
/** A bound in flight of its own for all its queues, where its commands in flight delay no other
 *  process (level 3); 0: as configured. */
void xs_sched_process_set_inflight(struct xs_sched *s, struct xs_sched_process *p, uint64_t us);

/** @param cell  index in both pages, < XS_PAGE_QUEUES, used by no other queue of p
 *  @return NULL when out of memory or the cell is bad */
struct xs_sched_queue *xs_sched_queue_add(struct xs_sched *s, struct xs_sched_process *p, uint64_t handle,
                                          XDevice device, uint32_t cell, const struct xs_hints *hints,
                                          uint64_t now_ns, void *user);
void xs_sched_queue_remove(struct xs_sched *s, struct xs_sched_queue *q, uint64_t now_ns);
void xs_sched_queue_set_hints(struct xs_sched *s, struct xs_sched_queue *q, const struct xs_hints *hints);
/** Level 2 is in force: suspended commands may be on the device, behind a gate. */
void xs_sched_queue_set_gated(struct xs_sched_queue *q, bool gated);
/** It runs because its user waited for other users for too long: before all others, for a slice. */
bool xs_sched_queue_granted(const struct xs_sched_queue *q);
const struct xs_hints *xs_sched_queue_hints(const struct xs_sched_queue *q);
/** The hints that came later than struct xs_hints; a new queue has none of them. */
void xs_sched_queue_set_later(struct xs_sched_queue *q, const struct xs_hints_later *later);
const struct xs_hints_later *xs_sched_queue_later(const struct xs_sched_queue *q);

struct xs_sched_queue_status {
    uint64_t handle;
    XDevice device;
    uint32_t cell;
    bool ready, permitted;
    uint64_t ready_since_ns;
    uint64_t running_ns, waiting_ns;   /* time with work while permitted, and while suspended */
    uint64_t gathered_ns;              /* ... while its commands gathered and others computed: in neither of these */
    uint64_t service_ns;               /* device time received, as measured or estimated */
    uint64_t inflight_ns;              /* estimated device time of the commands that are not complete */
    uint64_t suspensions;              /* number of its suspensions */
    uint64_t preemptions;              /* ... while it had work */
    uint64_t entered, completed;
    uint32_t lane;                     /* multiprocessors to which its kernels are confined,
                                          beside a more important queue; 0: its kernels have the
                                          device */
    uint32_t reserve;                  /* then: the other multiprocessors of the device; 0: not known */
    bool gathers;                      /* its commands do right now, so that it is not permitted */
    uint8_t gather;                    /* enum xs_sched_gather_state */
    uint8_t why;                       /* enum xs_why: why it waits, or runs although it would not by the policy alone */
};

/** Whether commands of a program gather (decision 0042). NO: not asked for, or not where it runs. */
enum xs_sched_gather_state {
    XS_SCHED_GATHER_NO,
    XS_SCHED_GATHER_LEARNS,
    XS_SCHED_GATHER_GATHERS,
    XS_SCHED_GATHER_IRREGULAR,         /* its steps have no number of commands that comes again */
    XS_SCHED_GATHER_NO_USE,            /* they are too short, or took longer with it: not for a while */
    XS_SCHED_GATHER_STATES
};

/** As users see it. */
enum xs_sched_state { XS_SCHED_IDLE, XS_SCHED_RUNNING, XS_SCHED_BESIDE, XS_SCHED_WAITING, XS_SCHED_STATES };
static inline enum xs_sched_state xs_sched_state_of(const struct xs_sched_queue_status *st)
{
    if (!st->ready)
        return XS_SCHED_IDLE;
    if (!st->permitted && !st->gathers)
        return XS_SCHED_WAITING;
    return st->lane ? XS_SCHED_BESIDE : XS_SCHED_RUNNING;
}
/** No count in it falls from one call to the next. */
void xs_sched_queue_status(struct xs_sched_queue *q, uint64_t now_ns, struct xs_sched_queue_status *ret);

/** What belongs to its reason. */
#define XS_WHY_OWN 64u
struct xs_sched_queue_why {
    const struct xs_sched_process *who; /* the program that runs instead; valid until it ends; NULL: not known */
    uint64_t until_ns;                 /* it lasts until then at most; UINT64_MAX: not known */
    char own[XS_WHY_OWN];              /* the policy's own words for XS_WHY_OTHER, or "" */
};
/** Looks at the entities of the device. */
void xs_sched_queue_why(const struct xs_sched_queue *q, struct xs_sched_queue_why *ret);
/** The reason alone: enum xs_why. */
unsigned xs_sched_queue_reason(const struct xs_sched_queue *q);
void *xs_sched_queue_user(const struct xs_sched_queue *q);

/** Reads the changes on one process's doorbell; cheap when the process did not ring. The owner
 *  calls it on the eventfd's signal and while it spins. @return true when anything changed */
bool xs_sched_process_poll(struct xs_sched *s, struct xs_sched_process *p, uint64_t now_ns);
/** Whether the process rang; cheap, and counts for nothing. */
bool xs_sched_process_rang(const struct xs_sched_process *p);
/** xs_sched_counters.work alone. */
uint64_t xs_sched_work(const struct xs_sched *s);
/** True while something is suspended or about to be: worth polling all doorbells for a while. */
bool xs_sched_contended(const struct xs_sched *s);

/** Decides for every device that changed or whose time has come, and applies the difference.
 *  @return when to call again at the latest (policy timers, linger, stall, looks at queues whose
 *          end changes a decision); UINT64_MAX: only on events */
uint64_t xs_sched_run(struct xs_sched *s, uint64_t now_ns);

/** Writes lease_until_ns of each process that has a closed word.
 *  @return true when there is any (call again within XS_LEASE_TICK_NS) */
bool xs_sched_renew_leases(struct xs_sched *s, uint64_t now_ns);

struct xs_sched_counters {
    uint64_t decisions, permits, holds, bells, rescans, stalls;
    uint64_t processes, queues, entities, devices;
    uint64_t waiting_ns[XS_WHYS];  /* of queues with work, by reason */
    uint64_t looks;                /* times that it looked at running queues without a ring */
    uint64_t work;                 /* entities and queues that all of this touched */
};
void xs_sched_counters(const struct xs_sched *s, struct xs_sched_counters *ret);

/** Facts without pages, for the simulator: these set the queue's state. */
void xs_sched_queue_set_ready(struct xs_sched *s, struct xs_sched_queue *q, bool ready, uint64_t now_ns);
void xs_sched_queue_set_service(struct xs_sched *s, struct xs_sched_queue *q, uint64_t service_ns);

#endif
